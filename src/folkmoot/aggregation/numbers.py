"""Peer review of numbers: a judge learns from shown rows how to read everybody's numbers.

The rule of ``panel`` for classes, if a third may lie. It is ridge regression towards the mean answer, from
own rows and those of owners whose numbers go with the median answer. Every answer is first moved to the
nearest that is not among the ``trim`` lowest or highest. With at most ``trim`` liars it stays in the honest
range. Models of one region each are all too low where truths are high. So the estimate may leave this range,
but no further than truths do on the rows of the median accepted owner, whatever was learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from folkmoot.aggregation.interface import Rows
from folkmoot.aggregation.nearby import CELLS, OVERALL, kernel
from folkmoot.aggregation.panel import PUBLIC
from folkmoot.aggregation.ridge import Linear, fit
from folkmoot.aggregation.space import Space, places_in
from folkmoot.arrays import Bools, Floats, Ints

# Times the usual error of a rule on an owner's rows, from which these are left out: without, stretched or
# absurd numbers are learnt from; less would leave out honest owners of hard rows.
_OFF: Final = 2.0
# Times further from the others on the inputs than on rows, from which a participant is not heard: without,
# liars that spare rows more than double the error; less would not hear honest ones on unlike inputs.
_UNLIKE: Final = 2.0
_LEAST_INPUTS: Final = 20  # that it takes to tell that
# Up to so many participants their numbers on their own rows count while vetting, as among classes: without,
# one liar of three is believed.
_FEW: Final = 10
_LEAST_ROWS: Final = 5  # of others: of fewer nothing is learnt
# The weight of a participant is this power of its inverse squared error. Two is better where nobody lies
# (8% of the error), one lets far-away numbers in (+19%).
_POWER: Final = 4.0
_LEAST_ERROR: Final = 1e-3  # squared, in usual errors: nobody is all of an answer
# Standard errors by which unseen rows must be nearer with what the nearest rows say.
_BETTER: Final = 0.5
# Rows for which a typical error is taken to have been seen already: without, luck on a few rows makes one
# participant all (+20% of the error).
_PRIOR: Final = 3.0
# Share of an owner's rows whose truths say how far an estimate may leave the range of the answers. None costs
# a fifth of the error where each knows a region; all of them lets learnt weights stretch (+10% among seven).
_BEYOND: Final = 0.9


@dataclass(frozen=True, eq=False)
class NumberReview:
    """Result of a judge's learning: accepted owners, the rule, and the reason if it cannot tell."""

    judge: int
    accepted: Bools
    linear: Linear | None
    why: str | None
    shares: tuple[float, float] = (1.0, 0.0)
    """Of the rule, and of what the nearest rows say."""


