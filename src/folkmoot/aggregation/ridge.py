"""Ridge regression that starts from a plain vote: a linear rule that departs from it where rows ask for it.

The score of a row is ``sum over bases of pull * base + x W``. Bases are votes that need no learning (the mean
vote, or a model's), each pulled by one number that is not negative; W is shrunk towards 0. How strongly is
chosen by leaving out one part of the rows at a time. With Z = X V for the eigenvectors V of X'X, s its
eigenvalues and H = Z_B diag(1 / (s + strength)) Z_B' for the rows B of a part, a rule without B misses them
by (I - H)^-1 times what the rule with B misses. One decomposition so serves all parts and strengths.
scikit-learn's RidgeCV does this for single rows only; here an input can be several (one per class, or per
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
        return np.asarray(features @ self.weights + np.tensordot(self.pulls, bases, axes=1))


def fit(
    features: Features,
    bases: Features,
    target: Features,
    part: Ints,
    strengths: Sequence[float] = STRENGTHS,
) -> Linear:
    """The rule of rows (row, feature), bases (base, row, column), targets (row, column) and parts (row,)."""
    from scipy.optimize import nnls  # heavy, and public aggregations do without

    bases, target = bases.astype(np.float64), target.astype(np.float64)
    pulls = np.asarray(nnls(bases.reshape(len(bases), -1).T, target.ravel())[0])
    plain = np.tensordot(pulls, bases, axes=1)
    rest = target - plain
    turned, sizes, back = _decomposed(features)
    along = turned.T @ rest
    parts = _by_size(part)
    best: tuple[float, float, Floats] | None = None
    for strength in strengths:
        missed = _missed(turned, 1 / (sizes + strength), along, rest, parts)
        error = float((missed**2).sum())
        if best is None or error < best[0]:
            best = error, strength, missed
    assert best is not None  # noqa: S101
    _, strength, missed = best
    weights = back @ (along / (sizes + strength)[:, None])
    return Linear(weights, pulls, target - missed)


def _decomposed(features: Features) -> tuple[Floats, Floats, Floats]:
    """Z = X V (row, component), its eigenvalues, and V (feature, component)."""
    wide = features.shape[0] < features.shape[1]
    gram = (features @ features.T if wide else features.T @ features).astype(np.float64)
    sizes, vectors = np.linalg.eigh(gram)
    kept = sizes > 1e-6 * max(float(sizes[-1]), 1e-12)
    sizes, vectors = sizes[kept], vectors[:, kept]
    if wide:
        root = np.sqrt(sizes)
        return vectors * root, sizes, features.T @ (vectors / root)
    return features @ vectors, sizes, vectors


def _missed(turned: Floats, shrunk: Floats, along: Floats, rest: Floats, parts: list[Array]) -> Floats:
    """(row, column): what is missed of the rows of each part without them."""
    missed = rest - turned @ (along * shrunk[:, None])
    for rows in parts:  # (part, row), all of one size
        if rows.shape[1] == 1:
            missed[rows[:, 0]] /= 1 + 1e-9 - (turned[rows[:, 0]] ** 2 @ shrunk)[:, None]
        elif rows.shape[1] <= turned.shape[1]:
            own = turned[rows]
            hat = (own * shrunk) @ own.transpose(0, 2, 1)
            missed[rows] = np.linalg.solve(np.eye(rows.shape[1]) * (1 + 1e-9) - hat, missed[rows])
        else:
            for each in rows:
                own = turned[each]
                without = np.diag(1 / shrunk) - own.T @ own
                missed[each] = rest[each] - own @ np.linalg.solve(without, along - own.T @ rest[each])
    return missed


def _by_size(part: Ints) -> list[Ints]:
    """(part, row) arrays: the rows of all parts, those of one size together."""
    sizes = np.unique(part, return_inverse=True, return_counts=True)
    order, size = np.argsort(sizes[1], kind="stable"), sizes[2]
    starts = np.cumsum(size) - size
    return [order[starts[size == each][:, None] + np.arange(each)] for each in np.unique(size).tolist()]
