"""Numbers and probabilities in every storm that a seed can brew: what is promised of them holds.

Agreement and validity are theorems (``wire/number_verdict.py``), so the bound is zero: no two honest claims
are more than tol apart or name different labels, none is further than tol/2 from the honest range, nobody
honest signs twice or is accused. With hostile members nearly as many inputs are claimed as with these
switched off.
"""

from __future__ import annotations

import pytest

from support.network.message_faults import played
from support.network.number_storms import DRAWN, FAULTY, play
from support.network.storms import hostile_kinds

COMPARED = range(16)  # beside the same storm with the hostile members switched off
QUICK = 188
REQUIRED = 0.95


@pytest.mark.parametrize("part", range(4))
def test_the_promises_hold_in_every_storm_about_numbers(part: int) -> None:
    claimed = inputs = with_them = without = 0
    for seed in range(part, QUICK, 4):
        found, quiet, whole = play(seed, 7, compare=seed in COMPARED)
        claimed, inputs = claimed + found, inputs + whole
        if seed in COMPARED:
            with_them, without = with_them + found, without + quiet
    assert claimed > inputs / 3, "the storms leave something to agree on"
    assert with_them >= REQUIRED * without


def test_the_promises_hold_with_every_fault_of_answers_and_closes() -> None:
    found = played(FAULTY, 3000, lambda seed, kind: play(seed, 7, [kind], compare=False))
    assert sum(claimed for claimed, _, _ in found) > len(found)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_the_promises_hold_in_two_thousand_storms_about_numbers(part: int) -> None:
    sizes = [7] * 80 + [11] * 20
    found = [play(10_000 + 100 * part + i, n, compare=i < 40) for i, n in enumerate(sizes)]
    with_them, without, _ = map(sum, zip(*found, strict=True))
    assert with_them >= REQUIRED * without


def test_every_kind_is_in_the_storms_about_numbers() -> None:
    drawn = [hostile_kinds(seed, 7, DRAWN) for seed in range(QUICK)]
    assert {kind for kinds in drawn for kind in kinds.values()} == {*DRAWN}
    assert sum(map(bool, drawn)) >= QUICK / 2
