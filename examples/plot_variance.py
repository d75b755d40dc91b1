"""
What a shared schedule does to the spread
=========================================

Learn why the accuracy over a batch varies more when one query carries all inputs, and how to undo that.

In a network one query carries all inputs, so all inputs hear the same askers ask the same peers. Each
input's chances are untouched, but inputs now rise and fall together, and the accuracy over a batch spreads
more than independent deliberations would. Seating the participants anew for each input undoes that.

``python examples/plot_variance.py [FILE]``
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from folkmoot import Slush, deliberate

N, INPUTS, REPEATS = 101, 1000, 2000


def main(path: str = "variance.png") -> None:
    rng = np.random.default_rng(0)
    skills = rng.beta(6, 5, size=N)  # diverse participants, mean 0.55
    votes = (rng.random((N, INPUTS)) < skills[:, None]).astype(np.int64)
    truth = np.ones(INPUTS, dtype=np.int64)
    runs = {
        "independent": {"batch": "independent"},
        "shared, permuted": {"batch": "shared"},
        "shared": {"batch": "shared", "permute": False},
    }
    figure = Figure(figsize=(5.6, 4.0), layout="constrained")
    axes = figure.subplots()
    spread = {}
    for name, options in runs.items():
        accuracy = deliberate(votes, Slush(10, 6), repeats=REPEATS, **options).accuracies(truth)  # type: ignore[arg-type]
        spread[name] = accuracy.var(ddof=1)
        axes.hist(accuracy, bins=60, histtype="step", density=True, label=name)
        print(
            f"{name:>17}: mean {accuracy.mean():.4f}, standard deviation {accuracy.std():.4f}, "
            f"variance over independent {spread[name] / spread['independent']:.2f}"
        )
    axes.set_xlabel(f"accuracy over {INPUTS} inputs")
    axes.set_ylabel(f"density ({REPEATS} repetitions)")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
