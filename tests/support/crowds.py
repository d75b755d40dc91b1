"""Crowds that look like real ones: few votes a task, workers of very different accuracy and diligence."""

from __future__ import annotations

import csv
from pathlib import Path

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
