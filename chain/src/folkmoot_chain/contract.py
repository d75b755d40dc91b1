"""The contract from Python: one method for each of its calls, and what its events say about a motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from folkmoot_chain import interface
from folkmoot_chain.ballots import Bools, Ints, check_size, pack, pack_mask
from folkmoot_chain.rpc import NOBODY, Log, Message, Receipt, Rpc
from folkmoot_chain.seals import ZERO, seal_ballot, seal_truth, subject_of
from folkmoot_chain.sending import Cost, Sender
from folkmoot_chain.wallets import checksummed

if TYPE_CHECKING:
    from folkmoot_chain.history import History


@dataclass(frozen=True)
class Terms:
    """A motion as the contract has it."""

    motion: int
    supplier: str
    deadlines: tuple[int, int, int, int]  # the ends of commit, reveal, tell (with post), score (with dispute)
    inputs: int
    labels: int
    seats: int
    stake: int
    roster: bytes
    committed: int
    revealed: int
    scored: int
    pool: int
    points: int
    told: bool
    closed: bool
    poster: str
    answer: bytes
    truth: bytes

    @property
    def open(self) -> bool:
        """Whether anybody may take a seat, the supplier's puppets included."""
        return self.roster == ZERO


@dataclass(frozen=True)
class Seat:
    """A participant's place in a motion."""

    state: int  # 0 none (or claimed), 1 committed, 2 revealed, 3 scored
    weight: int
    points: int


@dataclass(frozen=True)
class Record:
    """Past performance in the motions of one supplier on one subject."""

    right: int
    asked: int
    right_of: tuple[int, ...]  # by label
    asked_of: tuple[int, ...]


