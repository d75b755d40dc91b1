"""The crowd of a plan: participants of known accuracies, or real votes.

A crowd can be asked for any number of honest participants, because a planner tries other numbers of malicious
ones and of participants. With two labels it gives the law of the number of right first votes; else votes are
drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from folkmoot import checks
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.aggregation.interface import smoothed
from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.theory.votes_law import log_votes_law, poisson_binomial
from folkmoot.votes import NO_VOTE, Votes, check_truth, check_votes, class_count


class Start(NamedTuple):
    """First votes of two labels: laws of the number of right ones, and how often each law holds."""

    laws: Floats  # (law, honest + 1)
    weights: Floats  # (law,), adding up to 1
    tasks: int | None  # how many tasks that was counted on; None: the law is known


class Drawn(NamedTuple):
    """First votes that were drawn."""

    votes: Votes  # (honest, input)
    truth: Ints  # (input,)
    source: Ints | None  # (input,): the task that an input repeats; None: each is drawn by itself


class Crowd(ABC):
    """Participants whose first votes are known in law."""

    size: int | None  # how many they are; None: as many as wanted
    classes: int
    mean: float  # the accuracy of the mean participant

    @abstractmethod
    def start(self, honest: int) -> Start:
        """The laws of the number of right first votes among so many honest participants; two labels."""

    @abstractmethod
    def draw(self, honest: int, inputs: int, rng: np.random.Generator) -> Drawn:
        """First votes of so many honest participants on about so many inputs."""

    @abstractmethod
    def limit(self, share: float) -> float:
        """The limit of the majority's accuracy for many participants, with this malicious share."""


@dataclass(frozen=True, eq=False)
class Skilled(Crowd):
    """Participants that are right independently of each other.

    Fewer honest participants are a random choice of the list of accuracies. If there are more, those beyond
    the list are as good as its mean.
    """

    p: float | Floats
    classes: int = 2

    @classmethod
    def checked(cls, p: npt.ArrayLike, classes: int = 2) -> Skilled:
        """The crowd, or an error that names what is wrong with it."""
        count = checks.integer("labels", classes, least=2)
        if count > 127:
            raise ValueError(f"labels must satisfy labels <= 127: got labels={count}")
        if np.ndim(p) == 0:
            return cls(checks.probability("p", p), count)
        return cls(checks.accuracies(p), count)

    @property
    def size(self) -> int | None:  # type: ignore[override]
        """The length of the list, if there is one."""
        return None if isinstance(self.p, float) else self.p.size

    @property
    def mean(self) -> float:  # type: ignore[override]
        """The mean accuracy."""
        return float(np.mean(self.p))

    def start(self, honest: int) -> Start:
        """Binomial or Poisson binomial; of a random choice, that of all, thinned."""
        if isinstance(self.p, float):
            law = np.exp(log_votes_law(self.p, honest))
        else:
            law = poisson_binomial(np.append(self.p, np.full(max(0, honest - self.p.size), self.mean)))
            for left in range(law.size - 1, honest, -1):  # one of those left, drawn at random, goes
                right = np.arange(left)
                law = law[:-1] * (left - right) / left + law[1:] * (right + 1) / left
        return Start(law[None] / law.sum(), np.ones(1), None)

    def draw(self, honest: int, inputs: int, rng: np.random.Generator) -> Drawn:
        """Each input by itself."""
        truth = rng.integers(0, self.classes, inputs)
        shape = (honest, inputs)
        accuracy: float | Floats = self.mean
        if not isinstance(self.p, float):
            each = np.append(self.p, np.full(max(0, honest - self.p.size), self.mean))
            accuracy = each[rng.random((each.size, inputs)).argsort(axis=0)[:honest]]
        wrong = rng.random(shape) >= accuracy
        votes = np.broadcast_to(truth, shape) + wrong * rng.integers(1, self.classes, shape)
        return Drawn(votes % self.classes, truth, None)

    def limit(self, share: float) -> float:
        """1 if the right label has the most votes in the long run, else 0; a tie shares."""
        right = self.mean * (1 - share)
        most_wrong = (1 - self.mean) * (1 - share) / (self.classes - 1) + share
        return float(_ahead(np.array([right - most_wrong]))[0])


