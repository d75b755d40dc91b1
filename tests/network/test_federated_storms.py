"""Federated motions in every storm that a seed can brew: what is promised of them holds.

Agreement of intact nodes is what the rules are for, so the bound is zero: no two intact nodes decide
different labels, none decides one that nobody honest voted for, nobody honest says two things or is accused.
The share of inputs that intact nodes have confirmed by the deadline is stated, and must not fall.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from support.network.federated_storms import ANY, CAUGHT, DRAWN, QUICK, Tally, play, stormy
from support.network.message_faults import played
from support.network.storms import hostile_in

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_the_promises_hold_in_federated_storms(part: int) -> None:
    def one(seed: int, kind: str) -> Tally:
        return play(seed, 5 + seed // 3 % 3, DRAWN if kind == ANY else [kind])

    whole = total(played(QUICK[part::PARTS], 1200 * part, one))
    assert whole.in_vain == 0
    assert whole.confirmed > whole.intact / 2, "the storms leave something to agree on"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_the_promises_hold_in_two_thousand_federated_storms(part: int) -> None:
    whole = total(play(seed, 5 + seed % 5) for seed in range(10_000 + 100 * part, 10_100 + 100 * part))
    assert whole.confirmed > 0.5 * whole.intact, f"{whole}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", DRAWN)
def test_the_promises_hold_against_each_kind(kind: str) -> None:
    whole = total(play(seed, 7, [kind]) for seed in range(5001, 5020))
    assert whole.confirmed > 0.4 * whole.intact, f"{whole}"
    if kind in CAUGHT:
        assert whole.proven > 5, f"{whole}"


def total(found: Iterable[Tally]) -> Tally:
    whole = Tally()
    for each in found:
        whole.add(each)
    return whole


def test_two_of_three_storms_have_a_hostile_member() -> None:
    hostile = [len(hostile_in(stormy(seed, 5 + seed % 3))) for seed in range(9)]
    assert [many > 0 for many in hostile] == [False, True, True] * 3
