"""A whole motion on a chain of this machine: models on digits, some that never reveal, some that cheat."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

import numpy as np

from folkmoot import checks
from folkmoot.accuracy import share_right
from folkmoot.arrays import Ints, PartProgress
from folkmoot.baselines.majority import majority_answer
from folkmoot.chain.anvil import find_anvil, running_anvil
from folkmoot.chain.ballots import MOST_SEATS, check_size
from folkmoot.chain.contract import Contract
from folkmoot.chain.history import History
from folkmoot.chain.in_process import InProcess
from folkmoot.chain.keys import derived_salt
from folkmoot.chain.rpc import LocalRpc, Receipt, RevertedError
from folkmoot.chain.seals import input_leaf, merkle_root, roster_proof, roster_root
from folkmoot.chain.sending import Sender
from folkmoot.datasets import load_digits_moot
from folkmoot.learning.base_learners import MODELS
from folkmoot.wallets import keccak

LABELS = 10
SUBJECT = "digits"
COIN = 10**18
WINDOW = 3_600  # seconds on the chain's clock, which is moved


@dataclass(frozen=True)
class LocalChain:
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
        if not 2 <= checks.integer("--participants", self.participants) <= 100:
            raise ValueError(
                f"--participants must satisfy 2 <= participants <= 100: got participants={self.participants}"
            )
        for name in ("silent", "cheats"):
            checks.integer(f"--{name}", getattr(self, name), least=0)
        if self.silent + self.cheats > self.participants - 1:
            raise ValueError(
                "--silent and --cheats must leave one participant that reveals: "
                f"got {self.silent + self.cheats} of {self.participants}"
            )
        if not 1 <= checks.integer("--inputs", self.inputs) <= 449:
            raise ValueError(
                f"--inputs must satisfy 1 <= inputs <= 449, the digits set aside: got inputs={self.inputs}"
            )
        check_size(self.inputs, LABELS, min(MOST_SEATS, self.participants))
        if self.node not in ("auto", "anvil", "in-process"):
            raise ValueError(f"--node must be one of auto, anvil, in-process: got {self.node!r}")


@dataclass(frozen=True)
class ParticipantLine:
    """What became of one participant."""

    name: str
    address: str
    conduct: Literal["honest", "silent", "cheat"]
    accuracy: float  # of its model on the inputs
    points: int
    earned: int  # in wei, its stake taken off
    right: int  # its record
    asked: int


@dataclass(frozen=True)
class LocalChainResult:
    """What a motion on a local chain came to."""

    config: LocalChain
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


def play(config: LocalChain, seed: int = 0, report: PartProgress | None = None) -> LocalChainResult:
    """Fit the models, start a chain, deploy, play one motion through all phases."""
    config.check()
    began = time.monotonic()
    votes, truth, rows = _votes(config, seed, _told(report, "models fitted"))
    with local_node(config.node, config.participants + 1) as (name, rpc):
        supplier, *people = (Sender(rpc, key) for key in rpc.rich())
        return _motion(config, name, rpc, supplier, people, votes, truth, rows, seed, report, began)


def _motion(
    config: LocalChain,
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
) -> LocalChainResult:
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
    accuracies = share_right(votes, truth)
    centre = majority_answer(votes, LABELS)
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
    return LocalChainResult(
        config,
        node,
        dict(gas.used),
        lines,
        float(share_right(answer, truth)),
        float(share_right(centre.decision, truth, centre.level)),
        float(max(accuracies)),
        refused,
        left,
        time.monotonic() - began,
    )


def _votes(config: LocalChain, seed: int, told: Callable[[int, int], None]) -> tuple[Ints, Ints, list[bytes]]:
    """What each one's model, fitted on its own digits, says of the inputs; the truth; the inputs as bytes."""
    data = load_digits_moot(config.participants, 1.0, seed)
    assert data.X_test is not None  # noqa: S101 (the digits have a test set)
    assert data.y_test is not None  # noqa: S101
    inputs, truth = data.X_test[: config.inputs], data.y_test[: config.inputs].astype(np.int64)
    votes = np.empty((config.participants, len(truth)), dtype=np.int64)
    for place in range(config.participants):
        own = data.groups == place
        model = MODELS["logistic"]().fit(data.X[own], data.y[own])
        votes[place] = model.predict(inputs)
        told(place + 1, config.participants)
    return votes, truth, [np.ascontiguousarray(row, dtype="<f8").tobytes() for row in inputs]


def _told(report: PartProgress | None, part: str) -> Callable[[int, int], None]:
    def tell(done: int, whole: int) -> None:
        if report is not None:
            report(part, done, whole)

    return tell