class Contract:
    """A deployed Moot.

    Parameters
    ----------
    rpc : Rpc
        A node of its chain.
    address : str
        The address.
    sender : Sender or None
        The caller; reading needs nobody.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot_chain import Contract, InProcess, Sender
    >>> rpc = InProcess(2)
    >>> supplier, ann = (Sender(rpc, key) for key in rpc.rich())
    >>> contract, _ = Contract.deploy(supplier, least_window=60)
    >>> now = rpc.block("latest").timestamp
    >>> motion, _ = contract.put(
    ...     np.array([0, 1, 1]), np.ones(3, dtype=bool), b"keep this secret" * 2, subject="digits", labels=2,
    ...     seats=1, stake=1000, deposit=5, deadlines=[now + 1000 * phase for phase in (1, 2, 3, 4)],
    ... )
    >>> receipt = contract.by(ann).commit(motion, np.array([0, 1, 0]), b"this one as well" * 2)
    >>> terms = contract.motions(motion)
    >>> terms.committed, terms.pool, terms.open
    (1, 5, True)
    """

    def __init__(self, rpc: Rpc, address: str, sender: Sender | None = None) -> None:
        self.rpc, self.address, self.sender = rpc, checksummed(address), sender

    @classmethod
    def deploy(cls, sender: Sender, least_window: int = 600) -> tuple[Contract, Receipt]:
        """Put a new contract on the chain; windows of its motions are at least so many seconds."""
        receipt = sender.send(None, interface.creation(least_window))
        assert receipt.contract is not None  # noqa: S101 (the receipt of a creation that succeeded)
        return cls(sender.rpc, receipt.contract, sender), receipt

    def by(self, sender: Sender) -> Contract:
        """The same contract, called by somebody else."""
        return Contract(self.rpc, self.address, sender)

    def check(self) -> None:
        """ValueError unless this very contract is at the address."""
        code = self.rpc.code(self.address)
        if not code:
            raise ValueError(f"there is no contract at {self.address} on chain {self.rpc.chain_id()}")
        if not code.startswith(bytes.fromhex(interface.artifact()["bytecode_runtime"][2:])):
            raise ValueError(f"the contract at {self.address} is another one than this folkmoot-chain knows")

    # ---- reading

    def view(self, name: str, *arguments: object) -> Any:
        """The result of a view."""
        caller = self.sender.address if self.sender is not None else NOBODY
        message = Message(caller, self.address, interface.calldata(name, arguments))
        return interface.returned(name, self.rpc.call(message))

    def motions(self, motion: int) -> Terms:
        """A motion as it stands; ValueError if there is none."""
        found = self.view("motions", motion)
        if not found["inputs"]:
            raise ValueError(f"there is no motion {motion}: there are {self.view('motion_count')}")
        found["deadlines"] = tuple(found["deadlines"])
        return Terms(motion, **found)

    def seats(self, motion: int, who: str) -> Seat:
        """Somebody's place in a motion."""
        return Seat(**self.view("seats", motion, who))

    def records(self, supplier: str, subject: str, who: str) -> Record:
        """Somebody's past performance by the truth of one supplier."""
        found = self.view("records", supplier, subject_of(subject), who)
        return Record(found["right"], found["asked"], tuple(found["right_of"]), tuple(found["asked_of"]))

    def weight(self, supplier: str, subject: str, who: str, labels: int) -> int:
        """The weight of somebody's vote: 1 to 15."""
        return int(self.view("weight", supplier, subject_of(subject), who, labels))

    def credit(self, who: str) -> int:
        """The amount that somebody could withdraw."""
        return int(self.view("credit", who))

    # ---- calling

    def send(self, name: str, *arguments: object, value: int = 0, gas: int | None = None) -> Receipt:
        """Call a function by a transaction and wait for its receipt."""
        return self._sender.send(self.address, interface.calldata(name, arguments), value, gas)

    def cost(self, name: str, *arguments: object, value: int = 0) -> Cost:
        """The present cost of such a call."""
        return self._sender.cost(self.address, interface.calldata(name, arguments), value)

    def put_arguments(
        self,
        truth: Ints,
        known: Bools,
        salt: bytes,
        *,
        subject: str,
        labels: int,
        seats: int,
        stake: int,
        deadlines: Sequence[int],
        inputs_root: bytes = ZERO,
        protocol: bytes = ZERO,
        roster: bytes = ZERO,
    ) -> tuple[object, ...]:
        """The arguments of ``put``, checked; the truth goes in as a seal."""
        check_size(len(truth), labels, seats)
        seal = seal_truth(
            self._sender.chain_id,
            self.address,
            self._sender.address,
            salt,
            pack(truth, labels),
            pack_mask(known),
        )
        return (
            inputs_root,
            seal,
            subject_of(subject),
            protocol,
            list(deadlines),
            len(truth),
            labels,
            seats,
            stake,
            roster,
        )

    def put(
        self, truth: Ints, known: Bools, salt: bytes, *, deposit: int = 0, **terms: Any
    ) -> tuple[int, Receipt]:
        """Put a motion; its number, and the receipt.

        Keep salt and truth: without them nobody is paid by points.
        """
        receipt = self.send("put", *self.put_arguments(truth, known, salt, **terms), value=deposit)
        return int(next(self.events(receipt.logs))[1]["motion"]), receipt

    def fund(self, motion: int, amount: int) -> Receipt:
        """Add to a pool: a gift."""
        return self.send("fund", motion, value=amount)

    def seal(self, motion: int, salt: bytes, ballot: Sequence[int]) -> bytes:
        """The seal of the sender's ballot."""
        return seal_ballot(self._sender.chain_id, self.address, motion, self._sender.address, salt, ballot)

    def commit(self, motion: int, votes: Ints, salt: bytes, proof: Sequence[bytes] = ()) -> Receipt:
        """Take a seat with a stake and a sealed ballot; without salt and votes the stake is lost."""
        terms = self.motions(motion)
        seal = self.seal(motion, salt, pack(votes, terms.labels))
        return self.send("commit", motion, seal, list(proof), value=terms.stake)

    def reveal(self, motion: int, votes: Ints, salt: bytes, who: str | None = None) -> Receipt:
        """Open a seal, one's own or that of somebody who gave the salt."""
        ballot = pack(votes, self.motions(motion).labels)
        return self.send("reveal", motion, who or self._sender.address, salt, ballot)

    def post(self, motion: int, answer: Ints, talk: bytes = ZERO) -> Receipt:
        """Post the weighted plurality, bonded with the stake; ``talk`` is the hash of what a talk came to."""
        terms = self.motions(motion)
        return self.send("post", motion, talk, pack(answer, terms.labels), value=terms.stake)

    def tell(self, motion: int, truth: Ints, known: Bools, salt: bytes) -> Receipt:
        """Tell the truth as it was sealed."""
        labels = self.motions(motion).labels
        return self.send("tell", motion, salt, pack(truth, labels), pack_mask(known))

    def dispute(self, motion: int, word: int) -> Receipt:
        """Have 256 inputs of the posted answer recounted over all revealed ballots."""
        return self._history(motion).dispute(word)

    def score(self, motion: int, whos: Sequence[str] | None = None) -> list[Receipt]:
        """Score everybody who revealed and is not scored yet, or these, in as few calls as they fit."""
        return self._history(motion).score(whos)

    def close(self, motion: int) -> Receipt:
        """Settle a motion whose deadlines have passed."""
        return self.send("close", motion)

    def claim(self, motion: int, whos: Sequence[str]) -> Receipt:
        """Credit participants with stake and share."""
        return self.send("claim", motion, list(whos))

    def withdraw(self, to: str | None = None) -> Receipt:
        """Take all of one's credit out."""
        return self.send("withdraw", to or self._sender.address)

    def events(self, logs: Sequence[Log]) -> Any:
        """Names and fields of this contract's events among logs."""
        return (interface.event(log) for log in logs if log.address == self.address)

    def _history(self, motion: int) -> History:
        from folkmoot_chain.history import History

        return History(self, motion)

    @property
    def _sender(self) -> Sender:
        if self.sender is None:
            raise ValueError("a call that changes something must have a sender")
        return self.sender
