"""
What each shown row buys
========================

Learn how accuracy grows with the number of labelled rows that each participant shows to its peers.

30 participants read handwritten digits; each knows mostly a few of the ten (label skew). A vote counts
everybody alike. In peer review each learns, from the rows that are shown, who is right about which digit.
This is the only aggregation for which rows are shown.

``python examples/plot_peer_review.py [FILE]``
"""

from __future__ import annotations

import sys
import warnings

from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier
from folkmoot.aggregation import PeerReview
from folkmoot.datasets import load_digits_moot

PARTICIPANTS = 30


def main(path: str = "peer_review.png") -> None:
    data = load_digits_moot(n_participants=PARTICIPANTS, seed=0)
    shown = [2, 4, 6, 10, 15]
    accuracy = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about participants with rows of few classes
        alone = ConsensusClassifier([DecisionTreeClassifier()], random_state=0)
        alone.fit(data.X, data.y, groups=data.groups)
        centre = alone.score(data.X_test, data.y_test)
        print(f"no rows shown: {centre:.3f}")
        for rows in shown:
            moot = ConsensusClassifier(
                [DecisionTreeClassifier()], aggregation=PeerReview(rows=rows), random_state=0
            )
            moot.fit(data.X, data.y, groups=data.groups)
            accuracy.append(moot.score(data.X_test, data.y_test))
            print(f"{rows:>2} rows shown by each: peer review {accuracy[-1]:.3f}")
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    axes.plot(shown, accuracy, "o-", color="tab:green", label="peer review")
    axes.axhline(centre, color="silver", ls="--", label="majority, nothing shown")
    axes.set_xlabel("labelled rows that each participant shows")
    axes.set_ylabel("accuracy")
    axes.set_ylim(top=1.0)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
