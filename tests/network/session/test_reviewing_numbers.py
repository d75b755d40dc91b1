"""What a node opens a talk about numbers with: in the honest range, whatever others answer and claim."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from folkmoot.aggregation import LARGEST
from folkmoot.network.session.judgement import Judgement
from folkmoot.network.session.minutes import CheckRows
from folkmoot.network.session.reviewing_numbers import judge_numbers
from folkmoot.network.wire.review import OwnerMap
from folkmoot.trust import CheckedNumbers, review_numbers

N, F, ASKED, EACH = 7, 1, 12, 6
LIAR = 4


def owners() -> OwnerMap:
    """The asker's rows come first, then those of each participant."""
    rows = {place: (ASKED + place * EACH + np.arange(EACH), np.arange(EACH)) for place in range(N)}
    return OwnerMap(np.arange(ASKED), rows)


def checked(truth: Any, without: tuple[int, ...] = ()) -> CheckRows:
    """The check rows of all but some."""
    kept = [place for place in range(N) if place not in without]
    where = np.concatenate([np.zeros(0, dtype=np.int64), *(owners().rows[place][0] for place in kept)])
    return CheckRows(where, truth[where][:, None], np.repeat(np.array(kept, dtype=np.int64), EACH), without)


def drawn(seed: int) -> tuple[Any, Any]:
    """The right numbers (row,), and what everybody answers (participant, row, 1)."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 5, ASKED + N * EACH)
    off = rng.normal(0, 1, (N, len(truth))) * rng.uniform(0.2, 3.0, N)[:, None]
    return truth, (truth + off)[..., None]


def judged(place: int, first: Any, rows: CheckRows | None, known: OwnerMap | None = None) -> Judgement:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # whatever others claim, a node's log stays quiet
        return judge_numbers(place, first, ASKED, rows, owners() if known is None else known)


FOUL: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "huge": lambda _, many: np.full(many, LARGEST),
    "both ways": lambda rng, many: np.where(rng.random(many) < 0.5, LARGEST, -LARGEST),
    "tiny": lambda _, many: np.full(many, 5e-324),
    "constant": lambda _, many: np.full(many, 3.0),
    "any": lambda rng, many: rng.normal(0, 1, many) * 10.0 ** rng.uniform(-100, 99, many),
    "middling": lambda rng, many: rng.normal(0, 1, many) * 1e30,
}


@pytest.mark.parametrize("claims", FOUL)
@pytest.mark.parametrize("answers", ["honest", *FOUL])
def test_a_liar_moves_no_opening_out_of_the_honest_range(claims: str, answers: str) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        truth, first = drawn(seed)
        truth = truth.copy()
        truth[owners().rows[LIAR][0]] = FOUL[claims](rng, EACH)
        if answers != "honest":
            first[LIAR, :, 0] = FOUL[answers](rng, first.shape[1])
        honest = np.delete(first, LIAR, axis=0)[:, :ASKED]
        # The others may have vanished: then the liar is one of two contributors, or the only one.
        for without in ((), (0, 1, 2, 3), (0, 1, 2, 3, 5, 6)):
            for place in (0, 6):
                found = judged(place, first, checked(truth, without))
                assert (honest.min(axis=0) <= found.start).all()
                assert (found.start <= honest.max(axis=0)).all()


def test_numbers_that_are_all_the_same_are_opened_with() -> None:
    truth, first = np.full(ASKED + N * EACH, 7.0), np.full((N, ASKED + N * EACH, 1), 7.0)
    np.testing.assert_array_equal(judged(0, first, checked(truth)).start, np.full((ASKED, 1), 7.0))


def test_who_lacks_a_number_is_left_out_and_so_are_rows_that_some_cannot_answer() -> None:
    truth, first = drawn(3)
    rows = checked(truth)
    gappy = first.copy()
    gappy[5, ASKED + EACH] = np.nan  # the first check row of participant 1, which 5 cannot answer
    kept = np.delete(np.arange(N * EACH), EACH)
    some = CheckedNumbers(first[:, rows.rows[kept]], rows.truth[kept], rows.publisher[kept], (N - 1) // 3)
    (expected,) = review_numbers(some, [0])
    assert expected.anchored
    found = judged(0, gappy, rows)
    np.testing.assert_array_equal(found.weights, expected.weight)
    np.testing.assert_array_equal(found.start, expected.estimate(first[:, :ASKED]))
    gappy[5, 3] = np.nan  # now it lacks a number that was asked for
    without = judged(0, gappy, rows)
    assert without.weights[5] == 0.0
    assert (without.weights[[0, 1, 2, 3, 4, 6]] != 0).all()
    own = judged(5, gappy, rows)
    np.testing.assert_array_equal(own.start, gappy[5, :ASKED])
    assert own.why == "not anchored: its model has not a number for every input"


def test_with_too_few_numbers_each_opens_with_its_own() -> None:
    truth, first = drawn(5)
    first[[2, 4, 5, 6]] = np.nan
    found = judged(0, first, checked(truth))
    assert found.why == f"not anchored: 3 have a number for every input, and {3 * F + 1} must"
    np.testing.assert_array_equal(found.start, first[0, :ASKED])
    assert not found.anchored
    assert not found.weights.any()


def test_without_a_map_or_rows_there_is_nothing_to_learn_from() -> None:
    truth, first = drawn(6)
    found = judge_numbers(0, first, ASKED, None, None)
    assert np.isnan(found.start).all()
    assert found.start.shape == (ASKED, 1)
    alone = judged(0, first, checked(truth, tuple(range(N))))
    np.testing.assert_array_equal(alone.start, first[0, :ASKED])
    assert alone.why == "not anchored: there are no rows whose numbers are known"


@pytest.mark.parametrize("size", [1e30, 1e99])
@pytest.mark.parametrize("place", range(N))
def test_numbers_that_are_too_far_apart_to_compute_with_are_opened_with_their_middle(
    place: int, size: float
) -> None:
    said = size * np.arange(-3.0, 4.0)[:, None, None] * np.ones((1, ASKED + N * EACH, 1))
    # The only contributor claims what the mean answer is, so that every distance is infinitely unusual.
    rows = checked(np.zeros(ASKED + N * EACH), tuple(each for each in range(N) if each != 3))
    found = judged(place, said, rows)
    assert np.isfinite(found.start).all()
    assert (np.abs(found.start) <= size).all()  # two of seven are moved in at either end
