"""
How a small majority becomes certainty
======================================

Learn how likely all participants are to end with the right answer, from any number of right first votes.

A majority of one of 501 is a coin toss; 280 right votes are certainty, and the logarithms say how certain.

``python examples/plot_absorption.py [FILE]``
"""

from __future__ import annotations

import sys

from folkmoot.report import theory_figures as pictures
from folkmoot.theory import SlushChain


def main(path: str = "absorption.png") -> None:
    chain = SlushChain(n=501, k=20, alpha=14)
    pictures.absorption(chain).savefig(path, dpi=150)
    print(f"from 251 of 501 right: all end right with probability {chain.blue[251]:.4f}")
    print(f"from 280 of 501 right: with probability 1 - {chain.red[280]:.1e}")
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
