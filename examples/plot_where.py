"""
Who is believed where
=====================

Learn how peer review finds out which participant knows which region of the inputs.

Eight participants each hold the rows of one region of two interleaved classes. Elsewhere their models guess.
Each shows ten rows. On the left an input has the colour of the participant that counts most there, by the
shown rows that are near. On the right are the accuracies.

``python examples/plot_where.py [FILE]``
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier
from folkmoot.aggregation import PeerReview
from folkmoot.aggregation.nearby import Nearby
from folkmoot.aggregation.panel import centred
from folkmoot.aggregation.space import Space
from folkmoot.arrays import Floats, Ints
from folkmoot.pictures.palette import GREEN, PALE, panels

REGIONS = 8


def arcs(many: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
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
        rows, votes = moot.shown_, moot.votes(tested)
    if rows is None:
        raise RuntimeError("peer review shows rows")
    nearby = Nearby(
        centred(rows.votes, 2), rows.truth, rows.owner, 1.0, np.arange(REGIONS), Space(rows.inputs), tested,
        centred(votes, 2),
    )  # fmt: skip
    most = nearby.weights(np.ones(REGIONS, dtype=np.bool_), slice(None)).argmax(axis=1)

    figure, (left, right) = panels(1, 2, size=(5.6, 4.0))
    left.scatter(*tested.T, c=most, cmap="tab10", s=6)
    left.scatter(*np.asarray(rows.inputs).T, c="black", marker="x", s=14)
    left.set_title("who counts most (x: shown rows)")
    left.set_xticks([])
    left.set_yticks([])
    right.barh(list(found), list(found.values()), color=[PALE, PALE, GREEN])
    right.set_xlim(0, 1)
    right.set_xlabel("accuracy")
    right.invert_yaxis()
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
