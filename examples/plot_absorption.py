"""
How a small majority becomes certainty
======================================

Learn how likely all participants are to end with the right answer, from any number of right first votes.

A majority of one of 501 is a coin toss; 280 right votes are certainty, and the logarithms say how certain.

``python examples/plot_absorption.py [FILE]``
"""

from __future__ import annotations

import math
import sys

from matplotlib.figure import Figure

from folkmoot.theory import SlushChain


def main(path: str = "absorption.png") -> None:
    chain = SlushChain(n=501, k=20, alpha=14)
    figure = Figure(figsize=(9.2, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(chain.blue, color="tab:blue", label="all end right")
    left.plot(chain.red, color="tab:red", label="all end wrong")
    left.set_ylabel("probability")
    right.plot(chain.log_blue / math.log(10), color="tab:blue", label="all end right")
    right.plot(chain.log_red / math.log(10), color="tab:red", label="all end wrong")
    right.set_ylabel("its decimal logarithm")
    for axes in (left, right):
        axes.set_xlabel("right first votes of 501")
        axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"from 251 of 501 right: all end right with probability {chain.blue[251]:.4f}")
    print(f"from 280 of 501 right: with probability 1 - {chain.red[280]:.1e}")
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
