"""
Who is believed where
=====================

Learn how peer review finds out which participant knows which region of the inputs.

Eight participants each hold the rows of one region of two interleaved classes. Elsewhere their models guess.
Each shows ten rows. On the left an input has the colour of the participant that answers best on the shown
rows of others near it. On the right are the accuracies.

``python examples/plot_where.py [FILE]``
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier
from folkmoot.aggregation import PeerReview

REGIONS = 8


def arcs(many: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Four arcs, one above the other, of two classes in turn."""
    arc = rng.integers(0, 4, many)
    angle, radius = rng.uniform(-1.2, 1.2, many), 3 + 1.5 * arc
    places = np.stack([1.5 * radius * np.sin(angle), radius * np.cos(angle)], axis=1)
    return places + rng.normal(scale=0.4, size=(many, 2)), arc % 2


def main(path: str = "where.png") -> None:
    rng = np.random.default_rng(1)
    (X, y), (tested, truth) = arcs(2000, rng), arcs(1500, rng)
    region = KMeans(REGIONS, n_init=2, random_state=0).fit_predict(X)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about participants with rows of few classes
        for name, rule in {
            "majority": None,
            "peer review, everywhere alike": PeerReview(local=False, expert=None),
            "peer review, by what is near": PeerReview(expert=None),
        }.items():
            moot = ConsensusClassifier([DecisionTreeClassifier()], aggregation=rule, random_state=0)
            moot.fit(X, y, groups=region)
            found[name] = moot.score(tested, truth)
            print(f"{name}: {found[name]:.2f}")
        rows = moot.shown_
    if rows is None:
        raise RuntimeError("peer review shows rows")
    right_there = [
        KNeighborsRegressor(5, weights="distance")
        .fit(rows.inputs[rows.owner != each], (votes == rows.truth)[rows.owner != each])
        .predict(tested)
        for each, votes in enumerate(rows.votes)
    ]
    most = np.argmax(right_there, axis=0)

    figure = Figure(figsize=(11.2, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.scatter(*tested.T, c=most, cmap="tab10", s=6)
    left.scatter(*np.asarray(rows.inputs).T, c="black", marker="x", s=14)
    left.set_title("who answers best nearby (x: shown rows)")
    left.set_xticks([])
    left.set_yticks([])
    right.barh(list(found), list(found.values()), color=["silver", "silver", "tab:green"])
    right.set_xlim(0, 1)
    right.set_xlabel("accuracy")
    right.invert_yaxis()
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
