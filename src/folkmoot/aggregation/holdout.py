"""A participant's knowledge of its own model from held-out rows: the posterior of its accuracy.

With C classes a uniform prior over (right, wrong in one of C - 1 ways) is Beta(1, C - 1). Then r right
answers of h make it Beta(1 + r, C - 1 + h - r). The confusion matrix has a Dirichlet posterior for every
true class. Ten rows say nothing of most cells, so its prior is the matrix that the accuracy alone implies,
worth C rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import betaincc

from folkmoot.arrays import Floats, Ints

# How sure one must be that its model beats chance. At .5 models that know nothing find a wrong answer
# (-.06 with 60 weak trees); at .8 good models of few rows are left to the plurality, which liars win (-.19).
SURE: Final = 0.65


@dataclass(frozen=True, eq=False)
class Holdout:
    """How often each answer was given to each true class: (true class, answer)."""

    counts: Ints

    @classmethod
    def of(cls, said: Ints, truth: Ints, classes: int) -> Holdout:
        """From answers to held-out rows and their classes; rows without an answer (-1) are left out."""
        counts = np.zeros((classes, classes), dtype=np.int64)
        there = said >= 0
        np.add.at(counts, (truth[there], said[there]), 1)
        return cls(counts)

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.counts)

    @property
    def right(self) -> int:
        """How many rows the model answers rightly."""
        return int(np.trace(self.counts))

    @property
    def rows(self) -> int:
        """How many it has answered."""
        return int(self.counts.sum())

    @property
    def accuracy(self) -> float:
        """The posterior mean."""
        return (self.right + 1) / (self.rows + self.classes)

    @property
    def standard_error(self) -> float:
        """The posterior standard deviation of the accuracy."""
        return math.sqrt(self.accuracy * (1 - self.accuracy) / (self.rows + self.classes + 1))

    @property
    def chance(self) -> float:
        """The accuracy of answers that know nothing: how often the answer to one row is the truth of another.

        It is at least 1/C. A model that always gives the same answer is then no better than chance.
        """
        if self.rows < 2:
            return 1.0
        pairs = int(self.counts.sum(axis=1) @ self.counts.sum(axis=0)) - self.right
        return max(1 / self.classes, pairs / (self.rows * (self.rows - 1)))

    @property
    def above_chance(self) -> float:
        """How likely the model is better than chance."""
        return float(betaincc(1 + self.right, self.classes - 1 + self.rows - self.right, self.chance))

    @property
    def confusion(self) -> Floats:
        """(true class, answer): the posterior mean; every row adds up to 1."""
        classes, p = self.classes, self.accuracy
        alone = np.full((classes, classes), (1 - p) / (classes - 1))
        np.fill_diagonal(alone, p)
        pseudo = classes * alone + self.counts
        return np.asarray(pseudo / pseudo.sum(axis=1, keepdims=True), dtype=np.float64)
