"""Gas of every call of the contract, and how it grows with participants: the tables of the README.

    python chain/benchmarks/gas.py [--write]

25 participants, 256 inputs, open seats, in py-evm: anvil is not needed, and gas does not depend on the
machine (deadlines are bytes of a call, of which zeros are cheaper: that moves a put by some tens of gas).
A first motion makes accounts, records and credits; the figures are of later ones, as in a moot that goes on.
--write puts the tables into README.md; a slow test compares them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from folkmoot_chain.ballots import Ints, pack, pack_mask, plurality
from folkmoot_chain.contract import Contract
from folkmoot_chain.in_process import InProcess
from folkmoot_chain.sending import Sender
from folkmoot_chain.wallets import keccak

README = Path(__file__).parents[1] / "README.md"
PARTICIPANTS = 25
LABELS = (2, 10)
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


def tables() -> str:
    """Both tables in Markdown."""
    calls = [table(labels, PARTICIPANTS) for labels in LABELS]
    rows = [[name, *(f"{found[name]:,}" for found in calls)] for name in calls[0]]
    head = ["call", *(f"gas, {labels} labels" for labels in LABELS)]
    grown = [
        [f"{people}, {labels} labels", *(f"{gas:,}" for gas in growth(labels, people).values())]
        for labels in LABELS
        for people in (5, 10, 20, 40)
    ]
    growing = ["participants", "gas of a reveal", "gas of a dispute"]
    return f"{_markdown(head, rows)}\n\n{_markdown(growing, grown)}\n"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def shown() -> str:
    """The tables as README.md has them."""
    _, text = README.read_text().split("<!-- gas -->\n\n")
    return text.partition("\n<!-- end of gas -->")[0]


if __name__ == "__main__":
    made = tables()
    print(made, end="")
    if "--write" in sys.argv[1:]:
        README.write_text(README.read_text().replace(shown(), made))
