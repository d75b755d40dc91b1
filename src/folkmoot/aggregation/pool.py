"""Opinion pools: probabilities of all participants made into one, class by class.

"mean" is the linear pool (Stone, 1961), the mean of the probabilities. "log" is the logarithmic pool, their
geometric mean, scaled to add up to 1. Only the logarithmic pool does not mind in which order evidence comes
(Genest and Zidek, "Combining probability distributions", Statistical Science 1, 1986).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, get_args

import numpy as np

from folkmoot import checks
from folkmoot.aggregation.interface import NOTHING, Aggregation, Answers, Kind, Known, decided
from folkmoot.aggregation.patterns import patterns
from folkmoot.aggregation.trimmed_mean import mean_of_the_middle
from folkmoot.arrays import Array, Bools, Floats

PoolName = Literal["mean", "log"]
# Logarithms of smaller probabilities are those of this: one participant that rules a class out has no veto.
_LEAST: Final = 1 / 512
_TIE: Final = 1e-9  # probabilities that are closer are tied


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

    Examples
    --------
    >>> from folkmoot import aggregate
    >>> from folkmoot.aggregation import Pool
    >>> said = [[[0.6, 0.4]], [[0.6, 0.4]], [[0.01, 0.99]]]
    >>> aggregate(said, Pool()).probabilities(2).round(2)
    array([[0.4, 0.6]])
    >>> aggregate(said, Pool(trim=1)).probabilities(2).round(2)
    array([[0.6, 0.4]])
    """

    rule: PoolName = "mean"
    trim: int = 0

    takes: ClassVar[tuple[Kind, ...]] = ("probabilities",)

    def __post_init__(self) -> None:
        if self.rule not in get_args(PoolName):
            raise ValueError(f"rule must be 'mean' or 'log': got {self.rule!r}")
        checks.integer("trim", self.trim, least=0)

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
        if self.rule == "mean":
            found = mean_of_the_middle(block, trim)
            return found, ~(found.max(axis=-1) > 0)
        logs = mean_of_the_middle(np.log(np.maximum(block, _LEAST)), trim)
        most = logs.max(axis=-1)
        return np.asarray(np.exp(logs - most[:, None])), most <= np.log(_LEAST)
