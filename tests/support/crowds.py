"""Crowds that look like real ones: few tasks that all answer, or few votes a task; very different workers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

import numpy as np

from folkmoot.votes import Votes


def sparse_crowd(
    workers: int, tasks: int, least: int, most: int, *, classes: int = 2, seed: int = 0
) -> tuple[Votes, Votes]:
    """Votes (worker, task) and the truth.

    A task has ``least`` to ``most`` votes; accuracies are Beta(7, 2.5) of mean .74; few workers do most of
    the work; an error is any other class.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, tasks)
    accuracy = rng.beta(7, 2.5, workers)
    diligence = rng.exponential(size=workers)
    votes = np.full((workers, tasks), -1)
    for task in range(tasks):
        who = rng.choice(workers, rng.integers(least, most + 1), replace=False, p=diligence / diligence.sum())
        wrong = (truth[task] + rng.integers(1, classes, who.size)) % classes
        votes[who, task] = np.where(rng.random(who.size) < accuracy[who], truth[task], wrong)
    return votes, truth


# What workers are like, by the kind of a crowd: shares of those that err alike on all classes, that lean to a
# class, that follow a habit whatever they see, that always say the same, and that are mostly wrong.
UNLIKE: Final = {
    "one coin": (1.0, 0.0, 0.0, 0.0, 0.0),
    "leaning": (0.4, 0.6, 0.0, 0.0, 0.0),
    "habits": (0.5, 0.0, 0.5, 0.0, 0.0),
    "constant": (0.65, 0.0, 0.0, 0.35, 0.0),
    "liars": (0.75, 0.0, 0.0, 0.0, 0.25),
    "all kinds": (0.4, 0.2, 0.2, 0.1, 0.1),
}


def unlike_crowd(kind: str, seed: int, *, workers: int = 40, tasks: int = 400) -> tuple[Votes, Votes, int]:
    """Votes (worker, task), the truth and how many classes; three to six vote on a task."""
    rng = np.random.default_rng([seed, len(kind)])
    classes = 2 + seed % 2
    matrix = np.empty((workers, classes, classes))
    for worker, nature in enumerate(rng.choice(5, workers, p=UNLIKE[kind])):
        right = rng.beta(2, 8) if nature == 4 else rng.beta(6, 2.5)
        matrix[worker] = (1 - right) / (classes - 1)
        np.fill_diagonal(matrix[worker], right)
        lean = rng.dirichlet(np.full(classes, 0.6)) if nature == 2 else np.eye(classes)[rng.integers(classes)]
        by = {1: rng.uniform(0.2, 0.7), 2: 1.0, 3: 1.0}.get(int(nature), 0.0)
        matrix[worker] = (1 - by) * matrix[worker] + by * lean
    truth, diligence = rng.integers(0, classes, tasks), rng.exponential(size=workers) + 0.02
    votes = np.full((workers, tasks), -1)
    for task, label in enumerate(truth):
        for worker in rng.choice(workers, rng.integers(3, 7), replace=False, p=diligence / diligence.sum()):
            votes[worker, task] = rng.choice(classes, p=matrix[worker, label])
    return votes, truth, classes


def dense_crowd(seed: int, *, deceptive: float, workers: int = 39, tasks: int = 108) -> tuple[Votes, Votes]:
    """Votes (worker, task) of all workers on all tasks, and the truth.

    A share of the tasks looks like the other class to all but a fifth or a quarter of the workers, and
    workers lean to one of the classes: the majority is right on three quarters and more. With
    ``deceptive=0`` tasks are hard for all alike, the unskilled are many, and one in eight has the classes the
    wrong way round.
    """
    rng = np.random.default_rng([seed, 78 if deceptive else 77])
    if not deceptive:
        truth = rng.integers(0, 2, tasks)
        shown = np.tile(2 * truth - 1.0 + rng.normal(0, 0.75, tasks), (workers, 1))
        skill, lean = rng.gamma(1.2, 0.6, workers), rng.normal(0.6, 0.8, workers)
        skill = np.where(rng.random(workers) < 0.12, -0.6 * skill, skill)
    else:
        truth = (rng.random(tasks) < 0.44).astype(int)
        turned = np.where(rng.random(tasks) < deceptive, -1, 1)
        looks = turned * (2 * truth - 1.0) + rng.normal(0, 0.3, tasks)
        is_ = 2 * truth - 1 + rng.normal(0, 0.4, tasks)
        skilled = rng.random(workers) < 0.2
        skill = np.where(skilled, rng.uniform(1, 2, workers), rng.gamma(2, 0.4, workers))
        shown, lean = np.where(skilled[:, None], is_, looks), rng.normal(0.2, 0.6, workers)
    signal = skill[:, None] * shown + lean[:, None] + rng.normal(0, 1, (workers, tasks))
    return (signal > 0).astype(int), truth


def write_crowd(folder: Path, votes: Votes, truth: Votes) -> tuple[Path, Path]:
    """VOTES.csv and TRUTH.csv."""
    with (folder / "votes.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "worker", "label"])
        workers, tasks = np.nonzero(votes >= 0)
        writer.writerows(
            (f"t{task}", f"w{worker}", f"label {votes[worker, task]}")
            for worker, task in zip(workers.tolist(), tasks.tolist(), strict=True)
        )
    rows = "".join(f"t{task},label {label}\n" for task, label in enumerate(truth.tolist()))
    (folder / "truth.csv").write_text("task,label\n" + rows)
    return folder / "votes.csv", folder / "truth.csv"
