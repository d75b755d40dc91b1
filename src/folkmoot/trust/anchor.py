"""What a participant knows of its own model from rows it held out: the only thing that trust is hung on.

The accuracy p has a Beta posterior: with C colours a uniform prior over (right, wrong in one of C - 1
ways) is Beta(1, C - 1), and r right answers of h make it Beta(1 + r, C - 1 + h - r). Both parameters are
whole numbers, so its tail is a binomial sum and needs no special function:

    P(p > x) = P(Binomial(C - 1 + h, x) <= r)

The confusion matrix has a Dirichlet posterior for every true colour. A holdout of ten rows says nothing of
most cells, so its prior is the matrix that p alone implies, worth C rows of each colour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.accuracy import laplace_accuracy
from folkmoot.arrays import Floats
from folkmoot.votes import UNCOLOURED


@dataclass(frozen=True)
class Anchor:
    """What a participant knows of its own model: the posterior of its accuracy, from rows that it held out.

    Make one with ``of_counts``, ``of_confusion`` or ``of_holdout``, which check what they are given.

    Parameters
    ----------
    right : int
        How many held-out rows the model answered rightly.
    held_out : int
        How many rows were held out.
    classes : int
        The number of colours C.
    counts : tuple of tuple of int, shape (true colour, answer), optional
        How often each answer was given to each true colour, when the rows are known one by one.

    Examples
    --------
    >>> from folkmoot.trust import Anchor
    >>> anchor = Anchor.of_counts(right=8, held_out=10)
    >>> anchor.accuracy
    0.75
    >>> anchor.better_than_chance(level=0.8)
    True
    """

    right: int
    held_out: int
    classes: int
    counts: tuple[tuple[int, ...], ...] | None = None

    @classmethod
    def of_counts(cls, right: int, held_out: int, classes: int = 2) -> Anchor:
        """From the number of right answers alone."""
        rows = checks.integer("held_out", held_out, least=0)
        good = checks.integer("right", right, least=0)
        if good > rows:
            raise ValueError(f"right must satisfy right <= held_out: got right={good}, held_out={rows}")
        return cls(good, rows, checks.integer("classes", classes, least=2))

    @classmethod
    def of_confusion(cls, counts: npt.ArrayLike) -> Anchor:
        """From how often each answer was given to each true colour: (true colour, answer)."""
        table = np.asarray(counts)
        if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
            raise ValueError(f"counts must be a square table (true colour, answer): got shape {table.shape}")
        if table.dtype.kind not in "iu" or table.min() < 0:
            raise ValueError("counts must be whole numbers of rows, none negative")
        rows: Any = table.tolist()
        return cls(int(np.trace(table)), int(table.sum()), len(table), tuple(map(tuple, rows)))

    @classmethod
    def of_holdout(cls, answers: npt.ArrayLike, truth: npt.ArrayLike, classes: int) -> Anchor:
        """From answers to held-out rows and their true colours; rows without an answer (-1) are left out."""
        said, true = np.asarray(answers), np.asarray(truth)
        if said.shape != true.shape or said.ndim != 1:
            raise ValueError(
                f"answers and truth must be of one length: got the shapes {said.shape} and {true.shape}"
            )
        classes = checks.integer("classes", classes, least=2)
        table = np.zeros((classes, classes), dtype=np.int64)
        told = said != UNCOLOURED
        bad = [x for x in (said[told], true[told]) if x.size and (x.min() < 0 or x.max() >= classes)]
        if bad:
            raise ValueError(f"answers and truth must satisfy 0 <= class < {classes}: got {bad[0].max()}")
        np.add.at(table, (true[told].astype(np.int64), said[told].astype(np.int64)), 1)
        return cls.of_confusion(table)

    @property
    def accuracy(self) -> float:
        """Posterior mean of the participant's own accuracy, (right + 1) / (held_out + C)."""
        return float(laplace_accuracy(self.right, self.held_out, self.classes))

    @property
    def standard_error(self) -> float:
        """Posterior standard deviation of the participant's own accuracy."""
        mean = self.accuracy
        return math.sqrt(mean * (1 - mean) / (self.held_out + self.classes + 1))

    @property
    def chance(self) -> float:
        """The accuracy of one who answers without looking: 1/C, or more where the holdout is unbalanced.

        With the confusion counts it is how often the answer to one row is the truth of another. Who always
        gives the same answer is then no better than chance, nor is one whose holdout has one colour only.
        """
        even = 1 / self.classes
        if self.counts is None or not self.held_out:
            return even
        table = np.array(self.counts)
        if self.held_out == 1:
            return 1.0
        pairs = int(table.sum(axis=1) @ table.sum(axis=0)) - self.right
        return max(even, pairs / (self.held_out * (self.held_out - 1)))

    def tail(self, x: float) -> float:
        """P(p > x) under the posterior."""
        draws = self.classes - 1 + self.held_out
        level = checks.probability("x", x)
        if level in (0.0, 1.0):
            return 1.0 - level
        # In logarithms: a binomial coefficient of a thousand rows is no double.
        up, down, whole = math.log(level), math.log1p(-level), math.lgamma(draws + 1)
        terms = (
            math.exp(whole - math.lgamma(i + 1) - math.lgamma(draws - i + 1) + i * up + (draws - i) * down)
            for i in range(self.right + 1)
        )
        return min(1.0, math.fsum(terms))

    def better_than_chance(self, level: float = 0.8) -> bool:
        """Whether the participant's model beats chance with a posterior probability above ``level``."""
        return self.tail(self.chance) > checks.probability("level", level)

    @property
    def confusion(self) -> Floats:
        """Posterior mean of (true colour, answer); every row adds up to 1."""
        pseudo = self.pseudo_counts
        return np.asarray(pseudo / pseudo.sum(axis=1, keepdims=True), dtype=np.float64)

    @property
    def pseudo_counts(self) -> Floats:
        """Parameters of the Dirichlet posterior of every row of the confusion matrix."""
        classes, p = self.classes, self.accuracy
        alone = np.full((classes, classes), (1 - p) / (classes - 1))
        np.fill_diagonal(alone, p)
        seen = np.zeros((classes, classes)) if self.counts is None else np.array(self.counts, dtype=float)
        return np.asarray(classes * alone + seen, dtype=np.float64)
