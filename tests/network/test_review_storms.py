"""Motions by peer review in storms, with one hostile member of seven."""

from __future__ import annotations

from collections import Counter

import pytest

from support.network.message_faults import played
from support.network.review_storms import QUICK, play

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_promised_of_check_rows_holds_in_storms(part: int) -> None:
    found = played(QUICK[part::PARTS], 600 * part, lambda seed, kind: play(seed, kind, motions=1))
    assert all(each["motions"] > 0 for each in found)
    whole = sum(found, Counter[str]())
    assert whole["learnt from"] > whole["motions"] / 3, "the storms leave something to learn from"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_what_is_promised_of_check_rows_holds_in_two_thousand_storms(part: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(10_000 + 100 * part, 10_100 + 100 * part):
        found += play(seed)
    assert found["learnt from"] > found["motions"] / 3
    assert found["broken labels"] > 0
    assert found["broken map of owners"] > 0
