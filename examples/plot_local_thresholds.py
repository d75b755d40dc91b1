"""
Thresholds of their own, exactly
================================

Learn when thresholds of their own beat a global one and the majority: when participants differ in skill.

31 participants with accuracies drawn from a beta distribution (mean 0.55); each asks for ceil(k p) equal
answers before it gives up its own. No simulation: every number is the probability itself.

``python examples/plot_local_thresholds.py [FILE]``
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from folkmoot import StrongConfidence
from folkmoot.theory import LocalSlushChain, SlushChain, majority_accuracy

N, K, MEAN, DRAWS = 31, 10, 0.55, 40


def main(path: str = "local_thresholds.png") -> None:
    rng = np.random.default_rng(0)
    deviations = [0.02, 0.1, 0.2, 0.3]
    rows = []
    for deviation in deviations:
        total = MEAN * (1 - MEAN) / deviation**2 - 1  # a + b of the beta distribution
        accuracies = []
        for _ in range(DRAWS):
            p = rng.beta(MEAN * total, (1 - MEAN) * total, size=N)
            local = LocalSlushChain(StrongConfidence(p), K)
            accuracies.append([majority_accuracy(N, p), SlushChain(N, K, 6).accuracy(p), local.accuracy(p)])
        rows.append(np.mean(accuracies, axis=0))
        print(f"spread {deviation:.2f}:  majority {rows[-1][0]:.4f}   Slush {rows[-1][1]:.4f}   "
              f"local Slush {rows[-1][2]:.4f}")  # fmt: skip
    figure = Figure(figsize=(5.6, 4.0), layout="constrained")
    axes = figure.subplots()
    for index, name in enumerate(["majority", "Slush, alpha = 6", "Slush, alpha of their own"]):
        axes.plot(deviations, [row[index] for row in rows], "o-", label=name)
    axes.set_xlabel("standard deviation of the participants' accuracy")
    axes.set_ylabel(f"accuracy (mean of {DRAWS} draws)")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
