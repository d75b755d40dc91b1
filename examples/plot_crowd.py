"""
A crowd and a few gold tasks
============================

Learn what a few tasks with known answers (gold) are worth in a crowd in which most workers copy one wrong
story.

39 workers label 300 tasks; 60% of them tell one story that has nothing to do with the truth. The majority
is right on half of the tasks, however many workers there are. Weighing workers by their gold helps; the mix
of rules that `folkmoot deliberate --peer-review` learns finds the honest ones from a dozen gold tasks.

``python examples/plot_crowd.py [FILE]``
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from folkmoot import aggregate
from folkmoot.adversaries import colluding_votes
from folkmoot.aggregation import Known, PeerReview, Rows, Weighted

WORKERS, LIARS, TASKS, CROWDS = 39, 23, 300, 10


def main(path: str = "crowd.png") -> None:
    sizes = [10, 20, 40, 80]
    found = np.zeros((3, len(sizes)))
    for seed in range(CROWDS):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, TASKS)
        skill = rng.uniform(0.55, 0.85, (WORKERS, 1))
        votes = np.where(rng.random((WORKERS, TASKS)) < skill, truth, 1 - truth)
        votes[:LIARS] = colluding_votes(TASKS, 2, seed=100 + seed)
        for place, size in enumerate(sizes):
            gold, batch, right = votes[:, :size], votes[:, size:], truth[size:]
            accuracy = (1 + (gold == truth[:size]).sum(axis=1)) / (2 + size)
            known = Known(rows=Rows(gold, truth[:size], np.full(size, -1)), judges=np.array([0]))
            reviewed = PeerReview().final_votes(batch, known).votes[0]
            weighed = Weighted(np.maximum(np.log(accuracy / (1 - accuracy)), 0).tolist())
            answers = (aggregate(batch).decision, aggregate(batch, weighed).decision, reviewed)
            found[:, place] += [(answer == right).mean() / CROWDS for answer in answers]
    names = ("majority", "weighed by gold", "mix of rules (--peer-review)")
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for name, values, colour in zip(names, found, ("silver", "tab:orange", "tab:green"), strict=True):
        print(f"{name:>30}: " + "  ".join(f"{value:.3f}" for value in values))
        axes.plot(sizes, values, "o-", ms=4, color=colour, label=name)
    axes.set_xticks(sizes)
    axes.set_xlabel("gold tasks")
    axes.set_ylabel(f"accuracy on the other tasks (mean of {CROWDS} crowds)")
    axes.set_ylim(0.4, 1.0)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
