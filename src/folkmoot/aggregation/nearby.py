"""Votes weighed by how everybody did on the shown rows nearest to an input: whom to believe where.

A rule that is linear in votes cannot see the input. If participants each know their own region of the
inputs, the rows near an input tell who knows this one. The weight of a participant there is the log-odds of
its accuracy on the nearest rows, shrunk to its accuracy on all rows:

    accuracy_j(x) = (sum of K(x, r) right_jr + s * accuracy_j) / (sum of K(x, r) + s)

The kernel K is Gaussian, of the width that its k-th nearest row gives. So what a few rows nearby say counts
fully, and where participants have not voted on any of these their overall accuracy counts. Compare the
dynamic selection of classifiers (Cruz, Sabourin and Cavalcanti, Information Fusion 41, 2018).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from scipy.special import softmax

from folkmoot.aggregation.panel import PUBLIC
from folkmoot.aggregation.space import Space, places_in
from folkmoot.arrays import Bools, Features, Floats, Ints, Singles

# The nearest row that gives the kernel its width. Twenty lose .08 where each of twenty participants knows a
# region and shows ten rows; three to six are alike.
_NEAREST: Final = 5
# Rows that speak for the accuracy on all rows, beside those nearby: one to three are alike.
OVERALL: Final = 2.0
# Rows at chance that speak for every accuracy on all rows.
_CHANCE: Final = 4.0
_FIRM: Final = 0.02  # nobody is believed, or disbelieved, beyond 1 - this
CELLS: Final = 1 << 22  # of distances (input, row) at a time, 32 MiB


@dataclass(frozen=True, eq=False)
class Nearby:
    """One more voter: everybody's votes, weighed by the shown rows that are near."""

    votes: Features
    """(row, participant, class): votes less 1/C, all 0 for no vote."""
    truth: Ints
    owner: Ints
    kept: float
    voice: Ints
    space: Space
    inputs: Any
    table: Features
    """(input, participant, class), as ``votes``."""
    deaf: Bools | None = None
    _memo: dict[tuple[str, bytes], Singles] = field(default_factory=dict)

    def deaf_to(self, who: Bools) -> Nearby:
        """The same for those who do not hear these participants."""
        return replace(self, deaf=who, _memo={})

    def on_rows(self, accepted: Bools) -> Singles:
        """(row, class): what the other rows of accepted owners make of each row, less 1/C."""
        return self._said("rows", accepted)

    def by_others(self, accepted: Bools) -> Floats:
        """(row, class): the same without all rows of the same owner."""
        return self._said("others", accepted).astype(np.float64)

    def on_inputs(self, accepted: Bools) -> Singles:
        """(input, class): what the rows of accepted owners make of each input, less 1/C."""
        return self._said("inputs", accepted)

    @cached_property
    def beside_others(self) -> Bools:
        """(row,): whether another owner has a row as near as any other of its own."""
        apart = self._between.copy()
        np.fill_diagonal(apart, np.inf)
        same = (self.owner[:, None] == self.owner) & (self.owner != PUBLIC)
        nearest, own = (np.where(each, apart, np.inf).min(axis=1, initial=np.inf) for each in (~same, same))
        return np.asarray(nearest <= own)

    def overall(self, accepted: Bools) -> Floats:
        """(participant,): what each counts for where no row is near, as shares of all."""
        there = self._there(accepted)
        found = self._weights(np.zeros((1, len(self.owner))), there)[0]
        return np.asarray(found / max(float(np.abs(found).sum()), 1e-12))

    def weights(self, accepted: Bools, some: Ints | slice) -> Floats:
        """(input, participant): the log-odds that each has near some of the inputs."""
        there = self._there(accepted)
        apart = places_in(self.space, self.inputs, some)
        return self._weights(kernel(np.where(there, apart, np.inf)), there)

    def _there(self, accepted: Bools) -> Bools:
        return np.asarray((self.owner == PUBLIC) | accepted[self.owner])

    def _said(self, what: str, accepted: Bools) -> Singles:
        key = what, accepted.tobytes()
        if key not in self._memo:
            there = self._there(accepted)
            if what == "inputs":
                self._memo[key] = self._on_inputs(there)
            else:
                apart = np.where(there, self._between, np.inf)
                same = self.owner[:, None] == self.owner if what == "others" else np.eye(len(self.owner)) > 0
                same[self.owner == PUBLIC] = False
                np.fill_diagonal(same, True)
                apart[same] = np.inf
                self._memo[key] = self._answer(kernel(apart), there, self.votes)
        return self._memo[key]

    @cached_property
    def _between(self) -> Floats:
        return self.space.between()

    def _on_inputs(self, there: Bools) -> Singles:
        step = max(1, CELLS // max(len(self.owner), 1))
        parts = [self.table[:0, 0]]
        for start in range(0, len(self.table), step):
            some = slice(start, min(start + step, len(self.table)))
            apart = np.where(there, places_in(self.space, self.inputs, some), np.inf)
            parts.append(self._answer(kernel(apart), there, self.table[some]))
        return np.concatenate(parts)

    def _weights(self, kernel: Floats, there: Bools) -> Floats:
        """(input, participant)."""
        classes = self.votes.shape[2]
        cast = self.votes.any(axis=2).astype(np.float64)
        right = self.votes[np.arange(len(self.truth)), :, self.truth] + 1 / classes
        right = np.where(cast > 0, right, 0.0)
        overall = ((right * there[:, None]).sum(axis=0) + _CHANCE / classes) / (
            (cast * there[:, None]).sum(axis=0) + _CHANCE
        )
        accuracy = (kernel @ right + OVERALL * overall) / (kernel @ cast + OVERALL)
        if self.kept < 1:  # labels told at random hide how often they were right
            other = (1 - self.kept) / (classes - 1)
            accuracy = (accuracy - other) / (self.kept - other)
        sure = np.clip(accuracy, _FIRM, 1 - _FIRM)
        weight = np.log(sure * (classes - 1) / (1 - sure)) / np.bincount(self.voice)[self.voice]
        return np.asarray(weight if self.deaf is None else np.where(self.deaf, 0.0, weight))

    def _answer(self, kernel: Floats, there: Bools, votes: Features) -> Singles:
        scores = np.einsum("ij,ijc->ic", self._weights(kernel, there), votes, optimize=True)
        likely = softmax(scores, axis=1)
        return np.asarray(likely - 1 / likely.shape[1], dtype=np.float32)


def kernel(apart: Floats) -> Floats:
    """(input, row): weights by squared distances, infinite where a row does not count."""
    nearest = min(_NEAREST, apart.shape[1])
    width = np.partition(apart, nearest - 1, axis=1)[:, nearest - 1 : nearest]
    least = apart.min(axis=1, keepdims=True)
    known = np.isfinite(least)
    furthest = np.where(np.isfinite(apart), apart, 0.0).max(axis=1, keepdims=True)
    width = np.where(np.isfinite(width), width, furthest)
    least = np.where(known, least, 0.0)
    with np.errstate(invalid="ignore"):
        beyond = (apart - least) / np.maximum(width - least, 1e-12)
    return np.where(np.isfinite(apart), np.exp(-np.minimum(beyond, 700.0)), 0.0)
