"""Ridge regression that starts from a plain vote: a linear rule that departs from it where rows ask for it.

The score of a row is ``sum over bases of pull * base + x W``: the bases are votes that need no learning (the
mean vote, or another model's), each pulled by one number that is not negative; W is shrunk towards 0. How
strongly is chosen by cross-validation over folds that leave out whole publishers, since the rows of one are
more alike than those that will be asked about. The best strength hardly depends on the number of rows (it is
the ratio of two variances), so it is chosen on some of them, in the dual, and the rule is fitted to all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from folkmoot.arrays import Features, Floats, Ints, Singles

STRENGTHS: Final[Floats] = 10.0 ** np.arange(-0.5, 4.51, 0.5)
_FIRST: Final = 5  # where the search for a strength starts


@dataclass(frozen=True, eq=False)
class Linear:
    """A fitted rule, and what rules like it say of rows that they have not seen."""

    pulls: Floats  # (base,)
    weights: Singles  # (feature, column)
    strength: float
    rows: Ints
    """The rows that the strength was chosen on."""
    unseen: Singles
    """(row, column): their scores by rules that had not seen any row of the same fold."""

    def scores(self, features: Singles, bases: Singles) -> Singles:
        """(row, column): features times weights, and the bases (base, row, column) times their pulls."""
        return np.asarray(features @ self.weights + _based(self.pulls, bases), dtype=np.float32)


def fit_alone(features: Singles, bases: Singles, target: Singles) -> Linear:
    """The rule of few rows that are all alike: the strength is chosen by leaving out one at a time."""
    pulls = _pulled(bases, target)
    rest = (target - _based(pulls, bases)).astype(np.float64)
    values, vectors = np.linalg.eigh((features @ features.T).astype(np.float64))
    values, turned = np.maximum(values, 0.0), vectors.T @ rest

    def missed_by(strength: float) -> Floats:
        kept = values / (values + strength)
        leverage = np.minimum((vectors**2) @ kept, 1 - 1e-9)
        return np.asarray((vectors @ ((1 - kept)[:, None] * turned)) / (1 - leverage)[:, None])

    strength = min(STRENGTHS.tolist(), key=lambda each: float((missed_by(each) ** 2).sum()))
    missed = missed_by(strength)
    dual = (vectors @ (turned / (values + strength)[:, None])).astype(np.float32)
    unseen = (target - missed).astype(np.float32)
    return Linear(pulls, features.T @ dual, strength, np.arange(len(target)), unseen)


def fit_folds(features: Singles, bases: Singles, target: Singles, fold: Ints, some: Ints) -> Linear:
    """The rule of many rows, its strength chosen on ``some`` of them by leaving out whole folds."""
    pulls = _pulled(bases, target)
    rest = (target - _based(pulls, bases)).astype(np.float32)
    few, left, part = features[some], rest[some], fold[some]
    kernel = few @ few.T
    tried: dict[int, tuple[float, Singles]] = {}

    def error(place: int) -> float:
        if place not in tried:
            guessed = _unseen(kernel, left, part, float(STRENGTHS[place]))
            tried[place] = float(((left - guessed) ** 2).sum()), guessed
        return tried[place][0]

    place = _FIRST
    while True:  # downhill: the error has one valley
        near = [step for step in (place - 1, place + 1) if 0 <= step < len(STRENGTHS)]
        better = next((step for step in near if error(step) < error(place)), None)
        if better is None:
            break
        place = better
    strength = float(STRENGTHS[place])
    unseen = (tried[place][1] + _based(pulls, bases[:, some])).astype(np.float32)
    return Linear(pulls, _solve(features, rest, strength), strength, some, unseen)


def fit_rows(features: Floats, base: Floats, target: Floats, *, least: float) -> Linear:
    """The rule of few rows with a column for each colour, and one weight a feature for all columns.

    ``features`` are (row, column, feature), ``base`` and ``target`` (row, column). The strength, at least
    ``least``, is chosen by leaving out one whole row at a time: with H the part of the hat matrix that is of
    a row's columns, what is missed of it unseen is (1 - H)^-1 times what is missed.
    """
    rows, columns, width = features.shape
    pulls = _pulled(base[None], target)
    rest = target - pulls[0] * base
    flat = features.reshape(-1, width)
    values, vectors = np.linalg.eigh(flat.T @ flat)
    turned, along = features @ vectors, vectors.T @ (flat.T @ rest.reshape(-1))
    one = np.eye(columns) * (1 + 1e-9)
    best = None
    for strength in STRENGTHS[np.log10(STRENGTHS) > np.log10(least) - 0.1].tolist():
        shrunk = 1 / (np.maximum(values, 0.0) + strength)
        missed = rest - turned @ (along * shrunk)
        hat = (turned * shrunk) @ turned.transpose(0, 2, 1)
        unseen = np.linalg.solve(one - hat, missed[..., None])[..., 0]
        error = float((unseen**2).sum())
        if best is None or error < best[0]:
            best = error, strength, vectors @ (along * shrunk), unseen
    if best is None:
        raise ValueError(f"least must be at most {STRENGTHS[-1]:g}: got {least:g}")
    _, strength, weights, missed = best
    return Linear(
        pulls,
        weights[:, None].astype(np.float32),
        strength,
        np.arange(rows),
        (target - missed).astype(np.float32),
    )


def fit_given(features: Singles, bases: Singles, target: Singles, strength: float) -> Linear:
    """The rule of a strength that is known; it says nothing of unseen rows."""
    pulls = _pulled(bases, target)
    rest = (target - _based(pulls, bases)).astype(np.float32)
    nothing = np.empty(0, dtype=np.int64)
    return Linear(pulls, _solve(features, rest, strength), strength, nothing, target[nothing])


def _based(pulls: Floats, bases: Singles) -> Singles:
    return np.tensordot(pulls.astype(np.float32), bases, axes=1)


def _pulled(bases: Features, target: Features) -> Floats:
    """How far to follow each base: least squares, none below 0."""
    from scipy.optimize import nnls  # heavy, and trust by listening does without

    flat = bases.reshape(len(bases), -1).astype(np.float64)
    gram = flat @ flat.T
    root = np.linalg.cholesky(gram + max(1e-9 * float(np.trace(gram)), 1e-12) * np.eye(len(gram)))
    wanted = np.linalg.solve(root, flat @ target.reshape(-1).astype(np.float64))
    return np.asarray(nnls(root.T, wanted)[0], dtype=np.float64)


def _unseen(kernel: Singles, rest: Singles, fold: Ints, strength: float) -> Singles:
    guessed = np.zeros_like(rest)
    for part in np.unique(fold):
        out = fold == part
        if not out.all():
            factor = _factor(kernel[np.ix_(~out, ~out)], strength)
            guessed[out] = kernel[np.ix_(out, ~out)] @ _solved(factor, rest[~out])
    return guessed


def _solve(features: Singles, rest: Singles, strength: float) -> Singles:
    if len(features) <= features.shape[1]:
        dual = _solved(_factor(features @ features.T, strength), rest)
        return np.asarray(features.T @ dual, dtype=np.float32)
    factor = _factor(features.T @ features, strength)
    return np.asarray(_solved(factor, features.T @ rest), dtype=np.float32)


def _factor(gram: Singles, strength: float) -> Any:
    from scipy.linalg import cho_factor

    shifted = gram.copy()
    shifted[np.diag_indices_from(shifted)] += np.float32(strength)
    return cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)


def _solved(factor: Any, right: Singles) -> Singles:
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve(factor, right, check_finite=False), dtype=np.float32)
