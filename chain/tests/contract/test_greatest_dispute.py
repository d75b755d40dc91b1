"""The greatest motions that ``put`` takes, disputed for real: below 16.7 M gas, the cap of EIP-7825."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from folkmoot_chain.anvil import find_anvil, running_anvil
from folkmoot_chain.ballots import Ints, check_size, plurality
from folkmoot_chain.contract import Contract
from folkmoot_chain.history import History
from folkmoot_chain.in_process import InProcess
from folkmoot_chain.rpc import LocalRpc, Receipt
from folkmoot_chain.sending import Sender

MOST = 16_700_000
HEAVIEST = 15
SALT = b"s" * 32
WINDOW = 100_000

# labels, inputs, seats: seats x labels and seats x (words + 2) as great as they get, both of them or one.
GREATEST = [(16, 512, 192), (8, 256, 384), (10, 8192, 15)]
MOST_PEOPLE = max(seats for _, _, seats in GREATEST)


@pytest.fixture(scope="module")
def chain() -> Iterator[LocalRpc]:
    """Anvil where it is installed, which is a hundred times as fast."""
    program = find_anvil()
    if program is None:
        yield InProcess(MOST_PEOPLE + 1)
        return
    with running_anvil(program, MOST_PEOPLE + 1) as started:
        yield started


def whole_motion(
    contract: Contract, people: list[Sender], truth: Ints, votes: list[Ints], labels: int
) -> int:
    """Up to the end of the reveals; all is known."""
    rpc = contract.rpc
    start = rpc.block("latest").timestamp + 60
    ends = [start + WINDOW * place for place in range(1, 5)]
    terms: dict[str, Any] = {
        "subject": f"{labels}",
        "labels": labels,
        "seats": len(people),
        "stake": 1000,
        "deadlines": ends,
    }
    motion, _ = contract.put(truth, np.ones(len(truth), dtype=bool), SALT, **terms)
    for who, row in zip(people, votes, strict=True):
        contract.by(who).commit(motion, row, SALT)
    rpc.travel(ends[0])  # type: ignore[attr-defined]
    for who, row in zip(people, votes, strict=True):
        contract.by(who).reveal(motion, row, SALT)
    rpc.travel(ends[1])  # type: ignore[attr-defined]
    return motion


def disputed(chain: LocalRpc, labels: int, inputs: int, seats: int) -> Receipt:
    """A dispute of a motion in which everybody has the greatest weight."""
    check_size(inputs, labels, seats)
    with pytest.raises(ValueError, match="seats must satisfy"):
        check_size(inputs, labels, seats + 1)
    supplier, *people = [Sender(chain, key) for key in chain.rich()[: seats + 1]]
    contract, _ = Contract.deploy(supplier, 60)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, labels, inputs)
    while contract.weight(supplier.address, f"{labels}", people[0].address, labels) < HEAVIEST:
        motion = whole_motion(contract, people, truth, [truth] * seats, labels)
        contract.tell(motion, truth, np.ones(inputs, dtype=bool), SALT)
        contract.score(motion)
    # On half of the inputs all say the same, so that every label's count carries as far as it can.
    same = np.arange(inputs) % labels
    votes = [np.where(np.arange(inputs) % 2, rng.integers(0, labels, inputs), same) for _ in people]
    motion = whole_motion(contract, people, truth, votes, labels)
    weights = [each.weight for each in History(contract, motion).revealed()]
    assert set(weights) == {HEAVIEST}
    wrong = plurality(votes, [1] * seats, labels)
    wrong[-1] = (wrong[-1] + 1) % labels
    contract.post(motion, wrong)
    (word,) = History(contract, motion).wrong_words()
    receipt = contract.dispute(motion, word)
    assert History(contract, motion).wrong_words() == []
    return receipt


@pytest.mark.slow
@pytest.mark.parametrize(("labels", "inputs", "seats"), GREATEST)
def test_the_greatest_dispute_fits_a_call(chain: LocalRpc, labels: int, inputs: int, seats: int) -> None:
    used = disputed(chain, labels, inputs, seats).gas_used
    print(f"dispute with {labels} labels, {inputs} inputs, {seats} seats: {used:,} gas")
    assert used < MOST
