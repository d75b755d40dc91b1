"""What talking costs beside fitting: 101 forests on 48 rows of 784 features, 4,741 inputs, as in the paper.

    python benchmarks/learning.py [--json]

The rows are random images with a learnable rule, so that nothing has to be downloaded.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from folkmoot import ConsensusClassifier, Slush, deliberate
from timing import best_of, report

PARTICIPANTS, ROWS, FEATURES, INPUTS = 101, 48, 784, 4741


def measure() -> dict[str, object]:
    rng = np.random.default_rng(0)
    X = rng.random((PARTICIPANTS * ROWS + INPUTS, FEATURES), dtype=np.float32)
    y = (X[:, :40].sum(axis=1) + rng.normal(size=len(X)) > 20).astype(np.int64)
    groups = np.repeat(np.arange(PARTICIPANTS), ROWS)
    train = slice(0, PARTICIPANTS * ROWS)
    moot = ConsensusClassifier([RandomForestClassifier()], n_jobs=2, random_state=0)
    started = time.perf_counter()
    moot.fit(X[train], y[train], groups)
    fitting = time.perf_counter() - started
    started = time.perf_counter()
    votes = moot.votes(X[PARTICIPANTS * ROWS :])
    voting = time.perf_counter() - started
    deliberate(votes[:, :1], Slush(10, 6))  # compiles
    talking = best_of(3, lambda: deliberate(votes, Slush(10, 6)))
    return {
        "fitting, two processes, seconds": round(fitting, 2),
        "voting, two processes, seconds": round(voting, 2),
        "deliberating, seconds": round(talking, 4),
        "deliberating over fitting (target: under 0.02)": round(talking / fitting, 5),
    }


if __name__ == "__main__":
    report(measure, __doc__)
