"""
Rules to aggregate numbers
==========================

Learn which rule of aggregation bears how many liars when participants answer numbers instead of labels.

31 participants estimate 300 numbers, each with an error of standard deviation 1. Liars answer with a number
far away. A mean is lost to the first of them; trimming bears ten of 31, and the median gets worse only
slowly.

``python examples/plot_regression_rules.py [FILE]``
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from folkmoot import Council, deliberate
from folkmoot.adversaries import FarAway
from folkmoot.aggregation import GeometricMedian, Krum, Mean, Median, TrimmedMean

N, INPUTS = 31, 300
RULES = {
    "trimmed mean": TrimmedMean(),
    "median": Median(),
    "geometric median": GeometricMedian(),
    "Krum": Krum(),
    "mean": Mean(),
}


def main(path: str = "regression_rules.png") -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=INPUTS)
    values = truth + rng.normal(size=(N, INPUTS))
    counts = [0, 2, 4, 6, 8, 10, 12, 14]
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for name, rule in RULES.items():
        errors = []
        for count in counts:
            liars = {i: FarAway(100.0) for i in range(count)}
            agreed = deliberate(values, Council(), aggregation=rule, adversaries=liars)
            errors.append(float(np.sqrt(np.mean((agreed.decision - truth) ** 2))))
        print(f"{name:>17}: " + "  ".join(f"{error:8.3f}" for error in errors))
        axes.semilogy(counts, errors, "o-", ms=4, label=name)
    axes.axhline(1.0, color="grey", ls=":", lw=1, label="one participant alone")
    axes.set_xlabel(f"liars among {N} participants")
    axes.set_ylabel("root mean squared error")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
