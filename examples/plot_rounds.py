"""
How many rounds a talk takes
============================

Learn that a talk needs few more rounds as it grows: their number rises like the logarithm of the
participants.

From first votes of which 60% are right, Slush with k = 10: the exact expected number of rounds until all
agree, where one round is one question of every participant on average. The larger alpha, the longer it
takes.

``python examples/plot_rounds.py [FILE]``
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from folkmoot.theory import SlushChain

SIZES = [21, 51, 101, 201, 501, 1001, 2001, 5001]


def main(path: str = "rounds.png") -> None:
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    for alpha in (6, 7, 8):
        rounds = []
        for n in SIZES:
            chain = SlushChain(n, 10, alpha)
            rounds.append(float(chain.expected_steps()[round(0.6 * n)]) / n)
        print(f"alpha = {alpha}: " + "  ".join(f"{n} {r:.1f}" for n, r in zip(SIZES, rounds, strict=True)))
        axes.semilogx(SIZES, rounds, "o-", ms=4, label=f"alpha = {alpha}")
    axes.set_xlabel("participants")
    axes.set_ylabel("rounds until all agree (mean)")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
