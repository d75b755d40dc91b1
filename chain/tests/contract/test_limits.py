"""What ``put`` refuses, so that every later call fits a block and every number its bits."""

from __future__ import annotations

import numpy as np
import pytest

from chain_support.world import LEAST, STAKE, World, refused
from folkmoot_chain.seals import ZERO

TRUTH = np.arange(24) % 2


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"labels": 1}, "labels: 2 to 16"),
        ({"labels": 17}, "labels: 2 to 16"),
        ({"inputs": 0}, "inputs: 1 to 32768"),
        ({"inputs": 32769}, "inputs: 1 to 32768"),
        ({"inputs": 8193, "labels": 10}, "longer than 128 words"),
        ({"seats": 0}, "seats"),
        ({"seats": 683}, "seats"),
        ({"seats": 342, "labels": 9}, "seats x .words"),
        ({"seats": 193, "labels": 16}, "seats x labels"),
        ({"seats": 308, "labels": 10}, "seats x labels"),
        ({"stake": 0}, "stake"),
        ({"stake": 2**80}, "stake"),
        ({"window": LEAST - 1}, "a window is shorter"),
        ({"window": 2**40}, "not a time"),
        ({"window": 2**34}, "not a time"),  # the last deadline is past 2^36, and has no bits there
        ({"order": True}, "a window is shorter"),
    ],
)
def test_put_refuses_what_later_calls_could_not_bear(
    world: World, changed: dict[str, int], reason: str
) -> None:
    terms = {"labels": 2, "inputs": 256, "seats": 682, "stake": 1, "window": LEAST, "order": False, **changed}
    start = world.now + 5
    ends = [start + terms["window"] * place for place in range(1, 5)]
    if terms["order"]:
        ends[1:3] = ends[2], ends[1]
    data = [
        ZERO,
        ZERO,
        ZERO,
        ZERO,
        ends,
        terms["inputs"],
        terms["labels"],
        terms["seats"],
        terms["stake"],
        ZERO,
    ]
    with refused(reason):
        world.contract.cost("put", *data)


@pytest.mark.parametrize(
    ("labels", "inputs", "seats"),
    [(2, 256, 682), (16, 256, 192), (10, 8192, 15), (2, 32768, 15), (9, 1, 341)],
)
def test_put_takes_the_greatest_motions(world: World, labels: int, inputs: int, seats: int) -> None:
    ends = [world.now + 5 + LEAST * place for place in range(1, 5)]
    world.contract.cost("put", ZERO, ZERO, ZERO, ZERO, ends, inputs, labels, seats, 2**80 - 1, ZERO)


def test_deposits_and_funds_stay_below_what_the_pool_holds(world: World) -> None:
    ends = [world.now + 5 + LEAST * place for place in range(1, 5)]
    terms = [ZERO, ZERO, ZERO, ZERO, ends, 24, 2, 2, STAKE, ZERO]
    for value in (2**100, 2**104):
        with refused("deposit"):
            world.contract.send("put", *terms, value=value)
    motion = world.motion(TRUTH, 2, deposit=2**100 - 1)
    with refused("amount"):
        world.contract.fund(motion.number, 1)
    with refused("amount"):
        world.contract.fund(motion.number, 0)
