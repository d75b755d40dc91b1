"""What deliberating costs beside fitting (101 forests, as in the paper), and predict beside VotingClassifier.

    python benchmarks/learning.py [--json]

500 participants, some of them liars, come to final votes on 4,000 inputs by own aggregations.
101 forests learn on 48 rows of 784 features each and answer 4,741 inputs; 20 trees answer 100,000 inputs.
The rows are random with a learnable rule, so that nothing has to be downloaded.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier, Slush, deliberate
from folkmoot.aggregation import HoldoutTrust, Known, OwnAggregation, PeerReview, Rows
from timing import best_of, report

PARTICIPANTS, ROWS, FEATURES, INPUTS = 101, 48, 784, 4741
TREES, MANY = 20, 100_000
CROWD, TABLE, SHOWN, HELD = 500, 4000, 10, 20
ALLOWED = 60.0  # seconds, for final votes of the crowd


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
    ours, theirs = predicting()
    held, reviewed = believing(HoldoutTrust(), HELD), believing(PeerReview(SHOWN), SHOWN)
    return {
        "500 final votes, 4,000 inputs, HoldoutTrust over 60 s (target: under 1)": round(held / ALLOWED, 3),
        "the same by PeerReview over 60 s (target: under 1)": round(reviewed / ALLOWED, 3),
        "predict of 20 trees for 100,000 inputs, seconds": round(ours, 3),
        "the same by VotingClassifier, seconds": round(theirs, 3),
        "predict over VotingClassifier (target: at most 1.5)": round(ours / theirs, 3),
        "fitting, two processes, seconds": round(fitting, 2),
        "voting, two processes, seconds": round(voting, 2),
        "deliberating, seconds": round(talking, 4),
        "deliberating over fitting (target: under 0.02)": round(talking / fitting, 5),
    }


def predicting() -> tuple[float, float]:
    """Seconds of ``predict`` by a council and by ``VotingClassifier(voting="hard")``, of the same trees."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(MANY, 10))
    y = (X[:, :3].sum(axis=1) > 0).astype(np.int64)
    trees = [(f"tree{i}", DecisionTreeClassifier(max_depth=8, random_state=i)) for i in range(TREES)]
    voting = VotingClassifier(trees, voting="hard").fit(X[:2000], y[:2000])
    moot = ConsensusClassifier(voting.estimators_, prefit=True).fit()
    return best_of(5, lambda: moot.predict(X)), best_of(5, lambda: voting.predict(X))


def believing(rule: OwnAggregation, each: int) -> float:
    """Seconds of all final votes of a crowd, of which a quarter always lies; each has so many rows."""
    rng = np.random.default_rng(2)
    rows = CROWD * each
    truth = rng.integers(0, 2, rows + TABLE)
    right = rng.random((CROWD, len(truth))) < 0.35 + 0.5 * rng.random(len(truth))
    right[: CROWD // 4] = False
    votes = np.where(right, truth, 1 - truth)
    owner = np.arange(rows) % CROWD
    on_rows = votes[:, :rows]
    if isinstance(rule, HoldoutTrust):
        on_rows = np.where(owner == np.arange(CROWD)[:, None], on_rows, -1)
    table, known = votes[:, rows:], Known(rows=Rows(on_rows, truth[:rows], owner))
    rule.final_votes(table[:20, :200], Known(rows=Rows(on_rows[:20], truth[:rows], owner % 20)))  # compiles
    return best_of(1, lambda: rule.final_votes(table, known))


if __name__ == "__main__":
    report(measure, __doc__)
