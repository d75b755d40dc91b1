"""Whether a participant's held-out rows are like the inputs: if not, its accuracy says little of others.

A specialist is right on its own classes. Measured by its accuracy there, all others look bad, who are right
on inputs that it does not know. Two signs tell a specialist among honest participants from one among liars:

1. Its rows are of other classes than what the others say, with one voice for copies (a chi-squared test).
2. It agrees with them where they name its classes. How frequent a class is does not change how often a model
   names that class where it is right, its recall. So the agreement beyond chance on right answers is known,

       sum over own classes c of m_c (r_c - s_c),

   for m_c answers c, the recall r_c and the share s_c of own votes for c. With lies it is about 0.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from folkmoot.aggregation.holdout import Holdout
from folkmoot.arrays import Array, Floats, Ints
from folkmoot.outcome import most

# How unlikely the classes of the rows must be. More calls like rows unlike, less needs more rows.
_UNLIKELY: Final = 0.001
# Share of the expected agreement from which the others are believed. Less believes liars that are no copies
# (-.008 at .2). More leaves those who know a region, whose recall is lower elsewhere, to themselves (-.05).
_AGREED: Final = 0.3


def of_other_classes(rows: Array, answers: Array) -> bool:
    """Whether rows (class,) are of other classes than answers (class,), both as counts."""
    from scipy.stats import chi2_contingency  # heavy, and public aggregations do without

    there = (rows + answers) > 0
    if not rows.any() or not answers.any() or there.sum() < 2:
        return False
    return bool(chi2_contingency(np.stack([rows, answers])[:, there]).pvalue < _UNLIKELY)


def unlike_rows(own: int, votes: Ints, score: Floats, holdout: Holdout) -> str | None:
    """Why a participant's rows do not tell whom to believe; None if they may.

    ``score`` (class, input) is how many of the others name each class, copies counted once.
    """
    answer = most(score.T, np.asarray(score.any(axis=0)), 1e-9).decision
    rows, answers = holdout.counts.sum(axis=1), np.bincount(answer[answer >= 0], minlength=holdout.classes)
    if not of_other_classes(rows, answers):
        return None
    mine, seen = votes[own], rows > 0
    cast = (mine >= 0) & (answer >= 0)
    agreed = np.bincount(answer[cast & (mine == answer)], minlength=holdout.classes)
    many = np.bincount(answer[cast], minlength=holdout.classes)
    share = np.bincount(mine[cast], minlength=holdout.classes) / max(int(cast.sum()), 1)
    recall = np.diag(holdout.confusion)
    expected = (many * (recall - share))[seen].sum()
    if expected <= 0 or (agreed - many * share)[seen].sum() < _AGREED * expected:
        return None
    return (
        f"its {holdout.rows} held-out rows are of other classes than the inputs, and others agree with it on "
        "these"
    )
