"""
Up to which accuracy Slush beats a supermajority
================================================

Learn up to which accuracy of the participants a talk beats a 55% supermajority, and where the paper's table
stops.

Table 2 of the paper prints 0.92, 0.88, 0.80, 0.73 for n = 51, 101, 201, 501 and asks whether the value
stays above q = 0.55. The fall is where double precision ends; exactly, the threshold settles near 0.86.

``python examples/plot_thresholds.py [FILE]``
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from folkmoot.theory import threshold_accuracy

PRINTED = {51: 0.92, 101: 0.88, 201: 0.80, 501: 0.73}


def main(path: str = "thresholds.png") -> None:
    sizes = [51, 101, 201, 501, 1001, 2001, 5001]
    exact = [threshold_accuracy(n, k=10, alpha=7, q=0.55) for n in sizes]
    for n, value in zip(sizes, exact, strict=True):
        printed = f"   (printed: {PRINTED[n]:.2f})" if n in PRINTED else ""
        print(f"n = {n:>5}   p_th = {value:.6f}{printed}")
    figure = Figure(figsize=(5.6, 4.0), layout="constrained")
    axes = figure.subplots()
    axes.semilogx(sizes, exact, "o-", label="exact")
    axes.semilogx(list(PRINTED), list(PRINTED.values()), "s--", label="printed in the paper")
    axes.axhline(0.55, color="grey", ls=":", label="q = 0.55")
    axes.set_xlabel("participants n")
    axes.set_ylabel(r"$p_{th}$")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
