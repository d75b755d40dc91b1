"""Opinion pools: probabilities of all participants made into one, class by class.

"mean" is the linear pool (Stone, 1961), the mean of the probabilities. "log" is the logarithmic pool, their
geometric mean, scaled to add up to 1. Only the logarithmic pool does not mind in which order evidence comes
(Genest and Zidek, "Combining probability distributions", Statistical Science 1, 1986).

By default a participant counts less, the further it is from the others. One that is sure of what nobody else
finds likely then has no more say than a vote. This is one step of a robust mean with Cauchy's weights:

    weight = 1 / (1 + (distance / usual distance)^2)

The distance is that of its probabilities from the medians of all, summed over classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, get_args

import numpy as np

from folkmoot import checks
from folkmoot.aggregation.interface import NOTHING, Aggregation, Answers, Kind, Known, decided
from folkmoot.aggregation.median import middle
from folkmoot.aggregation.patterns import patterns
from folkmoot.aggregation.rule import added
from folkmoot.aggregation.trimmed_mean import mean_of_the_middle
from folkmoot.arrays import Array, Bools, Floats

PoolName = Literal["mean", "log"]
# Logarithms of smaller probabilities are those of this: one participant that rules a class out has no veto.
_LEAST: Final = 1 / 512
_TIE: Final = 1e-9  # probabilities that are closer are tied
# The least usual distance (two that rule each other out are 2 apart): with .05 all but the majority is cut
# off where most agree, and the log loss grows (.45 to .47 with nobody malicious, 1.3 to 1.9 with some); with
# 1 a malicious fourth gains .007.
_USUAL: Final = 0.5


@dataclass(frozen=True)
class Pool(Aggregation):
    """The class that the participants together find likeliest.

    Parameters
    ----------
    rule : {"mean", "log"}, default "mean"
        The mean of the probabilities, or of their logarithms. By "log" a participant that is sure counts for
        more.
    trim : int, default 0
        How many of the lowest and of the highest probabilities of each class to drop. With trim = f, what f
        malicious participants say cannot leave the range of what others say. On an input where that leaves
        nothing of any class, as it can with participants that are sure and disagree, nothing is dropped.
    robust : bool, default True
        Whether participants count less, the further they are from the others. With ``trim`` all that
        are not dropped count alike.

    Examples
    --------
    >>> from folkmoot import aggregate
    >>> from folkmoot.aggregation import Pool
    >>> said = [[[0.6, 0.4]], [[0.6, 0.4]], [[0.01, 0.99]]]
    >>> aggregate(said, Pool(robust=False)).probabilities(2).round(2)
    array([[0.4, 0.6]])
    >>> aggregate(said, Pool()).probabilities(2).round(2)
    array([[0.56, 0.44]])
    >>> aggregate(said, Pool(trim=1)).probabilities(2).round(2)
    array([[0.6, 0.4]])
    """

    rule: PoolName = "mean"
    trim: int = 0
    robust: bool = True

    takes: ClassVar[tuple[Kind, ...]] = ("probabilities",)

    def __post_init__(self) -> None:
        if self.rule not in get_args(PoolName):
            raise ValueError(f"rule must be 'mean' or 'log': got {self.rule!r}")
        checks.integer("trim", self.trim, least=0)
        if not isinstance(self.robust, bool):
            raise TypeError(f"robust must be True or False: got {self.robust!r}")

    def aggregate(self, table: Array, known: Known = NOTHING) -> Answers:  # noqa: ARG002
        """Combine (participant, input, class) probabilities, NaN where a participant gave none."""
        participants, inputs, classes = table.shape
        if 2 * self.trim >= participants:
            raise ValueError(
                f"trim must satisfy 2 trim < {participants}, the number of participants: got {self.trim}"
            )
        said = np.asarray(~np.isnan(table).any(axis=2), dtype=np.bool_)
        pooled = np.zeros((inputs, classes))
        for pattern, columns in patterns(said):
            block = np.moveaxis(table[np.ix_(pattern, columns)], 0, 1)
            trim = min(self.trim, (len(pattern) - 1) // 2)
            found, flat = self._pooled(block, trim)
            found[flat], _ = self._pooled(block[flat], 0)
            pooled[columns] = found
        total = pooled.sum(axis=1, keepdims=True)
        shares = np.divide(pooled, total, out=np.zeros_like(pooled), where=total > 0)
        choices = np.tile(np.arange(classes), (inputs, 1))
        return decided(choices, shares, shares, np.asarray(said.any(axis=0)), _TIE)

    def _pooled(self, block: Floats, trim: int) -> tuple[Floats, Bools]:
        """The pooled probabilities up to scale, and where nothing is left of any class."""
        weights = _nearness(block) if self.robust and not self.trim else None
        if self.rule == "mean":
            found = _mean(block, trim, weights)
            return found, ~(found.max(axis=-1) > 0)
        logs = _mean(np.log(np.maximum(block, _LEAST)), trim, weights)
        most = logs.max(axis=-1)
        return np.asarray(np.exp(logs - most[:, None])), most <= np.log(_LEAST)


def _nearness(block: Floats) -> Floats:
    """(input, participant): weights of (input, participant, class) probabilities, by their distance."""
    apart = added(np.abs(block - middle(block)[:, None]).swapaxes(1, 2))
    usual = np.maximum(middle(apart[:, :, None]), _USUAL)
    return np.asarray(1 / (1 + (apart / usual) ** 2))


def _mean(block: Floats, trim: int, weights: Floats | None) -> Floats:
    """The mean over participants, the same bits in whatever order they come."""
    if weights is None:
        return mean_of_the_middle(block, trim)
    total = added(np.sort(block * weights[:, :, None], axis=1)) / added(np.sort(weights, axis=1))[:, None]
    return np.asarray(np.clip(total, block.min(axis=1), block.max(axis=1)))  # which rounding must not leave
