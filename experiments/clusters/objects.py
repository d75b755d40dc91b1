"""What is clustered in the study ``clusters``, and by whom: k-means of few rows and half of the columns."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from folkmoot.arrays import Array, Floats, Ints

DIGITS, WINE, CANCER, FEMNIST, BLOBS, MOONS = (
    "digits",
    "wine",
    "breast cancer",
    "FEMNIST digits",
    "blobs",
    "moons",
)
ALL: Final = (DIGITS, WINE, CANCER, FEMNIST, BLOBS, MOONS)
_WRITERS: Final = 150  # of FEMNIST, whose digits are drawn from
_LEAST: Final = 20  # characters of a writer that is drawn
_PIXELS: Final = 28
_FEW_COLUMNS: Final = 3  # of which nobody is given only half


@dataclass(frozen=True, eq=False)
class Objects:
    """Rows, their true clusters, and how many there are; how many each participant makes."""

    X: Floats
    truth: Ints
    clusters: int
    made: int


def load(name: str, data: str | None, seed: int, most: int) -> Objects:
    """The objects of a data set, at most so many of them; drawn by the seed where they are drawn."""
    from sklearn import datasets
    from sklearn.preprocessing import scale

    if name == DIGITS:
        X, y = datasets.load_digits(return_X_y=True)
        return _some(X, y, 10, 10, seed, most)
    if name == WINE:
        X, y = datasets.load_wine(return_X_y=True)
        return _some(scale(X), y, 3, 3, seed, most)
    if name == CANCER:
        X, y = datasets.load_breast_cancer(return_X_y=True)
        return _some(scale(X), y, 2, 2, seed, most)
    if name == BLOBS:
        X, y = datasets.make_blobs(600, 8, centers=6, cluster_std=4.0, random_state=seed)
        return _some(X, y, 6, 6, seed, most)
    if name == MOONS:
        X, y = datasets.make_moons(600, noise=0.08, random_state=seed)
        return _some(X, y, 2, 8, seed, most)  # two k-means clusters would cut across both moons
    return _femnist(data, seed, most)


@lru_cache(maxsize=2)  # reading the file takes seconds
def _femnist(data: str | None, seed: int, most: int) -> Objects:
    """Digits of many writers, in pixels of twice the width."""
    from folkmoot.datasets import load_femnist
    from folkmoot.datasets.femnist import femnist_counts

    enough = int((femnist_counts(data)[1].sum(axis=1) >= _LEAST).sum())
    if not enough:
        raise ValueError(f"{data} must have writers with {_LEAST} characters or more: it has none")
    writers = min(_WRITERS, enough)
    rows = load_femnist(data, task="characters", writers=writers, min_samples=_LEAST, seed=seed)
    digits = np.flatnonzero(rows.y < 10)
    if len(digits) < 200:
        raise ValueError(f"{data} must hold 200 digits or more of {writers} writers: it has {len(digits)}")
    drawn = np.sort(np.random.default_rng([seed, 1]).permutation(digits)[: min(most, 1000)])
    half = _PIXELS // 2
    images = rows.X[drawn].reshape(-1, half, 2, half, 2).mean(axis=(2, 4)).reshape(len(drawn), -1)
    return Objects(images.astype(np.float64), rows.y[drawn].astype(np.int64), 10, 10)


def _some(X: Array, y: Array, clusters: int, made: int, seed: int, most: int) -> Objects:
    drawn = np.sort(np.random.default_rng([seed, 1]).permutation(len(y))[:most])
    return Objects(
        np.asarray(X[drawn], dtype=np.float64), np.asarray(y[drawn], dtype=np.int64), clusters, made
    )


def partitions(
    objects: Objects, participants: int, rows: int, seed: int, *, any_number: bool = False
) -> Ints:
    """(participant, object): k-means of each, fitted on rows of its own and half of the columns.

    With ``any_number`` each makes a number of clusters of its own, from 2 to twice the true one.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    draw = np.random.default_rng([seed, 2 + any_number])
    count, width = objects.X.shape
    seen = width if width <= _FEW_COLUMNS else round(width / 2)
    said = np.empty((participants, count), dtype=np.int64)
    for i in range(participants):
        columns = np.sort(draw.permutation(width)[:seen])
        own = draw.permutation(count)[:rows]
        number = int(draw.integers(2, 2 * objects.clusters + 1)) if any_number else objects.made
        model = KMeans(number, n_init=3, random_state=int(draw.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # images without ink are all the same
            said[i] = model.fit(objects.X[np.ix_(own, columns)]).predict(objects.X[:, columns])
    return said
