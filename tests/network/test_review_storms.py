"""Motions by peer review in storms, with one hostile member of seven."""

from __future__ import annotations

from collections import Counter

import pytest

from folkmoot.network.wire.forms import Answers
from support.network.review_storms import KINDS, LIES, play


@pytest.mark.parametrize("kind", [*KINDS, LIES])
def test_what_is_promised_of_check_rows_holds_in_a_storm(kind: str) -> None:
    found = play([*KINDS, LIES].index(kind), kind, motions=1)
    assert found["motions"] > 0


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
@pytest.mark.parametrize("part", range(4))
def test_what_is_promised_of_check_rows_holds_in_hundreds_of_storms(part: int) -> None:
    found: Counter[str] = Counter()
    for seed in range(1000 + 100 * part, 1100 + 100 * part):
        found += play(seed)
    assert found["learnt from"] > found["motions"] / 3
    assert found["broken labels"] > 0
    assert found["broken map of owners"] > 0
