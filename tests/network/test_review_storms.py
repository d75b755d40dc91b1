"""Motions by peer review in storms, with one hostile member of seven."""

from __future__ import annotations

from collections import Counter

import pytest

from folkmoot.network.wire.forms import Answers
from support.network.message_faults import played
from support.network.review_storms import KINDS, LIES, QUICK, play

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_promised_of_check_rows_holds_in_storms(part: int) -> None:
    found = played(QUICK[part::PARTS], 1200 * part, lambda seed, kind: play(seed, kind, motions=1))
    assert all(each["motions"] > 0 for each in found)
    whole = sum(found, Counter[str]())
    assert whole["learnt from"] > whole["motions"] / 3, "the storms leave something to learn from"


@pytest.mark.parametrize("answers", ["probabilities", "numbers"])
@pytest.mark.parametrize("kind", ["two labels", "tells some its labels", "two maps", LIES])
def test_what_is_promised_holds_of_probabilities_and_numbers_too(kind: str, answers: Answers) -> None:
    found = play([*KINDS, LIES].index(kind), kind, motions=1, answers=answers)
    assert found["motions"] > 0
    assert found["learnt from"] > 0
    assert (found["claimed"] > 0) == (answers == "numbers")
    assert (found["broken labels"] > 0) == (kind == "two labels")


@pytest.mark.slow
@pytest.mark.parametrize("answers", ["probabilities", "numbers"])
def test_what_is_promised_of_probabilities_and_numbers_holds_in_hundreds_of_storms(answers: Answers) -> None:
    found: Counter[str] = Counter()
    for seed in range(2000, 2100):
        found += play(seed, answers=answers)
    assert found["learnt from"] > found["motions"] / 3
    assert found["broken labels"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_what_is_promised_of_check_rows_holds_in_two_thousand_storms(part: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(10_000 + 100 * part, 10_100 + 100 * part):
        found += play(seed)
    assert found["learnt from"] > found["motions"] / 3
    assert found["broken labels"] > 0
    assert found["broken map of owners"] > 0
