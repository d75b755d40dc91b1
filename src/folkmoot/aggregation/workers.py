"""Models of how workers vote, each with skills that are learnt together with the truth.

Each model gives chances[k, j, l] that worker k votes l where j is right, by how often it did in expectation.

By the majority all workers are right equally often. With one coin each is right with its own chance. Dawid
and Skene (Applied Statistics 28, 1979) give each a confusion matrix. With MACE (D. Hovy et al., NAACL 2013)
each knows the answer, or else follows a habit.

Workers with few votes are shrunk towards all workers, as B. Paun et al. (TACL 6, 2018) found best: accuracies
towards the mean accuracy, rows of a confusion matrix towards those that the accuracy alone implies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import softmax

from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.votes import NO_VOTE, Votes

# Votes as good as the crowd's with which each worker starts. None lets a worker with two votes be always
# right; more than its own votes makes all workers alike.
_LIKE_ALL: Final = 2.0
# Votes with which each row of a confusion matrix starts: more costs where workers always say the same (-.02).
_LIKE_ITSELF: Final = 0.5
_ITERATIONS: Final = 40
_TOLERANCE: Final = 2e-3  # of a chance, at which it stops
_LEAST: Final = 1e-6  # that any vote has of being cast


@dataclass(frozen=True, eq=False)
class Crowd:
    """The votes that were cast: who, on which task, for which class."""

    who: Ints
    at: Ints
    said: Ints
    shape: tuple[int, int, int]  # workers, tasks, classes

    @classmethod
    def of(cls, votes: Votes, classes: int) -> Crowd:
        """Those of a table (worker, task), -1 for none."""
        who, at = np.nonzero(votes != NO_VOTE)
        return cls(who, at, votes[who, at], (*votes.shape, classes))

    def where(self, there: Bools) -> Crowd:
        """Some of the votes."""
        return Crowd(self.who[there], self.at[there], self.said[there], self.shape)

    def shares(self) -> Floats:
        """(task, class): shares of the vote, with one more vote for all classes alike."""
        _, tasks, classes = self.shape
        counts = np.bincount(self.at * classes + self.said, minlength=tasks * classes)
        some = counts.reshape(tasks, classes) + 1 / classes
        return np.asarray(some / some.sum(axis=1, keepdims=True))

    def counts(self, belief: Floats) -> Floats:
        """(worker, right class, vote): how often, if a belief (task, class) is right."""
        workers, _, classes = self.shape
        cell = self.who * classes + self.said
        found = [np.bincount(cell, belief[self.at, label], workers * classes) for label in range(classes)]
        return np.asarray(np.stack(found).reshape(classes, workers, classes).transpose(1, 0, 2))

    def logs(self, chances: Floats) -> Floats:
        """(task, class): logarithms of the chance of all votes on it, if the class is right."""
        _, tasks, classes = self.shape
        each = np.log(chances)[self.who, :, self.said]
        return np.stack([np.bincount(self.at, each[:, label], tasks) for label in range(classes)], axis=1)

    def learnt(self, model: Model, truth: Ints, start: Floats) -> tuple[Floats, Floats]:
        """Learn skills and truth, where it is known or -1: logs (task, class) and chances.

        By expectation-maximisation. It starts with what is right by ``start``; the logs of tasks with known
        truth are by the votes alone.
        """
        belief, told = start.copy(), np.flatnonzero(truth != NO_VOTE)
        known = np.eye(self.shape[2])[truth[told]]
        belief[told] = known
        prior = np.full(self.shape[2], 1 / self.shape[2])
        for _ in range(_ITERATIONS):
            chances = np.maximum(model(self.counts(belief)), _LEAST)
            if model is not majority:
                prior = (belief.sum(axis=0) + 1) / (len(belief) + len(prior))
            logs = self.logs(chances) + np.log(prior)
            before, belief = belief, np.asarray(softmax(logs, axis=1))
            belief[told] = known
            if np.abs(belief - before).max(initial=0.0) < _TOLERANCE:
                break
        return logs, chances

    def fit(self, model: Model, truth: Ints, start: Floats) -> float:
        """How well the model foretells votes: the log-likelihood of a fifth that it has not seen, times 5."""
        out = np.random.default_rng(0).permutation(len(self.who)) % 5 == 0
        logs, chances = self.where(~out).learnt(model, truth, start)
        belief, told = softmax(logs, axis=1), np.flatnonzero(truth != NO_VOTE)
        belief[told] = np.eye(self.shape[2])[truth[told]]
        left = self.where(out)
        likely = (belief[left.at] * chances[left.who, :, left.said]).sum(axis=1)
        return float(5 * np.log(np.maximum(likely, _LEAST)).sum())


Model = Callable[[Floats], Floats]
"""From counts (worker, right class, vote) to chances of the same shape."""


def _coins(right: Floats, classes: int) -> Floats:
    """(worker, right class, vote): right with one chance; wrong classes are alike."""
    right = np.clip(right, 1e-3, 1 - 1e-3)[:, None, None]
    return np.asarray(np.where(np.eye(classes, dtype=np.bool_), right, (1 - right) / (classes - 1)))


def _mean_right(counts: Floats) -> tuple[Floats, Floats, float]:
    """(worker,): right votes and all votes; and the share that is right of all workers'."""
    right, cast = np.trace(counts, axis1=1, axis2=2), counts.sum(axis=(1, 2))
    return right, cast, float((right.sum() + 1) / (cast.sum() + counts.shape[1]))


def majority(counts: Floats) -> Floats:
    """All workers are right equally often, and more often than by chance: so most votes win."""
    classes = counts.shape[1]
    return _coins(np.full(len(counts), max(_mean_right(counts)[2], 1 / classes + 0.01)), classes)


def one_coin(counts: Floats) -> Floats:
    """Each worker has an accuracy."""
    right, cast, mean = _mean_right(counts)
    return _coins((right + _LIKE_ALL * mean) / (cast + _LIKE_ALL), counts.shape[1])


def confusion(counts: Floats) -> Floats:
    """Each worker has a confusion matrix."""
    found = counts + _LIKE_ITSELF * one_coin(counts)
    return np.asarray(found / found.sum(axis=2, keepdims=True))


def mace(counts: Floats) -> Floats:
    """Each worker knows some answers and else follows a habit, whatever is right."""
    workers, classes, _ = counts.shape
    said, right = counts.sum(axis=1), np.diagonal(counts, axis1=1, axis2=2)
    cast = said.sum(axis=1)
    knows, guessed = np.full(workers, 0.6), said
    for _ in range(25):
        common = (guessed.sum(axis=0) + 1) / (guessed.sum() + classes)
        habit = (guessed + _LIKE_ALL * common) / (guessed.sum(axis=1) + _LIKE_ALL)[:, None]
        known = right * (knows[:, None] / (knows[:, None] + (1 - knows[:, None]) * habit))
        guessed, sure = said - known, known.sum(axis=1)
        mean = (sure.sum() + 1) / (cast.sum() + 2)
        knows = np.clip((sure + _LIKE_ALL * mean) / (cast + _LIKE_ALL), 1e-3, 1 - 1e-3)
    by_habit: Array = ((1 - knows)[:, None] * habit)[:, None, :]
    return np.asarray(by_habit + knows[:, None, None] * np.eye(classes))


MODELS: Final[Mapping[str, Model]] = {
    "majority": majority,
    "one coin": one_coin,
    "Dawid-Skene": confusion,
    "MACE": mace,
}