@dataclass(frozen=True, eq=False)
class NumberPanel:
    """Everybody's numbers on rows whose truth is told, and the rules learnt from them so far."""

    answers: Floats  # (participant, row, output)
    truth: Floats  # (row, output), as the owner says
    owner: Ints  # (row,); -1 for public rows. What owners answer to their own rows does not count
    trim: int  # how many may lie
    space: Space | None = None  # how far rows are apart, where that is known
    inputs: Any = None

    @classmethod
    def of(cls, rows: Rows, space: Space | None = None, inputs: Any = None) -> NumberPanel:
        """The panel of shown rows, if a third may lie."""
        truth = np.asarray(rows.truth, dtype=np.float64).reshape(len(rows.truth), -1)
        trim = (len(rows.votes) - 1) // 3
        return cls(without_gaps(rows.votes), truth, rows.owner, trim, space, inputs)

    @cached_property
    def rows_of(self) -> list[Ints]:
        """The rows of each participant."""
        return [np.flatnonzero(self.owner == q) for q in range(len(self.answers))]

    @cached_property
    def _others(self) -> Floats:
        """The answers but those to one's own rows, moved into the range that ``trim`` liars cannot widen."""
        owned = np.flatnonzero(self.owner != PUBLIC)
        others = self.answers.copy()
        others[self.owner[owned], owned] = np.nan
        return moved(others, self.trim)

    @cached_property
    def _heard(self) -> tuple[Floats, Floats]:
        """What is left of the answers, less their mean (row, output, participant), and the mean."""
        mean = np.nanmean(self._others, axis=0)
        return np.nan_to_num(np.moveaxis(self._others - mean, 0, -1)), mean

    def _beyond(self, accepted: Bools) -> tuple[Floats, Floats]:
        """(output,): how far truths lie below and above the answers, but for a tenth of an owner's rows.

        It is the median of accepted owners, which fewer than half of them cannot make larger than that of an
        honest one.
        """
        low, high = (each(self._others, axis=0) for each in (np.nanmin, np.nanmax))
        owners = [rows for rows in self.rows_of if len(rows) and accepted[self.owner[rows[0]]]]
        public = np.flatnonzero(self.owner == PUBLIC)
        owners += [public] if len(public) else []

        def most(beyond: Floats) -> Floats:
            each = [np.quantile(np.maximum(beyond[rows], 0.0), _BEYOND, axis=0) for rows in owners]
            return np.asarray(np.median(each, axis=0))

        return most(low - self.truth), most(self.truth - high)

    @cached_property
    def _usual(self) -> Floats:
        """(output,): how far numbers usually are from the mean answer."""
        return np.maximum(self._median(np.abs(self.truth - self._heard[1])), 1e-12)

    @cached_property
    def _centre(self) -> Floats:
        """(output,): the median of what owners usually say."""
        return self._median(self.truth)

    def _median(self, of_rows: Floats) -> Floats:
        """(output,): the median over owners of their medians, which fewer than half cannot move far."""
        each = [np.median(of_rows[self.owner == q], axis=0) for q in np.unique(self.owner)]
        return np.asarray(np.median(each, axis=0))

    @cached_property
    def _learnt(self) -> dict[bytes, Linear]:
        """Rules by the rows that they were learnt from: many judges learn the same."""
        return {}

    def _nearby(self, accepted: Bools, apart: Floats, values: Floats, heard: Bools) -> Floats:
        """(input, output): numbers by the inverse squared errors on the nearest rows of accepted owners.

        ``apart`` (input, row) is how far each row is. As for classes an error nearby is shrunk to that on all
        rows, and owners' numbers on their own rows count: their models have not seen these.
        """
        there = self._rows(accepted)
        near = kernel(apart[:, there])
        missed = (((self.answers - self.truth) / self._usual) ** 2).mean(axis=2)[:, there]
        overall = missed.mean(axis=1)
        error = (near @ missed.T + OVERALL * overall) / (near.sum(axis=1, keepdims=True) + OVERALL)
        weights = np.maximum(error, _LEAST_ERROR) ** -_POWER * heard
        shares = weights / weights.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("in,nio->io", shares, values, optimize=True))

    def _near_inputs(self, accepted: Bools, values: Floats, heard: Bools) -> Floats:
        if self.space is None:
            raise ValueError("nothing is near without inputs")
        step = max(1, CELLS // max(len(self.owner), 1))
        parts = []
        for start in range(0, values.shape[1], step):
            some = slice(start, min(start + step, values.shape[1]))
            apart = places_in(self.space, self.inputs, some)
            parts.append(self._nearby(accepted, apart, values[:, some], heard))
        return np.concatenate(parts)

    def _shares(self, accepted: Bools, linear: Linear) -> tuple[float, float]:
        """What mixes the rule with what the nearest rows say, if rows that neither has seen bear that out."""
        if self.space is None:
            return 1.0, 0.0
        rows = self._rows(accepted)
        key = accepted.tobytes()
        if key not in self._mixed:
            apart = self.space.between()
            np.fill_diagonal(apart, np.inf)
            everybody = np.ones(len(self.answers), dtype=np.bool_)
            near = self._nearby(accepted, apart[rows], self.answers[:, rows], everybody)
            unseen = linear.unseen.reshape(len(rows), -1)
            target, local = ((each - self._centre) / self._usual for each in (self.truth[rows], near))
            from scipy.optimize import nnls  # heavy, and public aggregations do without

            both = nnls(np.stack([unseen.ravel(), local.ravel()], axis=1), target.ravel())[0]
            gain = ((unseen - target) ** 2).mean(axis=1) - (
                (both[0] * unseen + both[1] * local - target) ** 2
            ).mean(axis=1)
            sure = gain.mean() > _BETTER * gain.std() / np.sqrt(len(gain))
            self._mixed[key] = (float(both[0]), float(both[1])) if sure else (1.0, 0.0)
        return self._mixed[key]

    @cached_property
    def _mixed(self) -> dict[bytes, tuple[float, float]]:
        return {}

    def rows_accepted(self, judge: int) -> Ints:
        """Public rows, and those of owners whose numbers a judge accepts."""
        return self._rows(self._vetted(judge)[0])

    def review(self, judge: int) -> NumberReview:
        """Learn as a judge."""
        accepted, linear = self._vetted(judge)
        mine = self.rows_of[judge]
        others = accepted & (np.arange(len(accepted)) != judge)
        if linear is None or len(self._rows(others)) < _LEAST_ROWS:
            why = f"numbers of only {int(others.sum())} others agree with its peers' answers"
            return NumberReview(judge, accepted, None, why)
        why_not = None
        if len(mine) > 1:
            apart, mean = (each[mine] for each in self._heard)
            unseen = self._scores(self._rule(others), apart, mean)
            missed, by_mean = (
                (((each - self.truth[mine]) / self._usual) ** 2).mean(axis=1) for each in (unseen, mean)
            )
            worse = missed - by_mean
            if worse.mean() > worse.std(ddof=1) / np.sqrt(len(mine)):
                ratio = np.sqrt(missed.mean() / max(by_mean.mean(), 1e-12))
                why_not = f"on its own {len(mine)} rows the rule is off by {ratio:.2f} of the mean answer"
        shares = self._shares(accepted, linear)
        return NumberReview(judge, accepted, linear, why_not if shares[1] == 0 else None, shares)

    def weight(self, review: NumberReview) -> Floats:
        """(participant,): how far the estimate moves when a number moves by 1, if nobody's is cut off."""
        if review.linear is None:
            return np.zeros(len(self.answers))
        weight = review.linear.weights[:, 0]
        return np.asarray(weight - weight.mean() + review.linear.pulls[0] / len(self.answers))

    def estimate(self, review: NumberReview, values: Floats) -> Floats:
        """(input, output): one number of everybody's (participant, input, output).

        A participant further from the others than on rows, by twice the usual, is not heard.
        """
        if review.linear is None:
            raise ValueError(f"participant {review.judge} has no rule: {review.why}")
        kept = moved(values, self.trim)
        heard = ~self._unlike(review.judge, values)
        mean = kept[heard].mean(axis=0)
        apart = np.moveaxis(np.where(heard[:, None, None], kept - mean, 0.0), 0, -1)
        said = self._scores(review.linear, apart, mean)
        if review.shares[1] > 0:
            near = self._near_inputs(review.accepted, values, heard)
            said = self._centre + sum(
                share * (each - self._centre) for share, each in zip(review.shares, (said, near), strict=True)
            )
        below, above = self._beyond(review.accepted)
        return np.asarray(np.clip(said, kept.min(axis=0) - below, kept.max(axis=0) + above))

    def _unlike(self, judge: int, values: Floats) -> Bools:
        """(participant,): who answers these inputs unlike rows."""
        if values.shape[1] < _LEAST_INPUTS:
            return np.zeros(len(values), dtype=np.bool_)
        on_inputs, on_rows = (distances(each, self._usual) for each in (values, self.answers))
        ratio = on_inputs / np.maximum(on_rows, 1e-9)
        odd = ratio > _UNLIKE * np.median(ratio)
        odd[judge] = False
        return np.asarray(odd)

    def _vetted(self, judge: int) -> tuple[Bools, Linear | None]:
        """Whose numbers go with the median answer, and the rule of their rows."""
        heard = self.answers if len(self.answers) <= _FEW else self._others
        expected = np.nanmedian(heard, axis=0)  # by the mean, far lies cost 3 to 6% more
        missed = ((self.truth - expected) / self._usual) ** 2
        off = np.array([np.sqrt(missed[rows].mean()) if len(rows) else np.inf for rows in self.rows_of])
        usual = np.median(off[np.isfinite(off)]) if np.isfinite(off).any() else 0.0
        goes = np.array([_goes(expected[rows], self.truth[rows]) for rows in self.rows_of])
        accepted = goes & (off < _OFF * usual)
        accepted[judge] = len(self.rows_of[judge]) > 0
        return accepted, self._rule(accepted) if len(self._rows(accepted)) >= _LEAST_ROWS else None

    def _rows(self, accepted: Bools) -> Ints:
        return np.flatnonzero((self.owner == PUBLIC) | accepted[self.owner])

    def _rule(self, accepted: Bools) -> Linear:
        key = accepted.tobytes()
        if key not in self._learnt:
            rows = self._rows(accepted)
            apart, mean = (each[rows] for each in self._heard)
            target = ((self.truth[rows] - self._centre) / self._usual).reshape(-1, 1)
            single = len(self.owner) + rows  # public rows are left out one by one
            part = np.repeat(np.where(self.owner[rows] == PUBLIC, single, self.owner[rows]), mean.shape[1])
            self._learnt[key] = fit(*self._shaped(apart, mean), target, part)
        return self._learnt[key]

    def _scores(self, linear: Linear, apart: Floats, mean: Floats) -> Floats:
        scores = linear.scores(*self._shaped(apart, mean)).reshape(mean.shape)
        return np.asarray(scores * self._usual + self._centre)

    def _shaped(self, apart: Floats, mean: Floats) -> tuple[Floats, Floats]:
        """A row for each number of a row: what everybody says beside the mean, and the mean."""
        features = (apart / self._usual[:, None]).reshape(-1, apart.shape[-1])
        return features, ((mean - self._centre) / self._usual).reshape(1, -1, 1)


def _goes(expected: Floats, told: Floats) -> bool:
    """Whether the numbers of one owner are nearer to what is expected than in most other orders."""
    together = (expected - expected.mean(axis=0)) * (told - told.mean(axis=0)) if len(told) > 1 else told[:0]
    return bool(together.sum() > 0)


def without_gaps(values: Floats) -> Floats:
    """(participant, input, output): a missing number is the median of the others', which says nothing new."""
    cube = values.reshape(*values.shape[:2], -1).astype(np.float64)
    gap = np.isnan(cube)
    if not gap.any():
        return cube
    filled = np.where(gap.all(axis=0), 0.0, cube)
    return np.asarray(np.where(np.isnan(filled), np.nanmedian(filled, axis=0), filled))


def moved(values: Floats, trim: int) -> Floats:
    """Values of axis 0 with those among the ``trim`` lowest or highest moved to the next; NaN stay NaN."""
    order = np.sort(values, axis=0)  # NaN come last
    last = (~np.isnan(values)).sum(axis=0, keepdims=True) - 1
    cut = np.minimum(trim, last // 2)
    low, high = (np.take_along_axis(order, place, axis=0) for place in (cut, last - cut))
    return np.asarray(np.clip(values, low, high))


def weights_by_errors(squares: Floats, rows: int) -> Floats:
    """(peer,): what each peer's number counts for, by its mean squared error on ``rows`` rows.

    An error that is not known counts as the largest. If none is above it, all count alike.
    """
    known = np.isfinite(squares)
    if not rows or not known.any():
        return np.ones(len(squares))
    filled = np.where(known, squares, squares[known].max())
    typical = float(np.median(filled)) or 1.0
    return np.asarray(((rows * filled / typical + _PRIOR) / (rows + _PRIOR)) ** -_POWER)


def weighted_middle(values: Floats, weights: Floats, trim: int) -> Floats:
    """The weighted mean over axis 0, in the range that ``trim`` liars cannot widen.

    A number counts less, the further it is from the median: by 1 / (1 + (distance / usual distance)^2). This
    takes a fifth off the error among liars that are far away. It costs 1% if nobody lies.
    """
    kept = moved(values, trim)
    middle = np.median(values, axis=0)
    apart = np.abs(values - middle)
    usual = np.maximum(np.median(apart, axis=0), 1e-12)
    each = weights[:, None, None] / (1 + (apart / usual) ** 2)
    mean = (each * values).sum(axis=0) / each.sum(axis=0)
    return np.asarray(np.clip(mean, kept.min(axis=0), kept.max(axis=0)))


def distances(values: Floats, usual: Floats) -> Floats:
    """(participant,): how far each is from the median number, in units of the usual; the mean of inputs."""
    apart = np.abs(values - np.median(values, axis=0)) / usual
    return np.asarray(np.minimum(apart, 1e6).mean(axis=(1, 2)))
