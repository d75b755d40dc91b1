"""
Who is off
==========

Learn to find the participant whose labels are wrong, although its own held-out rows look perfect.

Ten hospitals share breast cancer records; one has its labels the wrong way round. By its own rows it is as
good as the others. Beside the answer of the moot it stands alone.

``python examples/plot_who_is_off.py [FILE]``
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from folkmoot import ConsensusClassifier


def main(path: str = "who_is_off.png") -> None:
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    hospital = np.array([f"hospital {i}" for i in rng.integers(0, 10, len(y))])
    test = rng.random(len(y)) < 0.4
    given = np.where((hospital == "hospital 3") & ~test, 1 - y, y)
    moot = ConsensusClassifier([make_pipeline(StandardScaler(), LogisticRegression())], random_state=0)
    moot.fit(X[~test], given[~test], groups=hospital[~test])
    table = moot.report(X[test], y[test], groups=hospital[test]).participants
    print(table)
    rows = table.rows
    places = np.arange(len(rows))
    figure = Figure(figsize=(6.8, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.barh(
        places + 0.2,
        [row.holdout or 0.0 for row in rows],
        0.4,
        color="silver",
        label="right on its own held-out rows",
    )
    colours = ["tab:red" if row.finding else "tab:blue" for row in rows]
    axes.barh(
        places - 0.2, [row.agreement or 0.0 for row in rows], 0.4, color=colours, label="agrees with the moot"
    )
    axes.set_yticks(places, [row.name for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.legend(frameon=True, loc="lower left")
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
