"""
How many liars Slush bears
==========================

Learn how accuracy falls with the number of perfectly malicious participants, by Slush and by other rules.

101 participants of different skill (mean 0.7) answer 1,000 inputs; then some turn perfectly malicious: they
know the truth and always deny it. Slush (k = 10, alpha = 6), local Slush (alpha by strong confidence),
Snowball (alpha = 6, beta = 10) and rules that see all votes, on the same votes.

``python examples/plot_liars.py [FILE]``
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from folkmoot import Slush, Snowball, StrongConfidence, compare
from folkmoot.adversaries import PerfectlyMalicious

N, INPUTS, K = 101, 1000, 10


def main(path: str = "liars.png") -> None:
    rng = np.random.default_rng(1)
    skills = rng.beta(7, 3, size=N)
    truth = rng.integers(0, 2, INPUTS)
    right = rng.random((N, INPUTS)) < skills[:, None]
    votes = np.where(right, truth, 1 - truth)
    protocols: dict[str, Slush | Snowball] = {
        "Slush": Slush(K, 6),
        "local Slush": Slush(K, StrongConfidence(skills)),
        "Snowball": Snowball(K, 6, 10),
    }
    counts = list(range(0, 41, 4))
    lines: dict[str, list[Any]] = {name: [] for name in ("majority", "Dawid-Skene", *protocols)}
    order = rng.permutation(N)
    for count in counts:
        liars = {int(i): PerfectlyMalicious() for i in order[:count]}
        report = compare(votes, protocols, truth=truth, adversaries=liars, repeats=5)
        for name, values in lines.items():
            values.append(report.score(name))
    print("liars" + "".join(f"{name:>14}" for name in lines))
    for row, count in enumerate(counts):
        print(f"{count:>5}" + "".join(f"{values[row]:>14.3f}" for values in lines.values()))
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for name, values in lines.items():
        axes.plot(counts, values, "o--" if name in ("majority", "Dawid-Skene") else "o-", ms=4, label=name)
    axes.set_xlabel(f"perfectly malicious participants of {N}")
    axes.set_ylabel("accuracy")
    axes.set_ylim(0, 1.03)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
