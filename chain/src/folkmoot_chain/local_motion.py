"""A whole motion on a chain of this machine: models on digits, some that never reveal, some that cheat."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Literal, TypeAlias

import numpy as np

from folkmoot_chain.anvil import find_anvil, running_anvil
from folkmoot_chain.ballots import MOST_SEATS, Ints, check_size, plurality
from folkmoot_chain.contract import Contract
from folkmoot_chain.history import History
from folkmoot_chain.in_process import InProcess
from folkmoot_chain.keys import derived_salt
from folkmoot_chain.rpc import LocalRpc, Receipt, RevertedError
from folkmoot_chain.seals import input_leaf, merkle_root, roster_proof, roster_root
from folkmoot_chain.sending import Sender
from folkmoot_chain.wallets import keccak, to_install

LABELS = 10
SUBJECT = "digits"
COIN = 10**18
WINDOW = 3_600  # seconds on the chain's clock, which is moved
SET_ASIDE = 449  # a quarter of scikit-learn's digits

# Told the name of a part of the work, how much of it is done, and how much there is.
PartProgress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class LocalMotion:
    """How many take part, how many of them misbehave, and what is at stake."""

    participants: int = 25
    silent: int = 5  # commit and never reveal
    cheats: int = 3  # try to reveal other votes than they sealed
    inputs: int = 256
    stake: int = COIN // 100
    deposit: int = COIN
    node: Literal["auto", "anvil", "in-process"] = "auto"

    def check(self) -> None:
        """ValueError, with what is wrong."""
        if not 2 <= self.participants <= 100:
            raise ValueError(
                f"--participants must satisfy 2 <= participants <= 100: got participants={self.participants}"
            )
        for name in ("silent", "cheats"):
            if getattr(self, name) < 0:
                raise ValueError(f"--{name} must satisfy {name} >= 0: got {name}={getattr(self, name)}")
        if self.silent + self.cheats > self.participants - 1:
            raise ValueError(
                "--silent and --cheats must leave one participant that reveals: "
                f"got {self.silent + self.cheats} of {self.participants}"
            )
        if not 1 <= self.inputs <= SET_ASIDE:
            raise ValueError(
                f"--inputs must satisfy 1 <= inputs <= {SET_ASIDE}, the digits set aside: "
                f"got inputs={self.inputs}"
            )
        check_size(self.inputs, LABELS, min(MOST_SEATS, self.participants))
        if self.node not in ("auto", "anvil", "in-process"):
            raise ValueError(f"--node must be one of auto, anvil, in-process: got {self.node!r}")


@dataclass(frozen=True)
class ParticipantLine:
    """The result of one participant."""

    name: str
    address: str
    conduct: Literal["honest", "silent", "cheat"]
    accuracy: float  # of its model on the inputs
    points: int
    earned: int  # in wei, its stake taken off
    right: int  # its record
    asked: int


@dataclass(frozen=True)
class LocalMotionResult:
    """The result of a motion on a local chain."""

    config: LocalMotion
    node: str
    gas: dict[str, list[int]]
    participants: list[ParticipantLine]
    answer: float  # accuracies
    majority: float
    best: float
    refused: list[str]  # why the contract refused the cheats
    left: int  # what the contract holds beyond what it owes: must be 0
    seconds: float

    def gas_table(self) -> dict[str, dict[str, int]]:
        """Count, median and sum of gas by call."""
        return {
            name: {"count": len(used), "median": round(median(used)), "sum": sum(used)}
            for name, used in self.gas.items()
        }


@dataclass
class _Gas:
    """Counts what each call took."""

    used: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def note(self, name: str, receipt: Receipt) -> Receipt:
        self.used[name].append(receipt.gas_used)
        return receipt


@contextmanager
def local_node(kind: Literal["auto", "anvil", "in-process"], accounts: int) -> Iterator[tuple[str, LocalRpc]]:
    """A chain on this machine: anvil if it is installed (or asked for), else in this process."""
    anvil = find_anvil() if kind != "in-process" else None
    if anvil is not None:
        with running_anvil(anvil, accounts) as rpc:
            yield "anvil", rpc
    elif kind == "anvil":
        raise ValueError(
            "--node anvil needs anvil, which is not installed: npm install @foundry-rs/anvil, "
            "or name it by FOLKMOOT_ANVIL"
        )
    else:
        yield "in-process", InProcess(accounts)


def play(config: LocalMotion, seed: int = 0, report: PartProgress | None = None) -> LocalMotionResult:
    """Fit the models, start a chain, deploy, play one motion through all phases."""
    config.check()
    began = time.monotonic()
    votes, truth, rows = _votes(config, seed, _told(report, "models fitted"))
    with local_node(config.node, config.participants + 1) as (name, rpc):
        supplier, *people = (Sender(rpc, key) for key in rpc.rich())
        return _motion(config, name, rpc, supplier, people, votes, truth, rows, seed, report, began)


def _motion(
    config: LocalMotion,
    node: str,
    rpc: LocalRpc,
    supplier: Sender,
    people: list[Sender],
    votes: Ints,
    truth: Ints,
    rows: list[bytes],
    seed: int,
    report: PartProgress | None,
    began: float,
) -> LocalMotionResult:
    gas = _Gas()
    contract, receipt = Contract.deploy(supplier, WINDOW)
    gas.note("deploy", receipt)
    drawn = np.random.default_rng(seed).permutation(config.participants).tolist()
    silent = set(drawn[: config.silent])
    cheats = set(drawn[config.silent : config.silent + config.cheats])
    roster = [each.address for each in people]
    start = rpc.block("latest").timestamp + 60  # the next blocks are some seconds later
    deadlines = [start + WINDOW * place for place in range(1, 5)]
    known = np.ones(config.inputs, dtype=bool)
    salt = derived_salt(supplier.key, supplier.chain_id, contract.address, "truth")
    motion, receipt = contract.put(
        truth,
        known,
        salt,
        subject=SUBJECT,
        labels=LABELS,
        seats=config.participants,
        stake=config.stake,
        deposit=config.deposit,
        deadlines=deadlines,
        inputs_root=merkle_root([input_leaf(row) for row in rows]),
        protocol=keccak(b"weighted plurality"),
        roster=roster_root(roster),
    )
    gas.note("put", receipt)
    salts = [derived_salt(each.key, each.chain_id, contract.address, motion) for each in people]
    told = _told(report, "commitments")
    for place, who in enumerate(people):
        proof = roster_proof(roster, who.address)
        gas.note("commit", contract.by(who).commit(motion, votes[place], salts[place], proof))
        told(place + 1, len(people))
    rpc.travel(deadlines[0])
    refused: list[str] = []
    told = _told(report, "reveals")
    for place, who in enumerate(people):
        told(place + 1, len(people))
        if place in silent:
            continue
        shown = (votes[place] + 1) % LABELS if place in cheats else votes[place]
        try:
            gas.note("reveal", contract.by(who).reveal(motion, shown, salts[place]))
        except RevertedError as error:
            refused.append(str(error))
    rpc.travel(deadlines[1])
    history = History(contract, motion)
    answer = history.answer()
    gas.note("post", contract.post(motion, answer))
    gas.note("tell", contract.tell(motion, truth, known, salt))
    told = _told(report, "scores and claims")
    for receipt in history.score():
        gas.note("score", receipt)
    points = [contract.seats(motion, who.address).points for who in people]
    rpc.travel(deadlines[3])
    for receipt in history.claim():
        gas.note("claim", receipt)
    paid = []
    for place, who in enumerate(people):
        paid.append(contract.credit(who.address))
        if paid[-1]:
            gas.note("withdraw", contract.by(who).withdraw())
        told(place + 1, len(people))
    left = rpc.balance(contract.address) - contract.credit(supplier.address)
    accuracies = (votes == truth).mean(axis=1)
    everybody = plurality(list(votes), [1] * len(votes), LABELS)
    lines = []
    for place, who in enumerate(people):
        record = contract.records(supplier.address, SUBJECT, who.address)
        lines.append(
            ParticipantLine(
                f"participant {place:02d}",
                who.address,
                "silent" if place in silent else "cheat" if place in cheats else "honest",
                float(accuracies[place]),
                points[place],
                paid[place] - config.stake,
                record.right,
                record.asked,
            )
        )
    return LocalMotionResult(
        config,
        node,
        dict(gas.used),
        lines,
        float((answer == truth).mean()),
        float((everybody == truth).mean()),
        float(accuracies.max()),
        refused,
        left,
        time.monotonic() - began,
    )


def _votes(
    config: LocalMotion, seed: int, told: Callable[[int, int], None]
) -> tuple[Ints, Ints, list[bytes]]:
    """What each one's model, fitted on its own digits, says of the inputs; the truth; the inputs as bytes."""
    try:
        from sklearn.datasets import load_digits
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import train_test_split
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ModuleNotFoundError as error:
        raise to_install(error) from None
    digits = load_digits()
    X, inputs, y, truth = train_test_split(
        digits.data / 16, digits.target, test_size=SET_ASIDE, stratify=digits.target, random_state=seed
    )
    inputs, truth = inputs[: config.inputs], truth[: config.inputs].astype(np.int64)
    owners = _owners(y, config.participants, np.random.default_rng(seed))
    votes = np.empty((config.participants, len(truth)), dtype=np.int64)
    for place in range(config.participants):
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(X[owners == place], y[owners == place])
        votes[place] = model.predict(inputs)
        told(place + 1, config.participants)
    return votes, truth, [np.ascontiguousarray(row, dtype="<f8").tobytes() for row in inputs]


def _owners(y: Ints, participants: int, rng: np.random.Generator) -> Ints:
    """Whose row is whose: each digit in uneven shares; everybody has two digits, as a classifier needs."""
    owners = np.empty(len(y), dtype=np.int64)
    for digit in range(LABELS):
        rows = rng.permutation(np.flatnonzero(y == digit))
        sure = [place for place in range(participants) if digit in (place % LABELS, (place + 1) % LABELS)]
        drawn = rng.choice(participants, len(rows) - len(sure), p=rng.dirichlet(np.ones(participants)))
        owners[rows] = [*sure, *drawn]
    return owners


def _told(report: PartProgress | None, part: str) -> Callable[[int, int], None]:
    def tell(done: int, whole: int) -> None:
        if report is not None:
            report(part, done, whole)

    return tell
