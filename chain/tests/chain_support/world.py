"""A chain in this process with the contract on it, and one motion at a time, told in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from folkmoot_chain.ballots import Ints, pack, pack_mask
from folkmoot_chain.contract import Contract
from folkmoot_chain.in_process import InProcess
from folkmoot_chain.rpc import Receipt, RevertedError
from folkmoot_chain.seals import ZERO, roster_proof, roster_root
from folkmoot_chain.sending import Sender
from folkmoot_chain.wallets import accounts, keccak

WINDOW = 10_000  # far more than the tests take: a block is never older than the real clock
LEAST = 60
STAKE = 10**15
DEPOSIT = 10**17
SUBJECT = "digits"
SALT = b"s" * 32
Account = accounts()


def refused(reason: str) -> pytest.RaisesExc[RevertedError]:
    """The contract must refuse what is inside, for this reason."""
    return pytest.raises(RevertedError, match=reason)


def salt_of(who: Sender) -> bytes:
    return keccak(who.address.encode())


@dataclass
class World:
    """The contract, the supplier who deployed it, and participants with coins."""

    rpc: InProcess
    contract: Contract
    supplier: Sender
    people: list[Sender]

    @classmethod
    def made(cls, accounts: int) -> World:
        rpc = InProcess(accounts, balance=2**105)
        supplier, *people = (Sender(rpc, key) for key in rpc.rich())
        return cls(rpc, Contract.deploy(supplier, LEAST)[0], supplier, people)

    @property
    def now(self) -> int:
        return self.rpc.pending_timestamp()

    def held(self) -> int:
        """What the contract holds."""
        return self.rpc.balance(self.contract.address)

    def credits(self) -> int:
        return sum(self.contract.credit(each.address) for each in [self.supplier, *self.people])

    def motion(self, truth: Ints, labels: int, **changed: Any) -> MotionOnChain:
        """Put one: seats for all, no roster, everything known, unless it says otherwise."""
        known = np.asarray(changed.pop("known", np.ones(len(truth), dtype=bool)))
        roster = changed.pop("roster", None)
        start = self.now
        terms = {
            "subject": SUBJECT,
            "labels": labels,
            "seats": min(len(self.people), changed.pop("seats", len(self.people))),
            "stake": STAKE,
            "deposit": DEPOSIT,
            "deadlines": [start + WINDOW * place for place in range(1, 5)],
            "roster": ZERO if roster is None else roster_root(roster),
            "inputs_root": keccak(b"inputs"),
            "protocol": keccak(b"protocol"),
            **changed,
        }
        supplier = terms.pop("supplier", self.supplier)
        number, receipt = self.contract.by(supplier).put(truth, known, SALT, **terms)
        return MotionOnChain(
            self, number, supplier, truth, known, labels, terms["deadlines"], terms["stake"], roster, receipt
        )


@dataclass
class MotionOnChain:
    """A motion and what was revealed in it."""

    world: World
    number: int
    supplier: Sender
    truth: Ints
    known: Any
    labels: int
    deadlines: list[int]
    stake: int
    roster: Sequence[str] | None
    receipt: Receipt
    revealed: dict[str, Ints] = field(default_factory=dict)

    def phase(self, name: str) -> None:
        """Move the clock to the first second of a phase."""
        self.world.rpc.travel(self.deadlines[("reveal", "tell", "score", "claim").index(name)])

    def by(self, who: Sender) -> Contract:
        return self.world.contract.by(who)

    def commit(self, who: Sender, votes: Ints, salt: bytes | None = None) -> Receipt:
        proof = () if self.roster is None else roster_proof(self.roster, who.address)
        return self.by(who).commit(self.number, votes, salt or salt_of(who), proof)

    def reveal(
        self, who: Sender, votes: Ints, salt: bytes | None = None, by: Sender | None = None
    ) -> Receipt:
        receipt = self.by(by or who).reveal(self.number, votes, salt or salt_of(who), who.address)
        self.revealed[who.address] = votes
        return receipt

    def tell(self) -> Receipt:
        return self.by(self.supplier).tell(self.number, self.truth, self.known, SALT)

    def score(self, whos: Sequence[str] | None = None, by: Sender | None = None) -> Receipt:
        named = list(self.revealed if whos is None else whos)
        flat = [word for who in named for word in pack(self.revealed[who], self.labels)]
        return self.by(by or self.supplier).send(
            "score", self.number, named, flat, pack(self.truth, self.labels), pack_mask(self.known)
        )

    def dispute(self, word: int, answer: Ints, by: Sender, ballots: dict[str, Ints] | None = None) -> Receipt:
        shown = self.revealed if ballots is None else ballots
        order = sorted(shown, key=str.lower)
        flat = [number for who in order for number in pack(shown[who], self.labels)]
        return self.by(by).send("dispute", self.number, word, order, flat, pack(answer, self.labels))

    def claim(self, whos: Sequence[str] | None = None) -> Receipt:
        return self.by(self.supplier).claim(self.number, list(self.revealed if whos is None else whos))

    def play(
        self, ballots: dict[int, Ints], *, silent: Sequence[int] = (), upto: str = "claim"
    ) -> MotionOnChain:
        """Everybody commits, all but the silent reveal, the truth is told, all are scored, all claim."""
        people = self.world.people
        for place, votes in ballots.items():
            self.commit(people[place], votes)
        self.phase("reveal")
        for place, votes in ballots.items():
            if place not in silent and upto != "commit":
                self.reveal(people[place], votes)
        if upto in ("commit", "reveal"):
            return self
        self.phase("tell")
        if upto == "tell":
            return self
        self.tell()
        self.score()
        if upto == "score":
            return self
        self.phase("claim")
        self.claim()
        return self


def guesses(truth: Ints, accuracy: float, labels: int, seed: int) -> Ints:
    """Votes that are right so often, and else another label."""
    rng = np.random.default_rng(seed)
    wrong = (truth + rng.integers(1, labels, len(truth))) % labels
    return np.where(rng.random(len(truth)) < accuracy, truth, wrong)
