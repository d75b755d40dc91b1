"""Federated motions in every storm that a seed can brew: what is promised of them holds.

Agreement of intact nodes is what the rules are for, so the bound is zero: no two intact nodes decide
different labels, none decides one that nobody honest voted for, nobody honest says two things or is accused.
The share of inputs that intact nodes have confirmed by the deadline is stated, and must not fall.
"""

from __future__ import annotations

import pytest

from support.network.federated_storms import CAUGHT, DRAWN, Tally, play, stormy
from support.network.storms import hostile_in

QUICK = 6


def test_the_promises_hold_in_federated_storms() -> None:
    whole = Tally()
    for seed in range(QUICK):
        whole.add(play(seed, 5 + seed % 2))
    assert whole.in_vain == 0
    assert whole.confirmed > whole.intact / 3, "the storms leave something to agree on"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_the_promises_hold_in_hundreds_of_federated_storms(part: int) -> None:
    whole = Tally()
    for i in range(60):
        whole.add(play(1000 + 60 * part + i, 5 + i % 5))
    assert whole.confirmed > 0.5 * whole.intact, f"{whole}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", DRAWN)
def test_the_promises_hold_against_each_kind(kind: str) -> None:
    whole = Tally()
    for seed in range(5001, 5020):
        whole.add(play(seed, 7, [kind]))
    assert whole.confirmed > 0.4 * whole.intact, f"{whole}"
    if kind in CAUGHT:
        assert whole.proven > 5, f"{whole}"


def test_some_members_are_hostile_in_the_quick_storms() -> None:
    hostile = [len(hostile_in(stormy(seed, 5 + seed % 2))) for seed in range(QUICK)]
    assert sum(map(bool, hostile)) >= QUICK / 3
