"""Reports of fitted moots: what ``predict`` answers, scored by hand and by scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.metrics import f1_score, log_loss, mean_absolute_error, root_mean_squared_error
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from folkmoot import Slush
from folkmoot.aggregation import Median, PeerReview
from folkmoot.datasets import load_digits_moot
from folkmoot.datasets.moot_data import MootData
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.learning.regressor import ConsensusRegressor
from folkmoot.learning.reporting import reports


@pytest.fixture(scope="module")
def digits() -> MootData:
    return load_digits_moot(8, seed=0)


@pytest.fixture(scope="module")
def moot(digits: MootData) -> ConsensusClassifier:
    model = GaussianNB(var_smoothing=0.1)
    return ConsensusClassifier([model], random_state=0).fit(digits.X, digits.y, digits.groups)


@pytest.mark.parametrize(
    "options",
    [{}, {"protocol": Slush(4, 3)}, {"voting": "probabilities"}, {"abstain_below": 0.6, "reject_label": -1}],
    ids=["council", "slush", "probabilities", "withheld"],
)
def test_the_consensus_is_scored_by_what_predict_answers(
    digits: MootData, moot: ConsensusClassifier, options: dict[str, Any]
) -> None:
    before = moot.get_params(deep=False)
    moot.set_params(**options)
    try:
        (report,) = reports(moot, digits.X_test, digits.y_test, stacking=False)
        answers = moot.predict(digits.X_test)
        assert report.score() == pytest.approx(np.mean(answers == digits.y_test))
        assert report.main.coverage == pytest.approx(np.mean(answers != -1))
    finally:
        moot.set_params(**{name: before[name] for name in options})


def test_adversaries_are_an_experiment(digits: MootData, moot: ConsensusClassifier) -> None:
    found = list(reports(moot, digits.X_test, digits.y_test, [None, 2, 5], stacking=False))
    assert [len(each.malicious) for each in found] == [0, 2, 5]
    assert set(found[1].malicious) <= set(found[2].malicious)
    assert found[0].score() > found[1].score() > found[2].score()  # type: ignore[operator]
    votes = moot.votes(digits.X_test)
    (only,) = reports(moot, digits.X_test, digits.y_test, stacking=False)
    assert only.score("mean participant") == pytest.approx((votes == digits.y_test).mean())


def test_labels_that_nobody_has_learnt_are_answered_wrong(
    digits: MootData, moot: ConsensusClassifier
) -> None:
    assert digits.y_test is not None
    y = np.where(digits.y_test == 3, 77, digits.y_test)
    for number in (None, 2):
        (report,) = reports(moot, digits.X_test, y, [number])
        assert report.classes == 11
        if number is None:
            assert report.score() == pytest.approx(np.mean(moot.predict(digits.X_test) == y))


def test_a_label_between_those_learnt_is_answered_wrong_too() -> None:
    X, y = np.arange(40.0)[:, None], np.repeat([0, 2], 20)
    moot = ConsensusClassifier([DecisionTreeClassifier(max_depth=2)], random_state=0).fit(X, y, X[:, 0] % 4)
    new = np.where(X[:, 0] < 5, 1, np.where(X[:, 0] == 7, -3, y))
    report = moot.report(X, new, scoring="f1_macro", stacking=False)
    assert report.score() == pytest.approx(np.mean(moot.predict(X) == new))
    assert report.main.scores["f1_macro"] == pytest.approx(f1_score(new, moot.predict(X), average="macro"))


def test_scores_are_scikit_learns(digits: MootData, moot: ConsensusClassifier) -> None:
    names = ["f1_macro", "neg_log_loss"]
    (report,) = reports(moot, digits.X_test, digits.y_test, scoring=names, stacking=False)
    told, answers = report.main.scores, moot.predict(digits.X_test)
    assert told["f1_macro"] == pytest.approx(f1_score(digits.y_test, answers, average="macro"))
    assert told["neg_log_loss"] == pytest.approx(-log_loss(digits.y_test, moot.predict_proba(digits.X_test)))
    each = [f1_score(digits.y_test, votes, average="macro") for votes in moot.votes(digits.X_test)]
    assert report.line("mean participant").scores["f1_macro"] == pytest.approx(np.mean(each))
    assert "neg_log_loss" not in report.line("majority").scores


def test_groups_alone_and_together(digits: MootData, moot: ConsensusClassifier) -> None:
    assert digits.y_test is not None
    groups = np.arange(len(digits.y_test)) % 8
    (report,) = reports(moot, digits.X_test, digits.y_test, groups=groups, stacking=False)
    assert report.joining is not None
    answers, votes = moot.predict(digits.X_test), moot.votes(digits.X_test)
    for i, row in enumerate(report.joining.rows):
        here = groups == i
        assert row.together == pytest.approx((answers == digits.y_test)[here].mean())
        assert row.alone == pytest.approx((votes[i] == digits.y_test)[here].mean())


def test_peer_review_has_the_mean_of_final_votes_beside_the_answer(digits: MootData) -> None:
    moot = ConsensusClassifier([GaussianNB(var_smoothing=0.1)], aggregation=PeerReview(rows=10))
    moot.set_params(random_state=0).fit(digits.X, digits.y, digits.groups)
    (report,) = reports(moot, digits.X_test, digits.y_test, [5], stacking=False)
    assert report.score("mean final vote") > report.score("majority") + 0.2  # type: ignore[operator]


def test_numbers() -> None:
    X, y = load_diabetes(return_X_y=True)
    moot = ConsensusRegressor([Ridge(0.1)] * 7, aggregation=Median(), holdout=0.2, random_state=0)
    moot.fit(X[:300], y[:300])
    plain, lied = reports(moot, X[300:], y[300:], [None, 2], scoring="neg_mean_absolute_error")
    answers = moot.predict(X[300:])
    assert plain.score() == pytest.approx(root_mean_squared_error(y[300:], answers))
    told = plain.main.scores["neg_mean_absolute_error"]
    assert told == pytest.approx(-mean_absolute_error(y[300:], answers))
    assert lied.score("mean") > 2 * plain.score("mean")  # type: ignore[operator]
    assert plain.participants.rows[0].held_out > 0
    with pytest.raises(ValueError, match="one answer per input"):
        list(reports(moot, X[300:], y[:10]))
