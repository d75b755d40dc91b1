"""Twenty kinds of crowds: what workers, tasks and classes are like, and how many tasks are gold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.arrays import Floats, Ints
from folkmoot.votes import NO_VOTE, Votes

# What workers are like: they err alike on all classes, lean to a class, follow a habit whatever they see,
# always say the same, or are mostly wrong.
NATURES: Final = 5


@dataclass(frozen=True)
class Kind:
    """What a crowd is drawn from.

    ``natures`` are the shares of ``NATURES``. ``votes`` are the least and the most per task. A share ``hard``
    of the tasks is guessed by half of the workers; ``deceptive`` ones look like another class to all but a
    fifth of them. ``copies`` say what one of them says. ``even`` is the parameter of the Dirichlet
    distribution of classes: small ones are uneven.
    """

    natures: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 0.0)
    classes: int = 2
    gold: int = 15
    workers: int = 40
    tasks: int = 400
    votes: tuple[int, int] = (3, 6)
    skill: tuple[float, float] = (6.0, 2.5)
    even: float = 1e6
    hard: float = 0.0
    deceptive: float = 0.0
    copies: float = 0.0


_ALL: Final = (0.4, 0.2, 0.2, 0.1, 0.1)
KINDS: Final = {
    "one coin": Kind(),
    "one coin, five gold": Kind(classes=3, gold=5),
    "leaning": Kind((0.4, 0.6, 0.0, 0.0, 0.0)),
    "leaning, four classes": Kind((0.4, 0.6, 0.0, 0.0, 0.0), classes=4, gold=20),
    "habits": Kind((0.5, 0.0, 0.5, 0.0, 0.0), classes=3),
    "constant": Kind((0.65, 0.0, 0.0, 0.35, 0.0)),
    "liars": Kind((0.75, 0.0, 0.0, 0.0, 0.25)),
    "liars, four classes": Kind((0.7, 0.0, 0.0, 0.0, 0.3), classes=4),
    "all natures": Kind(_ALL, classes=3),
    "all natures, five gold": Kind(_ALL, gold=5, tasks=300),
    "fifteen workers, six gold": Kind(_ALL, gold=6, workers=15, tasks=100, votes=(15, 15)),
    "seven workers": Kind((0.7, 0.3, 0.0, 0.0, 0.0), classes=5, gold=10, workers=7, tasks=200, votes=(7, 7)),
    "eight classes": Kind((0.6, 0.2, 0.2, 0.0, 0.0), classes=8, gold=30, workers=60, tasks=300, votes=(4, 8)),
    "uneven classes": Kind((0.6, 0.4, 0.0, 0.0, 0.0), workers=50, even=0.8),
    "four uneven classes": Kind((0.6, 0.2, 0.2, 0.0, 0.0), classes=4, gold=25, workers=50, even=1.5),
    "hard tasks": Kind((0.8, 0.2, 0.0, 0.0, 0.0), classes=3, tasks=300, hard=0.4),
    "deceptive, all vote": Kind(
        (0.8, 0.2, 0.0, 0.0, 0.0), gold=11, workers=39, tasks=108, votes=(39, 39), deceptive=0.25
    ),
    "deceptive": Kind(classes=3, tasks=300, gold=20, votes=(5, 9), deceptive=0.2, skill=(8, 2)),
    "three votes": Kind((0.7, 0.1, 0.1, 0.1, 0.0), gold=30, workers=150, tasks=600, votes=(3, 3)),
    "copies": Kind((0.8, 0.2, 0.0, 0.0, 0.0), gold=20, tasks=200, votes=(12, 20), copies=0.3),
}


@dataclass(frozen=True, eq=False)
class Drawn:
    """A crowd: votes (worker, task), the truth, and which tasks are gold."""

    votes: Votes
    truth: Ints
    gold: Ints
    classes: int


def draw(kind: Kind, seed: int) -> Drawn:
    """A crowd of a kind."""
    rng = np.random.default_rng([seed, 20])
    matrix = _matrices(kind, rng)
    workers, classes = kind.workers, kind.classes
    shares = rng.dirichlet(np.full(classes, kind.even)) * 0.9 + 0.1 / classes
    truth = rng.choice(classes, kind.tasks, p=shares)
    turned = rng.random(kind.tasks) < kind.deceptive
    looks = np.where(turned, (truth + rng.integers(1, classes, kind.tasks)) % classes, truth)
    expert = rng.random(workers) < 0.2
    hard = rng.random(kind.tasks) < kind.hard
    master = np.arange(workers)
    master[rng.permutation(workers)[: round(kind.copies * workers)]] = rng.integers(workers)
    diligence = rng.exponential(size=workers) + 0.02
    votes = np.full((workers, kind.tasks), NO_VOTE)
    for task in range(kind.tasks):
        many = rng.integers(kind.votes[0], kind.votes[1] + 1)
        who = rng.choice(workers, many, replace=False, p=diligence / diligence.sum())
        told, place = np.unique(master[who], return_inverse=True)
        sees = np.where(expert[told], truth[task], looks[task])
        said = (matrix[told, sees].cumsum(axis=1) < rng.random((len(told), 1))).sum(axis=1)
        guesses = hard[task] & (rng.random(len(told)) < 0.5)
        said = np.where(guesses, rng.integers(classes, size=len(told)), np.minimum(said, classes - 1))
        votes[who, task] = said[place]
    return Drawn(votes, truth, np.sort(rng.permutation(kind.tasks)[: kind.gold]), classes)


def _matrices(kind: Kind, rng: np.random.Generator) -> Floats:
    """(worker, right class, vote): the chances of votes."""
    classes = kind.classes
    matrix = np.empty((kind.workers, classes, classes))
    for worker, nature in enumerate(rng.choice(NATURES, kind.workers, p=kind.natures)):
        right = rng.beta(2, 8) if nature == 4 else rng.beta(*kind.skill)
        matrix[worker] = (1 - right) / (classes - 1)
        np.fill_diagonal(matrix[worker], right)
        lean = rng.dirichlet(np.full(classes, 0.6)) if nature == 2 else np.eye(classes)[rng.integers(classes)]
        by = {1: rng.uniform(0.2, 0.7), 2: 1.0, 3: 1.0}.get(int(nature), 0.0)
        matrix[worker] = (1 - by) * matrix[worker] + by * lean
    return matrix