@dataclass(frozen=True, eq=False)
class Observed(Crowd):
    """Votes that were cast on tasks, resampled: whoever errs together keeps doing so.

    A task is one of those that were seen. The honest participants on it are drawn from those who voted on it,
    again and again if there are too few.
    """

    votes: Votes  # (participant, task), -1 for none
    chances: Floats  # (task, class): how likely each label is the right one

    @classmethod
    def checked(
        cls,
        votes: npt.ArrayLike,
        truth: npt.ArrayLike | None = None,
        classes: int | None = None,
    ) -> Observed:
        """The crowd, or an error. Without truth each label is as likely as its share of the votes."""
        cast = check_votes(votes, classes)
        shares = aggregate(cast).probabilities(class_count(cast, classes))
        chances = smoothed(shares, (cast != NO_VOTE).sum(axis=0))
        count = chances.shape[1]
        known = np.ones(cast.shape[1], dtype=np.bool_)
        if truth is not None:
            right = check_truth(truth, known.size, count, complete=False)
            known = right != NO_VOTE
            chances = np.eye(count)[right]
        known &= (cast != NO_VOTE).any(axis=0)
        if not known.any():
            raise ValueError("votes must hold a task with a known truth and a vote on it: got none")
        return cls(cast[:, known], chances[known])

    @property
    def size(self) -> int:  # type: ignore[override]
        """The participants, or where not all vote on all tasks, how many do on the median task."""
        return int(np.median(self._cast.sum(axis=0)))

    @property
    def classes(self) -> int:  # type: ignore[override]
        """The number of labels."""
        return int(self.chances.shape[1])

    @property
    def complete(self) -> bool:
        """Whether everybody voted on every task."""
        return bool(self._cast.all())

    @property
    def mean(self) -> float:  # type: ignore[override]
        """The mean accuracy of a task's voters, averaged over tasks."""
        return float((self._shares * self.chances).sum(axis=1).mean())

    @property
    def _cast(self) -> Bools:
        return np.asarray(self.votes != NO_VOTE)

    @property
    def _shares(self) -> Floats:
        """(task, class): the share of the votes."""
        counts = np.stack([(self.votes == c).sum(axis=0) for c in range(self.classes)], axis=1)
        return np.asarray(counts / counts.sum(axis=1, keepdims=True), dtype=np.float64)

    def start(self, honest: int) -> Start:
        """Hypergeometric on each task, or binomial where fewer voted; tasks that are alike are one law."""
        voters = self._cast.sum(axis=0)
        cases, weights = [], []
        for c in range(2):
            cases.append(np.column_stack((voters, (self.votes == c).sum(axis=0))))
            weights.append(self.chances[:, c] / len(voters))
        alike, which = np.unique(np.concatenate(cases), axis=0, return_inverse=True)
        weight = np.bincount(which.ravel(), np.concatenate(weights)).astype(np.float64)
        there = weight > 0
        laws = np.stack([_right_of(honest, int(m), int(s)) for m, s in alike[there]])
        return Start(laws, weight[there], len(voters))

    def draw(self, honest: int, inputs: int, rng: np.random.Generator) -> Drawn:
        """Every task equally often, or a random choice of more tasks than inputs are wanted."""
        tasks = self.votes.shape[1]
        chosen = rng.permutation(tasks)[:inputs]
        source = np.repeat(chosen, max(1, inputs // tasks))
        columns = []
        for task in source:
            cast = self.votes[self._cast[:, task], task]
            columns.append(rng.choice(cast, honest, replace=cast.size < honest))
        thrown = rng.random((source.size, 1)) < np.cumsum(self.chances[source], axis=1)
        thrown[:, -1] = True
        return Drawn(np.stack(columns, axis=1), thrown.argmax(axis=1), source)

    def limit(self, share: float) -> float:
        """The probability that the most common label of a task is right, all malicious ones against it."""
        ahead = np.zeros_like(self.chances)
        for c in range(self.classes):
            others = np.delete(self._shares, c, axis=1).max(axis=1)
            ahead[:, c] = _ahead(self._shares[:, c] * (1 - share) - others * (1 - share) - share)
        return float((ahead * self.chances).sum(axis=1).mean())


def _ahead(lead: Floats) -> Floats:
    """1 where the right label leads, 0 where it is behind, one half where they are tied."""
    return np.asarray((np.sign(np.round(lead, 12)) + 1) / 2, dtype=np.float64)


def _right_of(honest: int, voters: int, right: int) -> Floats:
    """The law of right votes among ``honest`` drawn from voters of whom so many are right."""
    b = np.arange(honest + 1)
    if honest > voters:
        return np.exp(log_votes_law(right / voters, honest))
    possible = (b <= right) & (honest - b <= voters - right)
    law = np.zeros(honest + 1)
    some = b[possible]
    logs = _log_choose(right, some) + _log_choose(voters - right, honest - some)
    law[possible] = np.exp(logs - _log_choose(voters, np.array(honest)))
    return np.asarray(law / law.sum(), dtype=np.float64)


def _log_choose(n: int, k: Ints) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), dtype=np.float64)
