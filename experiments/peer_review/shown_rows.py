"""Forests of single writers, what they say of each other's rows and of new inputs, and who shows which rows.

A writer's forest is trained on all of its rows; the rows that it shows are some of these, in an order drawn
by the seed, so that more rows include the fewer. The rows that a copy of the forest held out are its anchor
for trust by listening, which stands beside.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.femnist.writer_votes import (
    COLOURS,
    FEWEST_ROWS,
    HELD_OUT,
    confusion_counts,
    drawn_test,
    model_of,
    rows_of_task,
)
from experiments.femnist.writers import choose
from folkmoot.arrays import Array, Bytes, Ints, Singles
from folkmoot.learning.participants import held_out_rows

ALL: Final = 1_000_000  # rows to show: more than anybody has
LEVELS: Final = 255  # of a probability: 8 bits


@dataclass(frozen=True)
class Squeezed:
    """An array of bytes, compressed."""

    packed: bytes
    shape: list[int]

    @classmethod
    def of(cls, array: Bytes) -> Squeezed:
        """The array."""
        return cls(zlib.compress(array.tobytes(), 1), list(array.shape))

    def array(self) -> Bytes:
        """The array again."""
        return np.frombuffer(zlib.decompress(self.packed), dtype=np.uint8).reshape(self.shape)


@dataclass(frozen=True)
class Sample:
    """Which writers, rows and inputs an experiment is of."""

    data: str | None
    task: str
    seed: int
    writers: int
    test_writers: int
    inputs: int  # at most so many of the test writers'


@dataclass(frozen=True, eq=False)
class Written:
    """Rows of the writers that train, and the inputs to decide."""

    names: list[str]
    X: Singles  # (row, pixel)
    labels: Ints
    owner: Ints  # the place of its writer among the names
    X_new: Singles  # (input, pixel)
    truth: Ints


@dataclass(frozen=True)
class Shown:
    """What the forests of all members say of all rows, and what is known of the rows."""

    task: str
    seed: int
    members: list[str]
    chances: Squeezed  # (member, row and then input, colour): probabilities in 255ths
    labels: list[int]  # of the rows
    owner: list[int]
    rank: list[int]  # of a row among those of its owner: who shows m rows shows those of rank below m
    truth: list[int]  # of the inputs
    confusion: list[list[list[int]]]  # (member, true colour, answer): held-out rows, for trust by listening

    @property
    def classes(self) -> int:
        """The number of colours."""
        return COLOURS[self.task]


def written(sample: Sample) -> Written:
    """The rows, from the data; a writer with next to nothing of the task trains no model."""
    choice = choose(sample.data, sample.seed, sample.writers, sample.test_writers)
    rows = rows_of_task(sample.data, sample.task, choice)
    X_new, truth, _ = drawn_test(rows, choice.test, sample.seed, sample.inputs)
    places = {name: np.flatnonzero(rows.groups == name) for name in choice.train}
    names = [name for name in choice.train if len(places[name]) >= FEWEST_ROWS]
    order = np.concatenate([places[name] for name in names])
    owner = np.repeat(np.arange(len(names)), [len(places[name]) for name in names])
    return Written(names, rows.X[order], rows.y[order].astype(np.int64), owner, X_new, truth)


def show(sample: Sample, trees: int) -> Shown:
    """Cell: a forest for every writer, and its probabilities for all rows and inputs."""
    rows = written(sample)
    classes, n = COLOURS[sample.task], len(rows.names)
    everything = np.concatenate([rows.X, rows.X_new])
    chances = np.zeros((n, len(everything), classes), dtype=np.uint8)
    confusion = []
    rank = np.zeros(len(rows.labels), dtype=np.int64)
    with threadpool_limits(1):  # cells run side by side
        for i in range(n):
            mine = np.flatnonzero(rows.owner == i)
            rng = np.random.default_rng([sample.seed, i, 8])
            rank[mine] = rng.permutation(len(mine))
            X, y = rows.X[mine], rows.labels[mine]
            seed = int(rng.integers(2**31))
            chances[i] = in_levels(forest_says(X, y, everything, classes, trees, seed))
            out = held_out_rows(y, HELD_OUT, rng)
            kept = np.setdiff1d(np.arange(len(y)), out)
            said = forest_says(X[kept], y[kept], X[out], classes, trees, seed).argmax(axis=1)
            confusion.append(confusion_counts(y[out], said, classes))
    return Shown(
        task=sample.task,
        seed=sample.seed,
        members=rows.names,
        chances=Squeezed.of(chances),
        labels=rows.labels.tolist(),
        owner=rows.owner.tolist(),
        rank=rank.tolist(),
        truth=rows.truth.tolist(),
        confusion=confusion,
    )


def forest_says(X: Array, y: Ints, asked: Array, classes: int, trees: int, seed: int) -> Singles:
    """(input, colour): the probabilities of a forest of these rows; colours that it has not seen have 0."""
    said = np.zeros((len(asked), classes), dtype=np.float32)
    if len(asked):
        forest = model_of("rf", trees).set_params(random_state=seed).fit(X, y)
        said[:, forest.classes_] = forest.predict_proba(asked)
    return said


def in_levels(chances: Singles) -> Bytes:
    """Probabilities in 8 bits."""
    return np.asarray(np.round(chances * LEVELS), dtype=np.uint8)
