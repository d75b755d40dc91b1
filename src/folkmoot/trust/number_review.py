"""Peer review of numbers: a participant learns from checked answers how to read its peers' numbers.

The rule of ``review`` for labels, where a third may lie: ridge regression towards the mean answer, from one's
own rows and those of publishers whose numbers go with it. Every answer is first moved to the nearest that is
not among the ``trim`` lowest or highest, and so is the estimate: with at most ``trim`` liars both stay in the
honest range, whatever was learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.cores import one_thread
from folkmoot.trust.checked import PUBLIC, folds
from folkmoot.trust.ridge import Linear, fit_folds
from folkmoot.trust.shown import ShownView, yes

_SWEEPS: Final = 3
_OFF: Final = 2.0  # times the usual error of a rule on a publisher's rows, from which these are left out
_SPREAD: Final = 6.0  # times the usual distance from the mean, beyond which a number says no more
_UNLIKE: Final = 2.0  # times further from the others on the batch than on checked rows: not heard
_LEAST_BATCH: Final = 20  # inputs that it takes to tell that
_SOME: Final = 1000  # numbers that the strength of a rule is chosen on
_LEAST_ROWS: Final = 5
_POWER: Final = 4  # of the inverse squared error that a weight is
_PRIOR: Final = 3.0  # rows for which a typical error is taken to have been seen already


@dataclass(frozen=True, eq=False)
class CheckedNumbers:
    """What everybody answered to rows whose numbers somebody vouches for.

    Parameters
    ----------
    answers : ndarray of float, shape (participant, row, output)
        Everybody's numbers.
    truth : ndarray of float, shape (row, output)
        The right ones, as claimed.
    publisher : ndarray of int, shape (row,)
        Who claims each; -1 (``PUBLIC``) where everybody takes it for right. What a publisher answers to its
        own rows does not count.
    trim : int
        How many of the participants may lie: fewer than half of them.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust import CheckedNumbers
    >>> checked = CheckedNumbers(np.zeros((4, 8, 1)), np.zeros((8, 1)), np.arange(8) % 4, trim=1)
    >>> checked.participants
    4
    """

    answers: Floats
    truth: Floats
    publisher: Ints
    trim: int

    def __post_init__(self) -> None:
        n, rows, outputs = self.answers.shape
        if self.truth.shape != (rows, outputs) or self.publisher.shape != (rows,):
            raise ValueError(
                f"answers of {rows} rows need a truth of the shape {(rows, outputs)} and as many publishers: "
                f"got the shapes {self.truth.shape} and {self.publisher.shape}"
            )
        if not 0 <= checks.integer("trim", self.trim) < n / 2:
            raise ValueError(
                f"trim must satisfy 0 <= trim < {n} / 2, half of the participants: got {self.trim}"
            )

    @property
    def participants(self) -> int:
        """How many there are."""
        return len(self.answers)

    @cached_property
    def rows_of(self) -> list[Ints]:
        """The rows of each participant."""
        return [np.flatnonzero(self.publisher == q) for q in range(self.participants)]

    @cached_property
    def heard(self) -> tuple[Floats, Floats]:
        """What is left of the answers, less their mean (row, output, participant), and the mean.

        Publishers are left out on their own rows.
        """
        claimed = np.flatnonzero(self.publisher != PUBLIC)
        others = self.answers.copy()
        others[self.publisher[claimed], claimed] = np.nan
        kept = moved(others, self.trim)
        mean = np.nanmean(kept, axis=0)
        return np.nan_to_num(np.moveaxis(kept - mean, 0, -1)), mean

    @cached_property
    def usual(self) -> Floats:
        """(output,): how far numbers usually are from the mean answer: the median over publishers."""
        return np.maximum(self._median(np.abs(self.truth - self.heard[1])), 1e-12)

    @cached_property
    def centre(self) -> Floats:
        """(output,): the median of what publishers usually claim."""
        return self._median(self.truth)

    def _median(self, of_rows: Floats) -> Floats:
        """(output,): the median over publishers of their medians, which fewer than half cannot move far."""
        each = [np.median(of_rows[self.publisher == q], axis=0) for q in np.unique(self.publisher)]
        return np.asarray(np.median(each, axis=0))

    @cached_property
    def apart(self) -> Floats:
        """(participant,): how far it is from the middle of all answers, on average."""
        return distances(self.answers, self.usual)

    @cached_property
    def learnt(self) -> dict[bytes, Linear]:
        """Rules by the rows that they were learnt from: many judges learn the same."""
        return {}


@dataclass(frozen=True, eq=False)
class NumberReview(ShownView):
    """One participant's rule: how it reads everybody's numbers.

    Parameters
    ----------
    own : int
        The participant whose rule it is.
    anchored : bool
        Whether its own rows do not speak against a rule that has not seen them.
    accepted : ndarray of bool, shape (participant,)
        Whose published rows it learnt from.
    weight : ndarray of float, shape (participant,)
        How far the estimate moves when a participant's number moves by 1, if nobody's is cut off.
    why : str
        One sentence: on what the rule rests, or why there is none.
    checked : CheckedNumbers
        What it was learnt from.
    linear : Linear or None
        The rule; None where there is none.

    See Also
    --------
    review_numbers : Makes it.

    Examples
    --------
    Three of five see the number, two see nothing of it.

    >>> import numpy as np
    >>> from folkmoot.trust import CheckedNumbers, review_numbers
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(160, 1))
    >>> answers = truth * np.array([1, 0, 1, 0, 1])[:, None, None] + 0.5 * rng.normal(size=(5, 160, 1))
    >>> checked = CheckedNumbers(answers[:, :60], truth[:60], np.arange(60) % 5, trim=0)
    >>> review = review_numbers(checked, [0])[0]
    >>> new = answers[:, 60:]
    >>> off = [np.abs(each - truth[60:]).mean() for each in (review.estimate(new), new.mean(axis=0))]
    >>> bool(off[0] < 0.9 * off[1]), bool(review.weight[[0, 2, 4]].min() > review.weight[[1, 3]].max())
    (True, True)
    """

    own: int
    anchored: bool
    accepted: Bools
    weight: Floats
    why: str
    checked: CheckedNumbers
    linear: Linear | None

    def _beside(self) -> dict[str, list[str]]:
        return {"its rows accepted": yes(self.accepted)}

    def estimate(self, values: Floats) -> Floats:
        """Make one number of everybody's.

        A participant further from the others than on checked rows, by twice the usual, is not heard.

        Parameters
        ----------
        values : ndarray of float, shape (participant, input, output)
            Numbers of the same participants.

        Returns
        -------
        ndarray of float, shape (input, output)
            The estimates, in the range that ``trim`` liars cannot widen.

        Raises
        ------
        ValueError
            If it is not anchored, or the numbers are of others.
        """
        if self.linear is None or not self.anchored:
            raise ValueError(f"participant {self.own} has no rule: {self.why}")
        checked = self.checked
        if values.ndim != 3 or values.shape[::2] != checked.answers.shape[::2]:
            outputs = checked.truth.shape[1]
            raise ValueError(
                f"values must be numbers of {checked.participants} participants with {outputs} outputs, as "
                f"the checked answers are: got the shape {values.shape}"
            )
        kept = moved(values, checked.trim)
        heard = ~self._unlike(values)
        mean = kept[heard].mean(axis=0)
        apart = np.moveaxis(np.where(heard[:, None, None], kept - mean, 0.0), 0, -1)
        return np.clip(_scores(checked, self.linear, apart, mean), kept.min(axis=0), kept.max(axis=0))

    def _unlike(self, values: Floats) -> Bools:
        """(participant,): who answers these inputs unlike checked rows."""
        if values.shape[1] < _LEAST_BATCH:
            return np.zeros(len(values), dtype=np.bool_)
        ratio = distances(values, self.checked.usual) / np.maximum(self.checked.apart, 1e-9)
        odd = ratio > _UNLIKE * np.median(ratio)
        odd[self.own] = False
        return np.asarray(odd)


def review_numbers(checked: CheckedNumbers, judges: Sequence[int] | None = None) -> list[NumberReview]:
    """Let participants learn from checked answers, each for itself.

    Parameters
    ----------
    checked : CheckedNumbers
        Answers, claimed numbers, and who claims them.
    judges : sequence of int, optional
        Who learns. Default: everybody.

    Returns
    -------
    list of NumberReview
        One for each judge.

    Examples
    --------
    Five participants; the first is twice as far off as the others, and the last always too high by 2.

    >>> import numpy as np
    >>> from folkmoot.trust import CheckedNumbers, review_numbers
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(100, 1))
    >>> answers = truth + rng.normal(size=(5, 100, 1)) * np.array([2, 1, 1, 1, 1])[:, None, None]
    >>> answers[4] += 2
    >>> review = review_numbers(CheckedNumbers(answers, truth, np.arange(100) % 5, trim=1), [0])[0]
    >>> print(review.why)
    anchored: learnt from 100 rows of 5 publishers; on its own 20 rows it is off by 0.81 of the mean answer
    """
    who = range(checked.participants) if judges is None else judges
    with one_thread():
        return [_review(own, checked) for own in who]


def moved(values: Floats, trim: int) -> Floats:
    """Values of axis 0 with those among the ``trim`` lowest or highest moved to the next; nan stay nan."""
    order = np.sort(values, axis=0)  # nan come last
    last = (~np.isnan(values)).sum(axis=0, keepdims=True) - 1
    cut = np.minimum(trim, last // 2)
    low, high = (np.take_along_axis(order, place, axis=0) for place in (cut, last - cut))
    return np.asarray(np.clip(values, low, high))


def weights_by_errors(squares: Floats, rows: int) -> Floats:
    """(peer,): what each peer's number counts for, by its mean squared error on ``rows`` rows.

    An error that is not known counts as the largest. Where none is, all count alike.
    """
    known = np.isfinite(squares)
    if not rows or not known.any():
        return np.ones(len(squares))
    filled = np.where(known, squares, squares[known].max())
    typical = float(np.median(filled)) or 1.0
    return np.asarray(((rows * filled / typical + _PRIOR) / (rows + _PRIOR)) ** -float(_POWER))


def weighted_middle(values: Floats, weights: Floats, trim: int) -> Floats:
    """The weighted mean over axis 0, of values moved into the range that ``trim`` liars cannot widen."""
    kept = moved(values, trim)
    mean = np.tensordot(weights / weights.sum(), kept, axes=1)
    return np.asarray(np.clip(mean, kept.min(axis=0), kept.max(axis=0)))  # which rounding must not leave


def opened_by(review: NumberReview, values: Floats, weights: Floats) -> Floats:
    """(input, output): what one opens a talk with: its estimate, or by weights if it does not anchor."""
    if review.anchored:
        return review.estimate(values)
    return weighted_middle(values, weights, review.checked.trim)


def distances(values: Floats, usual: Floats) -> Floats:
    """(participant,): how far each is from the median number, in units of the usual; the mean of inputs."""
    apart = np.abs(values - np.median(values, axis=0)) / usual
    return np.asarray(np.minimum(apart, 1e6).mean(axis=(1, 2)))


def _review(own: int, checked: CheckedNumbers) -> NumberReview:
    n = checked.participants
    accepted, linear = _vetted(own, checked)
    mine = checked.rows_of[own]
    others = accepted & (np.arange(n) != own)
    nothing = np.zeros(n)
    if linear is None or len(_rows(checked, others)) < _LEAST_ROWS:
        why = f"not anchored: numbers of only {int(others.sum())} others agree with its peers' answers"
        return NumberReview(own, False, accepted, nothing, why, checked, None)
    apart, mean = checked.heard
    unseen = _scores(checked, _learnt(checked, others), apart[mine], mean[mine])
    missed, by_mean = (
        (((each - checked.truth[mine]) / checked.usual) ** 2).mean(axis=1) for each in (unseen, mean[mine])
    )
    worse = missed - by_mean
    against = len(mine) > 1 and worse.mean() > worse.std(ddof=1) / np.sqrt(len(mine))
    ratio = np.sqrt(missed.mean() / max(by_mean.mean(), 1e-12)) if len(mine) else np.nan
    known = (
        f"on its own {len(mine)} rows it is off by {ratio:.2f} of the mean answer"
        if len(mine)
        else ("it has no rows of its own to try it on")
    )
    learnt = f"learnt from {len(_rows(checked, accepted))} rows of {int(accepted.sum())} publishers; {known}"
    why = f"not anchored: {learnt}" if against else f"anchored: {learnt}"
    pulled = float(linear.pulls[0]) / n
    weight = np.asarray(linear.weights[:, 0], dtype=np.float64)
    return NumberReview(own, not against, accepted, weight - weight.mean() + pulled, why, checked, linear)


def _vetted(own: int, checked: CheckedNumbers) -> tuple[Bools, Linear | None]:
    """Whose numbers go with what a rule expects, beginning with the mean answer; and the rule."""
    n = checked.participants
    apart, expected = checked.heard
    accepted, linear = np.zeros(n, dtype=np.bool_), None
    for _ in range(_SWEEPS):
        missed = ((checked.truth - expected) / checked.usual) ** 2
        off = np.array([np.sqrt(missed[rows].mean()) if len(rows) else np.inf for rows in checked.rows_of])
        usual = np.median(off[np.isfinite(off)]) if np.isfinite(off).any() else 0.0
        goes = np.array([_goes(expected[rows], checked.truth[rows]) for rows in checked.rows_of])
        now = goes & (off < _OFF * usual)
        now[own] = len(checked.rows_of[own]) > 0
        if linear is not None and (now == accepted).all():
            break
        accepted = now
        if len(_rows(checked, accepted)) < _LEAST_ROWS:
            return accepted, None
        linear = _learnt(checked, accepted)
        expected = _scores(checked, linear, apart, checked.heard[1])
    return accepted, linear


def _goes(expected: Floats, claimed: Floats) -> bool:
    """Whether the claims of one publisher are nearer to what is expected than in most other orders."""
    if len(claimed) < 2:
        return False
    together = (expected - expected.mean(axis=0)) * (claimed - claimed.mean(axis=0))
    return bool(together.sum() > 0)


def _rows(checked: CheckedNumbers, accepted: Bools) -> Ints:
    return np.flatnonzero((checked.publisher == PUBLIC) | accepted[checked.publisher])


def _learnt(checked: CheckedNumbers, accepted: Bools) -> Linear:
    key = accepted.tobytes()
    if key not in checked.learnt:
        rows = _rows(checked, accepted)
        apart, mean = checked.heard
        most = _SPREAD * checked.usual
        told = mean[rows] + np.clip(checked.truth[rows] - mean[rows], -most, most)
        features, base = _shaped(checked, apart[rows], mean[rows])
        target = ((told - checked.centre) / checked.usual).reshape(-1, 1).astype(np.float32)
        fold = np.repeat(folds(checked.publisher[rows]), mean.shape[1])
        some = np.arange(len(target))
        if len(some) > _SOME:
            some = np.linspace(0, len(target) - 1, _SOME).astype(np.int64)
        checked.learnt[key] = fit_folds(features, base, target, fold, some)
    return checked.learnt[key]


def _scores(checked: CheckedNumbers, linear: Linear, apart: Floats, mean: Floats) -> Floats:
    features, base = _shaped(checked, apart, mean)
    scores = linear.scores(features, base).reshape(mean.shape).astype(np.float64)
    return np.asarray(scores * checked.usual + checked.centre)


def _shaped(
    checked: CheckedNumbers, apart: Floats, mean: Floats
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """A row for each number of an input: what everybody says beside the mean, and the mean."""
    features = (apart / checked.usual[:, None]).reshape(-1, apart.shape[-1])
    base = ((mean - checked.centre) / checked.usual).reshape(1, -1, 1)
    return features.astype(np.float32), base.astype(np.float32)
