"""
Why, and how close it was
=========================

Learn to read why one input got its answer: who changed its mind in which round, and how few votes would
have turned it.

Ten hospitals with small decision trees answer by Slush a patient on whom their first votes are level.

``python examples/plot_closeness.py [FILE]``
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier, Slush


def main(path: str = "closeness.png") -> None:
    data = load_breast_cancer()
    X, y = data.data, data.target_names[data.target]
    hospitals = np.array([f"hospital {name}" for name in "ABCDEFGHIJ"])[np.arange(len(y)) % 10]
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    moot = ConsensusClassifier([tree], protocol=Slush(9, 5), random_state=0)
    moot.fit(X[:400], y[:400], groups=hospitals[:400])
    why = moot.why(X[400:], 14)
    print(why)
    why.plot().savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
