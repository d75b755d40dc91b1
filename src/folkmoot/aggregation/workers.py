"""Models of how workers vote, each with skills that are learnt together with the truth.

A worker has a confusion matrix (Dawid and Skene, Applied Statistics 28, 1979): chances[k, j, l] that worker k
votes l where j is right. A few votes say little of most cells. So workers are shrunk, as B. Paun et al.
(TACL 6, 2018) found best, towards a matrix that has fewer parameters:

    by accuracy    a worker is right with one chance, and wrong classes are alike (one coin).

    by habit       a worker knows the answer or follows a habit (MACE, D. Hovy et al., NAACL 2013).

How far is told by how much workers differ. s votes of the simpler matrix join the n of each row. By the
moments of a Dirichlet-multinomial distribution with mean m, counts c have

    E sum (c - n m)^2  =  n (1 - sum m^2) (n + s) / (1 + s).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import logsumexp, softmax

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.votes import NO_VOTE, Votes

# The least and the most votes of the simpler matrix: none lets a worker with two votes be always right, and
# where workers differ no more than by chance any number is as good as infinitely many.
_STRENGTHS: Final = (0.5, 64.0)
# Votes as good as the crowd's with which habits start: with none a worker of two votes has a habit.
_LIKE_ALL: Final = 2.0
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

    def learnt(self, model: Model, truth: Ints, starts: Sequence[Floats]) -> Floats:
        """Learn skills and truth, where it is known or -1: logs (task, class) of how likely each class is.

        By expectation-maximisation, which finds another story from another start; the likeliest is taken.
        Each start says how likely each class is. The logs of tasks with known truth are by votes alone.
        """
        told = np.flatnonzero(truth != NO_VOTE)
        found = [self._from(model, told, truth[told], start) for start in starts]
        return max(found, key=lambda logs: _likelihood(logs, told, truth[told]))

    def _from(self, model: Model, told: Ints, truth: Ints, start: Floats) -> Floats:
        belief, known = start.copy(), np.eye(self.shape[2])[truth]
        belief[told] = known
        for _ in range(_ITERATIONS):
            prior = (belief.sum(axis=0) + 1) / (len(belief) + self.shape[2])
            logs: Floats = self.logs(model(self.counts(belief))) + np.log(prior)
            before, belief = belief, np.asarray(softmax(logs, axis=1))
            belief[told] = known
            if np.abs(belief - before).max(initial=0.0) < _TOLERANCE:
                break
        return logs


def _likelihood(logs: Floats, told: Ints, truth: Ints) -> float:
    """The logarithm of the chance of all votes and of the truth that is known."""
    each: Floats = logsumexp(logs, axis=1)
    each[told] = logs[told, truth]
    return float(each.sum())


Model = Callable[[Floats], Floats]
"""From counts (worker, right class, vote) to chances of the same shape."""


def shrunk(counts: Floats, mean: Floats) -> Floats:
    """(..., vote): chances by counts and a mean, which counts for as many votes as the moments tell."""
    n = counts.sum(axis=-1, keepdims=True)
    spread = n * (1 - (mean**2).sum(axis=-1, keepdims=True))
    apart = float(((counts - n * mean) ** 2).sum())
    by_chance, at_most = float(spread.sum()), float((n * spread).sum())
    strength = (at_most - apart) / (apart - by_chance) if apart > by_chance else np.inf
    found = counts + float(np.clip(strength, *_STRENGTHS)) * mean
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def one_coin(counts: Floats) -> Floats:
    """Each worker has an accuracy; wrong classes are alike."""
    classes = counts.shape[1]
    right, cast = np.trace(counts, axis1=1, axis2=2), counts.sum(axis=(1, 2))
    mean = float((right.sum() + 1) / (cast.sum() + classes))
    accuracy = shrunk(np.stack([right, cast - right], axis=1), np.array([mean, 1 - mean]))[:, 0]
    accuracy = np.clip(accuracy, 1e-3, 1 - 1e-3)[:, None, None]
    return np.asarray(np.where(np.eye(classes, dtype=np.bool_), accuracy, (1 - accuracy) / (classes - 1)))


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


def by_accuracy(counts: Floats) -> Floats:
    """A confusion matrix for each worker, shrunk to what its accuracy alone says."""
    return np.maximum(shrunk(counts, one_coin(counts)), _LEAST)


def by_habit(counts: Floats) -> Floats:
    """The same, shrunk to knowledge and habit."""
    return np.maximum(shrunk(counts, mace(counts)), _LEAST)


MODELS: Final[tuple[Model, ...]] = (by_accuracy, by_habit)
