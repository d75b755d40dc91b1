"""What a node makes of check rows in a motion about numbers: what it opens the talk with.

It is the rule of ``ConsensusRegressor(weights="peer-review")`` (``trust/number_review.py``): an estimate
from everybody's first numbers, learnt from the check rows. After that all talk and close as without check
rows, everybody asked alike, and a quorum decides. ``wire/number_verdict.py`` proves that what is promised of
closes holds whatever was learnt.

It takes in those who have a number on every row of the asker, and the check rows to which all of them have
one. Nobody knows which rows are which when it votes: who leaves some out is mostly not heard itself.
"""

from __future__ import annotations

import numpy as np

from folkmoot.aggregation import TrimmedMean
from folkmoot.arrays import Floats, Ints
from folkmoot.network.session.judgement import Judgement
from folkmoot.network.session.minutes import CheckRows
from folkmoot.network.wire.review import OwnerMap
from folkmoot.node.membership.roster import faults
from folkmoot.trust import CheckedNumbers, NumberReview, review_numbers
from folkmoot.trust.number_review import opened_by, weighted_middle, weights_by_errors


def judge_numbers(
    place: int, first: Floats, asked: int, checked: CheckRows | None, owners: OwnerMap | None
) -> Judgement:
    """Learn from check rows, and say what to begin the talk with: an estimate, or own numbers.

    ``first`` (participant, row, 1) are the first numbers on all rows, NaN for none; ``asked`` rows of them
    are the asker's.
    """
    n = len(first)
    if owners is None or checked is None:
        nothing = np.full((asked, 1), np.nan)
        return _opened(n, nothing, "not anchored: the asker has not opened its check rows")
    values = first[:, owners.asked]
    there = np.flatnonzero(np.isfinite(values).all(axis=(1, 2)))
    if place not in there:
        return _opened(n, values[place], "not anchored: its model has not a number for every input")
    if len(there) <= 3 * faults(n):
        why = f"not anchored: {len(there)} have a number for every input, and {3 * faults(n) + 1} must"
        return _opened(n, values[place], why)
    known = _known(first, checked, there)
    if not len(known.truth):
        return _opened(n, values[place], "not anchored: there are no rows whose numbers are known")
    own = int(np.searchsorted(there, place))
    with np.errstate(all="ignore"):  # others may claim any number
        start, review = _estimated(own, values[there], known)
    weights = np.zeros(n)
    if review is None:
        return _opened(n, start, "not anchored: no rule can be computed from these rows")
    weights[there] = review.weight
    return _opened(n, start, review.why, weights, anchored=review.anchored)


def _known(first: Floats, checked: CheckRows, there: Ints) -> CheckedNumbers:
    """The check rows of those who are there, to which all of them have a number."""
    answers = first[there][:, checked.rows]
    kept = np.isin(checked.publisher, there) & np.isfinite(answers).all(axis=(0, 2))
    publisher = np.searchsorted(there, checked.publisher[kept])
    return CheckedNumbers(answers[:, kept], checked.truth[kept], publisher, TrimmedMean().trimmed(len(there)))


def _estimated(own: int, values: Floats, known: CheckedNumbers) -> tuple[Floats, NumberReview | None]:
    """(input, 1): what one's rule makes of everybody's numbers, and the rule; None if there can be none."""
    mine = known.rows_of[own]
    errors = ((known.answers[:, mine] - known.truth[mine]) ** 2).sum(axis=2)
    squares = errors.mean(axis=1) if len(mine) else np.full(len(values), np.nan)
    weights = weights_by_errors(squares, len(mine))
    middle = weighted_middle(values, weights, known.trim)
    try:
        (review,) = review_numbers(known, [own])
        start = opened_by(review, values, weights)
    except np.linalg.LinAlgError:  # of numbers that are too far apart for single precision
        return middle, None
    return np.where(np.isfinite(start), start, middle), review


def _opened(
    n: int, start: Floats, why: str, weights: Floats | None = None, *, anchored: bool = False
) -> Judgement:
    sure = np.zeros(len(start), dtype=np.float32)
    return Judgement(np.zeros(n) if weights is None else weights, start, sure, anchored, why)
