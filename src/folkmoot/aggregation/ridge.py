"""Ridge regression that starts from a plain vote: a linear rule that departs from it where rows ask for it.

The score of a row is ``sum over bases of pull * base + x W``. Bases are votes that need no learning (the mean
vote, or a model's). Each is pulled by one number that is not negative. W is shrunk towards 0. How strongly is
chosen by leaving out one part of the rows at a time. With Z = X V for the eigenvectors V of X'X, s its
eigenvalues and H = Z_B diag(1 / (s + strength)) Z_B' for the rows B of a part, a rule without B misses them
by (I - H)^-1 times what the rule with B misses. One decomposition so serves all parts and strengths.
scikit-learn's RidgeCV does this for single rows only. Here an input can be several (one per class, or per
output), which must be left out together, or an owner's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.arrays import Array, Features, Floats, Ints

# From following the rows nearly freely to hardly leaving the plain vote, by factors of about three: a finer
# grid changes no decision in a hundred.
STRENGTHS: Final = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)


@dataclass(frozen=True, eq=False)
class Linear:
    """A fitted rule."""

    weights: Floats  # (feature, column)
    pulls: Floats  # (base,)
    unseen: Floats
    """(row, column): the scores of its rows by rules that had seen no row of the same part."""

    def scores(self, features: Features, bases: Features) -> Floats:
        """(row, column): the scores of (row, feature) and bases (base, row, column)."""
        said = features @ self.weights.astype(features.dtype)
        return np.asarray(said + np.tensordot(self.pulls, bases, axes=1))


def fit(
    features: Features,
    bases: Features,
    target: Features,
    part: Ints,
    strengths: Sequence[float] = STRENGTHS,
) -> Linear:
    """The rule of rows (row, feature), bases (base, row, column), targets (row, column) and parts (row,)."""
    pulls, rest = _pulled(bases, target)
    within = Decomposed.of(features)
    along = within.turned.T @ rest
    shrunk = 1 / (within.sizes[:, None] + np.asarray(strengths))
    missed = _missed(within.turned, shrunk, along, rest, _by_size(part))
    best = int(_squares(missed).argmin())
    return Linear(within.back @ (along * shrunk[:, [best]]), pulls, target - missed[:, best])


@dataclass(frozen=True, eq=False)
class Decomposed:
    """Rows along the eigenvectors of their second moments, and back."""

    turned: Features  # Z = X V, (row, component)
    sizes: Floats  # the eigenvalues
    back: Features  # V, (feature, component)

    @classmethod
    def of(cls, features: Features) -> Decomposed:
        """The components of rows (row, feature) that are there."""
        wide = features.shape[0] < features.shape[1]
        gram = (features @ features.T if wide else features.T @ features).astype(np.float64)
        sizes, vectors = np.linalg.eigh(gram)
        kept = sizes > 1e-6 * max(float(sizes[-1]), 1e-12)
        sizes, vectors = sizes[kept], vectors[:, kept]
        turned = vectors.astype(features.dtype)
        if wide:
            root = np.sqrt(sizes).astype(features.dtype)
            return cls(turned * root, sizes, features.T @ (turned / root))
        return cls(features @ turned, sizes, turned)

    def scores(
        self, rows: Ints, bases: Features, target: Features, strengths: Sequence[float] = STRENGTHS
    ) -> Floats:
        """(row, column): what a rule of some of the rows says of all of them, as if their moments were alike.

        One decomposition then serves all rules: these rows' second moments are taken to be their share of the
        whole. So leaving out a row takes no more than its own say from its score.
        """
        pulls, rest = _pulled(bases[:, rows], target)
        own = self.turned[rows]
        along = own.T @ rest
        shrunk = 1 / (len(rows) / len(self.turned) * self.sizes[:, None] + np.asarray(strengths))
        missed = (
            rest[:, None] - _along(own, along, shrunk) + _leverage(own, shrunk)[:, :, None] * rest[:, None]
        )
        best = int(_squares(missed).argmin())
        return np.asarray(self.turned @ (along * shrunk[:, [best]]) + np.tensordot(pulls, bases, axes=1))


def _pulled(bases: Features, target: Features) -> tuple[Floats, Floats]:
    """The pull of each base, and what they leave of the target (row, column)."""
    from scipy.optimize import nnls  # heavy, and public aggregations do without

    bases, target = bases.astype(np.float64), target.astype(np.float64)
    pulls = np.asarray(nnls(bases.reshape(len(bases), -1).T, target.ravel())[0])
    return pulls, target - np.tensordot(pulls, bases, axes=1)


def _along(turned: Features, along: Floats, shrunk: Floats) -> Floats:
    """(row, strength, column): scores by every strength, in one product."""
    each = (shrunk[:, :, None] * along[:, None, :]).astype(turned.dtype)
    return np.asarray(np.tensordot(turned, each, axes=1), dtype=np.float64)


def _leverage(turned: Features, shrunk: Floats) -> Floats:
    """(row, strength): how far a row's own target moves its score."""
    return np.asarray(np.square(turned) @ shrunk.astype(turned.dtype), dtype=np.float64)


def _squares(missed: Floats) -> Floats:
    return np.asarray((missed**2).sum(axis=(0, 2)))


def _missed(turned: Features, shrunk: Floats, along: Floats, rest: Floats, parts: list[Array]) -> Floats:
    """(row, strength, column): what is missed of the rows of each part without them."""
    missed = rest[:, None] - _along(turned, along, shrunk)
    for rows in parts:  # (part, row), all of one size
        size = rows.shape[1]
        if size == 1:
            missed[rows[:, 0]] /= 1 + 1e-9 - _leverage(turned[rows[:, 0]], shrunk)[:, :, None]
            continue
        for strength, each in enumerate(shrunk.T):
            if size <= turned.shape[1]:
                own = turned[rows]
                hat = (own * each) @ own.transpose(0, 2, 1)
                missed[rows, strength] = np.linalg.solve(
                    np.eye(size) * (1 + 1e-9) - hat, missed[rows, strength]
                )
                continue
            for place in rows:
                own = turned[place]
                without = np.diag(1 / each) - own.T @ own
                less = np.linalg.solve(without, along - own.T @ rest[place])
                missed[place, strength] = rest[place] - own @ less
    return missed


def _by_size(part: Ints) -> list[Ints]:
    """(part, row) arrays: the rows of all parts, those of one size together."""
    sizes = np.unique(part, return_inverse=True, return_counts=True)
    order, size = np.argsort(sizes[1], kind="stable"), sizes[2]
    starts = np.cumsum(size) - size
    return [order[starts[size == each][:, None] + np.arange(each)] for each in np.unique(size).tolist()]
