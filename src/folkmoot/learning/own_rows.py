"""Labelled rows of a participant in ``improve`` (docs/improve.md).

By these it weighs its peers on a pool, and decides whether to keep its new model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from scipy.stats import binom

from folkmoot.arrays import Floats, Ints
from folkmoot.comparing.metric import Metric

Footing: TypeAlias = tuple[float, float, float]  # what labels rest on: steady, shared, gain (below)
FIRM: Final[Footing] = (1.0, 1.0, 1.0)  # where nobody has asked
_BY_CHANCE: Final = 0.5  # how likely chance may be right on as many own rows as a safe new model
_WORSE: Final = 0.2  # how likely as many rows lost, of those that changed, must be if nothing were worse
_STEADY: Final = 0.8  # of the labels that half of the rows must come to, too
_SHARED: Final = 0.85  # of the labels: if those who count for it have announced less, more must be gained
_GAIN: Final = 0.06  # of the pool: what labels promising less bring is lost in what chance does


@dataclass(frozen=True, eq=False)
class OwnRows:
    """A participant's own knowledge: its validation rows, their labels, its class counts."""

    places: Ints  # (row,): places of its validation rows among the inputs that all answer
    labels: Ints  # (row,): their right classes
    counts: Floats  # (class,): all its rows, shown or not, by class

    def half(self, side: int) -> OwnRows:
        """Every other validation row of each class."""
        order = np.argsort(self.labels, kind="stable")
        kept = np.zeros(len(order), dtype=np.bool_)
        kept[order[side::2]] = True
        out = np.bincount(self.labels[~kept], minlength=len(self.counts))
        return OwnRows(self.places[kept], self.labels[kept], self.counts - out)

    @property
    def why_not(self) -> str | None:
        """Why these rows cannot weigh peers; None if they can, or if there are no validation rows."""
        if (self.counts > 0).sum() < 2:
            return "its rows are of one class only, so it cannot tell who is right"
        return None


def speaks_against(
    metric: Metric, before: Floats, after: Floats, idle: float, footing: Footing = FIRM
) -> str | None:
    """Say why one's own rows speak against a new model; None if they do not.

    It must be right more often than by chance, or nearer to the rows than their own mean. A one-sided sign
    test on the rows that change must not find it worse than the old model (at 0.2). Both flatter labels: the
    rows have chosen whose labels it learnt. So either half of them must come to the same labels for 80% of
    the pool. By the probabilities that it came to, the labels must be right on 6% more of the pool than what
    its old model says, as a few rows cannot tell whether less is gained or lost; and on more of it than those
    that count for the participant dispute, if they dispute more than 15% of its labels.

    ``before`` (row,): Scores of the old model on own unseen rows: right or not, or the squared error.
    ``after`` (row,): The same of the new one.
    """
    steady, shared, gain = footing
    if steady < _STEADY:
        return (
            f"its labels hang on few of its rows: half of these come to other labels for {1 - steady:.0%} "
            "of the pool"
        )
    if shared < _SHARED and gain < 1 - shared:
        return (
            f"those that count for it announce other labels for {1 - shared:.0%} of the pool, and its own "
            f"promise a gain of {gain:.0%} only"
        )
    if gain < _GAIN:
        return f"the labels promise a gain of {gain:.1%} of the pool over its old model, too little to trust"
    rows = len(after)
    if not metric.higher_is_better:
        if after.mean() >= idle:
            return "the new model is no nearer to its rows than their own mean"
    elif not rows or binom.sf(after.sum() - 1, rows, idle) > _BY_CHANCE:
        return f"the new model is right on {int(after.sum())} of its {rows} rows, no more than by chance"
    sign = 1 if metric.higher_is_better else -1
    change = sign * (np.asarray(after, dtype=np.float64) - before)
    worse, better = int((change < 0).sum()), int((change > 0).sum())
    if worse and binom.sf(worse - 1, worse + better, 0.5) < _WORSE:
        return f"the new model loses {worse} of its {rows} rows and wins {better}"
    return None
