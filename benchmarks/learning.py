"""What deliberating costs beside fitting (101 forests, as in the paper), and predict beside VotingClassifier.

    python benchmarks/learning.py [--json]

500 participants, some of them liars, come to final votes on 4,000 inputs by own aggregations. Their processor
time stands beside that of one fit of scikit-learn's RidgeCV to the same shown rows, in the same run.
101 forests learn on 48 rows of 784 features each and answer 4,741 inputs; 20 trees answer 100,000 inputs.
The rows are random with a learnable rule, so that nothing has to be downloaded.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import RidgeCV
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier, Slush, deliberate
from folkmoot.aggregation import HoldoutTrust, Known, PeerReview, Rows
from folkmoot.aggregation.interface import OwnAggregation
from folkmoot.aggregation.ridge import STRENGTHS
from folkmoot.arrays import Array
from timing import best_of, report

PARTICIPANTS, ROWS, FEATURES, INPUTS = 101, 48, 784, 4741
TREES, MANY = 20, 100_000
CROWD, TABLE, SHOWN, HELD = 500, 4000, 10, 20
ALLOWED = 60.0  # seconds, for final votes of the crowd
NOISY = 0.3  # labels of shown rows that are told at random: judges then accept different rows


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
    return believed() | {
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


def believed() -> dict[str, object]:
    """Processor seconds of final votes, over those that are allowed and over one fit to the shown rows."""
    crowds = {
        "HoldoutTrust": crowd(HELD, 2, 0.0),
        "PeerReview": crowd(SHOWN, 2, 0.0),
        "PeerReview, noisy labels": crowd(SHOWN, 2, NOISY),
        "PeerReview, three classes, noisy labels": crowd(SHOWN, 3, NOISY),
    }
    found: dict[str, object] = {}
    for name, (votes, rows) in crowds.items():
        rule: OwnAggregation = HoldoutTrust() if name == "HoldoutTrust" else PeerReview(SHOWN)
        shown = (rows.votes.T[:, :, None] == np.arange(votes.max() + 1)).reshape(len(rows.truth), -1)
        if isinstance(rule, HoldoutTrust):
            rows = Rows(
                np.where(rows.owner == np.arange(CROWD)[:, None], rows.votes, -1), rows.truth, rows.owner
            )
        few = Rows(rows.votes[:20], rows.truth, rows.owner % 20)
        rule.final_votes(votes[:20, :200], Known(rows=few))  # compiles
        ours = best_of(1, partial(rule.final_votes, votes, Known(rows=rows)), time.process_time)
        target = np.eye(votes.max() + 1)[rows.truth]
        fit = partial(RidgeCV(STRENGTHS).fit, shown.astype(np.float64), target)
        found[f"500 final votes, 4,000 inputs, {name} over 60 s (target: under 1)"] = round(ours / ALLOWED, 3)
        found[f"{name} over one RidgeCV of its rows, {shown.shape[0]} x {shown.shape[1]}"] = round(
            ours / best_of(1, fit, time.process_time), 1
        )
    return found


def crowd(each: int, classes: int, noise: float) -> tuple[Array, Rows]:
    """Votes of a crowd, of which a quarter always lies, and the rows of which each shows so many."""
    rng = np.random.default_rng(2)
    rows = CROWD * each
    truth = rng.integers(0, classes, rows + TABLE)
    right = rng.random((CROWD, len(truth))) < 0.35 + 0.5 * rng.random(len(truth))
    wrong = (truth + rng.integers(1, classes, right.shape)) % classes
    votes = np.where(right, truth, wrong)
    votes[: CROWD // 4] = (truth + 1) % classes
    told = np.where(rng.random(rows) < noise, rng.integers(0, classes, rows), truth[:rows])
    return votes[:, rows:], Rows(votes[:, :rows], told, np.arange(rows) % CROWD)


if __name__ == "__main__":
    report(measure, __doc__)
