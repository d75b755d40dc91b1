"""Gas of every call of the contract, one at a time and batched, and how it grows with participants.

    python benchmarks/chain.py [--json]

25 participants, 256 inputs, open seats, in py-evm: anvil is not needed, and gas does not depend on the
machine. A first motion makes accounts, records and credits; the figures are of later ones, as in a moot that
goes on. A target of two figures is for 2 and for 10 labels.
"""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from folkmoot.arrays import Ints
from folkmoot.chain.ballots import pack, pack_mask, plurality
from folkmoot.chain.contract import Contract
from folkmoot.chain.in_process import InProcess
from folkmoot.chain.seals import ZERO
from folkmoot.chain.sending import Sender
from folkmoot.wallets import keccak
from timing import report

PARTICIPANTS = 25
LABELS = (2, 10)
# Of the trial, 2 and 10 labels, 256 inputs, 25 participants.
TARGETS = {
    "put": (140_000, 140_000),
    "commit": (54_000, 54_000),
    "reveal": (41_000, 43_000),
    "score batched, each": (22_500, 55_000),
    "claim batched, each": (21_000, 21_000),
    "motion singly": (5_000_000, 6_200_000),
    "motion batched": (3_300_000, 4_400_000),
}
WINDOW = 100_000
SALT = b"s" * 32


def motion(
    rpc: InProcess,
    contract: Contract,
    people: list[Sender],
    truth: Ints,
    labels: int,
    *,
    batched: bool,
    roster: bytes = ZERO,
) -> dict[str, list[int]]:
    """One motion through all phases; gas by call."""
    start = rpc.pending_timestamp()
    ends = [start + WINDOW * place for place in range(1, 5)]
    known = np.ones(len(truth), dtype=bool)
    used: dict[str, list[int]] = {}

    def note(name: str, gas: int) -> None:
        used.setdefault(name, []).append(gas)

    number, receipt = contract.put(
        truth,
        known,
        SALT,
        subject="digits",
        labels=labels,
        seats=len(people),
        stake=10**15,
        deposit=10**17,
        deadlines=ends,
        inputs_root=keccak(b"inputs"),
        protocol=keccak(b"protocol"),
        roster=roster,
    )
    note("put", receipt.gas_used)
    rng = np.random.default_rng(0)
    votes = [
        np.where(rng.random(len(truth)) < 0.7, truth, rng.integers(0, labels, len(truth))) for _ in people
    ]
    for who, row in zip(people, votes, strict=True):
        note("commit", contract.by(who).commit(number, row, SALT).gas_used)
    rpc.travel(ends[0])
    for who, row in zip(people, votes, strict=True):
        note("reveal", contract.by(who).reveal(number, row, SALT).gas_used)
    rpc.travel(ends[1])
    weights = [contract.seats(number, who.address).weight for who in people]
    answer = plurality(votes, weights, labels)
    note("post", contract.post(number, answer).gas_used)
    note("tell", contract.tell(number, truth, known, SALT).gas_used)
    words, mask = pack(truth, labels), pack_mask(known)
    groups = [list(range(len(people)))] if batched else [[place] for place in range(len(people))]
    for group in groups:
        flat = [word for place in group for word in pack(votes[place], labels)]
        named = [people[place].address for place in group]
        note("score", contract.send("score", number, named, flat, words, mask).gas_used)
    rpc.travel(ends[3])
    for group in groups:  # the first of which closes the motion
        note("claim", contract.claim(number, [people[place].address for place in group]).gas_used)
    return used


def table(labels: int, participants: int, inputs: int = 256) -> dict[str, int]:
    """Gas of the second motion singly, and of the third batched, on one chain."""
    rpc = InProcess(participants + 1)
    supplier, *people = (Sender(rpc, key) for key in rpc.rich())
    contract, deployed = Contract.deploy(supplier, 60)
    truth = np.random.default_rng(1).integers(0, labels, inputs)
    first = motion(rpc, contract, people, truth, labels, batched=True)
    single = motion(rpc, contract, people, truth, labels, batched=False)
    batch = motion(rpc, contract, people, truth, labels, batched=True)
    found = {name: round(median(gas)) for name, gas in single.items()}
    found["score batched, each"] = batch["score"][0] // participants
    found["claim batched, each"] = batch["claim"][0] // participants
    found["claim batched, first time, each"] = first["claim"][0] // participants
    found["motion singly"] = sum(sum(gas) for gas in single.values())
    found["motion batched"] = sum(sum(gas) for gas in batch.values())
    found["withdraw"] = round(median(contract.by(who).withdraw().gas_used for who in people))
    found["deploy"] = deployed.gas_used
    return found


def growth(labels: int, participants: int) -> dict[str, int]:
    """Gas of one `dispute` and of one `reveal` with so many participants."""
    rpc = InProcess(participants + 1)
    supplier, *people = (Sender(rpc, key) for key in rpc.rich())
    contract, _ = Contract.deploy(supplier, 60)
    start = rpc.pending_timestamp()
    ends = [start + WINDOW * place for place in range(1, 5)]
    rng = np.random.default_rng(0)
    truth, known = rng.integers(0, labels, 256), np.ones(256, dtype=bool)
    terms: dict[str, Any] = {"subject": "x", "labels": labels, "seats": participants, "stake": 10**9}
    number, _ = contract.put(truth, known, SALT, deadlines=ends, **terms)
    votes = {who.address: rng.integers(0, labels, 256) for who in people}
    for who in people:
        contract.by(who).commit(number, votes[who.address], SALT)
    rpc.travel(ends[0])
    reveal = [contract.by(who).reveal(number, votes[who.address], SALT).gas_used for who in people]
    rpc.travel(ends[1])
    wrong = (plurality(list(votes.values()), [1] * participants, labels) + 1) % labels
    contract.post(number, wrong)
    order = sorted(votes, key=str.lower)
    flat = [word for who in order for word in pack(votes[who], labels)]
    dispute = contract.send("dispute", number, 0, order, flat, pack(wrong, labels)).gas_used
    return {"reveal": round(median(reveal)), "dispute": dispute}


def measure() -> dict[str, object]:
    tables = [table(labels, PARTICIPANTS) for labels in LABELS]
    results: dict[str, object] = {}
    for name in tables[0]:
        gas = [found[name] for found in tables]
        told: dict[str, object] = {f"{labels} labels": each for labels, each in zip(LABELS, gas, strict=True)}
        if name in TARGETS:
            most = TARGETS[name]
            reached = all(each <= limit for each, limit in zip(gas, most, strict=True))
            told |= {"target": " / ".join(f"{limit:,}" for limit in sorted(set(most))), "reached": reached}
        results[f"{name}, gas"] = told
    for labels in LABELS:
        for people in (5, 10, 20, 40):
            results[f"{people} participants, {labels} labels, gas"] = growth(labels, people)
    return results


if __name__ == "__main__":
    report(measure, __doc__)
