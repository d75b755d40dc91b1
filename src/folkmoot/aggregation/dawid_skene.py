"""Dawid-Skene: truth and skill estimated in turn from the votes alone (expectation-maximisation).

A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM algorithm",
Applied Statistics 28 (1979). Participant k, when j is true, votes l with the chance confusion[k, j, l],
independently of the others:

    posterior[i, j]     ~  prior[j]  prod_k  confusion[k, j, vote of k on i]     (2.5)
    confusion[k, j, l]  ~  s + sum of posterior[i, j] over the i where k voted l (2.3)
    prior[j]            ~  s + sum_i posterior[i, j]                             (2.4)

with s = 0 in the paper. Here s = 0.01, which makes it the posterior mode under Dirichlet(1 + s) priors. No
chance is ever 0, and one odd vote cannot veto all others. Here the truth of an input is also among its given
answers. So memory and time follow the votes and not the square of the number of classes.

With one coin, a participant is right with one chance whatever is true (Laplace's estimate), and each wrong
class is as likely as any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from folkmoot import checks
from folkmoot.aggregation.interface import NOTHING, Aggregation, Answers, Known, ballots, counted, decided
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.votes import NO_VOTE, class_count

SMOOTHING: Final = 0.01  # s, in votes per cell
_TIE: Final = 1e-9  # posteriors that are closer are tied
# A tie can be a saddle of the likelihood, where errors of 1e-16 grow with every iteration until they break
# it. So posteriors are kept to 12 decimals.
_DECIMALS: Final = 12


@dataclass(frozen=True)
class DawidSkene(Aggregation):
    """The likeliest class, where truth and the participants' skills are estimated together from the votes.

    It is better than the plurality where participants differ in skill or where some lie. It can be worse
    with few inputs, or where participants err together.

    Parameters
    ----------
    one_coin : bool, optional
        Whether a participant has one accuracy instead of a confusion matrix, which needs more inputs.
        Default: whether there are fewer inputs than cells in the matrix, classes squared.
    iterations : int, default 100
        Stop after this many.
    tolerance : float, default 1e-6
        Stop when no posterior moves by more than this.
    unvoted : bool, default False
        Whether the truth of an input may be a class that nobody voted for there. If the truth of some inputs
        is known and most always lie, the others are then read backwards.

    Examples
    --------
    >>> from folkmoot import aggregate
    >>> from folkmoot.aggregation import DawidSkene, Plurality
    >>> from folkmoot.datasets.synthetic import group_votes
    >>> votes, truth, accuracies = group_votes([(3, 0.9), (2, 0.6)], inputs=500)
    >>> found = aggregate(votes, DawidSkene())
    >>> found.skills.round(2)  # nobody told it 0.9, 0.9, 0.9, 0.6 and 0.6
    array([0.93, 0.92, 0.86, 0.66, 0.6 ])
    >>> print((found.decision == truth).mean(), (aggregate(votes, Plurality()).decision == truth).mean())
    0.982 0.956
    """

    one_coin: bool | None = None
    iterations: int = 100
    tolerance: float = 1e-6
    unvoted: bool = False

    def __post_init__(self) -> None:
        checks.integer("iterations", self.iterations, least=1)
        checks.probability("tolerance", self.tolerance)

    def aggregate(self, table: Array, known: Known = NOTHING) -> Answers:
        """Estimate truth and skills in turn; first from known truth, or else from the shares of the votes."""
        truth = known.truth
        told = [table] if truth is None else [table, truth[None]]
        if self.unvoted:
            every = np.arange(class_count(table, known.classes, truth))
            told.append(np.broadcast_to(every[:, None], (len(every), table.shape[1])))
        choices, places = ballots(np.vstack(told))
        right = None if truth is None else places[len(table)]
        places = places[: len(table)]
        model = _Model.of(choices, places, known.classes, self.one_coin)
        counts = counted(places, choices.shape[1])
        heard = counts.sum(axis=1) > 0
        if right is None or (right == NO_VOTE).all():
            belief = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        else:  # skills are what they are where the truth is known: most votes may be lies
            belief = _clamped(model.expected(_clamped(np.zeros_like(counts), right)), right)
        for _ in range(self.iterations):
            before, belief = belief, _clamped(model.expected(belief), right)
            if np.abs(belief - before).max(initial=0.0) <= self.tolerance:
                break
        return decided(choices, belief, belief, heard, _TIE, model.skills(belief))


def _clamped(belief: Floats, right: Ints | None) -> Floats:
    """The belief, certain where the truth is known."""
    if right is None:
        return belief
    told = np.flatnonzero(right != NO_VOTE)
    belief[told] = 0.0
    belief[told, right[told]] = 1.0
    return belief


class _Model(NamedTuple):
    """The votes, each with every choice of its input: what the vote says for that choice."""

    shape: tuple[int, int]  # (input, choice)
    participants: int
    classes: int
    one_coin: bool
    said_by: Ints  # (vote, choice): who, in order of votes
    where: Ints  # the cell of (input, choice) that an entry speaks of
    cell: Ints  # the cell of (participant, true class, vote), numbered as they occur
    row: Ints  # the same of (participant, true class)
    row_of_cell: Ints
    hit: Array  # whether the vote names the choice
    class_of: Ints  # of each (input, choice) cell; -1 for none

    @classmethod
    def of(cls, choices: Ints, places: Ints, classes: int | None, one_coin: bool | None) -> _Model:
        inputs, width = choices.shape
        participant, column = np.nonzero(places != NO_VOTE)
        entry, choice = np.nonzero(choices[column] != NO_VOTE)
        who, at = participant[entry], column[entry]
        true, said = choices[at, choice], choices[at, places[who, at]]
        span = int(choices.max(initial=0)) + 1
        row = np.unique(who * span + true, return_inverse=True)[1]
        cells, cell = np.unique(row * span + said, return_inverse=True)
        many = max(span, 2) if classes is None else classes
        return cls(
            shape=(inputs, width),
            participants=len(places),
            classes=many,
            one_coin=inputs < many**2 if one_coin is None else one_coin,
            said_by=who,
            where=at * width + choice,
            cell=cell,
            row=row,
            row_of_cell=cells // span,
            hit=true == said,
            class_of=choices.ravel(),
        )

    def expected(self, belief: Floats) -> Floats:
        """The posterior by (2.5), with the confusion by (2.3) and the prior by (2.4) that a belief gives."""
        weight = belief.ravel()
        there = self.class_of != NO_VOTE
        common = SMOOTHING + np.bincount(self.class_of[there], weights=weight[there], minlength=self.classes)
        logs = np.full(weight.size, -np.inf)
        logs[there] = np.log(common / common.sum())[self.class_of[there]]
        logs += np.bincount(self.where, weights=self._logs(weight[self.where]), minlength=weight.size)
        logs = logs.reshape(self.shape)
        best = logs.max(axis=1, keepdims=True)
        odds = np.exp(logs - np.where(np.isfinite(best), best, 0.0))
        total = odds.sum(axis=1, keepdims=True)
        shares = np.divide(odds, total, out=np.zeros_like(odds), where=total > 0)
        return np.asarray(np.round(shares, _DECIMALS))

    def _logs(self, weight: Floats) -> Floats:
        """The logarithm of the chance of each vote, if the choice were true."""
        if self.one_coin:
            right = np.bincount(self.said_by, weights=weight * self.hit, minlength=self.participants)
            total = np.bincount(self.said_by, weights=weight, minlength=self.participants)
            skill = ((right + 1) / (total + self.classes))[self.said_by]
            return np.asarray(np.log(np.where(self.hit, skill, (1 - skill) / (self.classes - 1))))
        cells = SMOOTHING + np.bincount(self.cell, weights=weight)
        rows = SMOOTHING * self.classes + np.bincount(self.row, weights=weight)
        return np.asarray(np.log(cells / rows[self.row_of_cell])[self.cell])

    def skills(self, belief: Floats) -> Floats:
        """(participant,): the expected share of votes that are right; NaN for one without votes."""
        weight = belief.ravel()[self.where]
        right = np.bincount(self.said_by, weights=weight * self.hit, minlength=self.participants)
        total = np.bincount(self.said_by, weights=weight, minlength=self.participants)
        shares: Floats = np.divide(right, total, out=np.full(self.participants, np.nan), where=total > 0)
        return shares
