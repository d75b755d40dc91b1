"""``ConsensusRegressor``: one number from many, also with liars who shout."""

from __future__ import annotations

import itertools
import pickle
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor

from folkmoot.adversaries import ConstantNumber, FarAway, PerfectlyMalicious, RandomNumber, Silent, Stalling
from folkmoot.aggregation import RULES
from folkmoot.learning import ParticipantWarning, ProtocolWarning
from folkmoot.old import ConsensusRegressor

DATA = load_diabetes()
TRAIN, TEST = np.arange(0, 442, 2), np.arange(1, 442, 2)
X, Y, NEW, TRUTH = DATA.data[TRAIN], DATA.target[TRAIN], DATA.data[TEST], DATA.target[TEST]


class Says(RegressorMixin, BaseEstimator):
    """Fitted from the start: always says its number."""

    def __init__(self, number: Any = 0.0) -> None:
        self.number = number

    def fit(self, X: Any, y: Any) -> Self:  # noqa: ARG002
        return self

    def predict(self, X: Any) -> Any:
        if isinstance(self.number, Exception):
            raise self.number
        return np.tile(np.asarray(self.number), (len(X), *[1] * np.ndim(self.number)))


def says(*numbers: Any, **options: Any) -> ConsensusRegressor:
    return ConsensusRegressor(
        [Says(number) for number in numbers], prefit=True, random_state=0, **options
    ).fit()


def moot(**options: Any) -> ConsensusRegressor:
    models = [Ridge(0.1), Ridge(1.0), KNeighborsRegressor(3)] * 7
    return ConsensusRegressor(models, random_state=0, **options).fit(X, Y)


# ---- one number ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("mean", 22.0),  # of 1, 2, 3, 4, 100
        ("median", 3.0),
        ("geometric-median", 3.0),
        ("trimmed-mean", 3.0),  # one off each end
        ("krum", 2.0),  # 2 and 3 are as near to their two nearest; the smallest wins
    ],
)
def test_everybody_asks_everybody(rule: str, expected: float) -> None:
    agreed = says(1.0, 2.0, 3.0, 4.0, 100.0, rule=rule)
    assert agreed.predict(np.zeros((3, 1))).tolist() == pytest.approx([expected] * 3)
    outcome = agreed.deliberate(np.zeros((3, 1)))
    assert outcome.settled.all()
    assert outcome.queries == 5 * 4


def test_shards_share_the_range_of_y() -> None:
    class Witness(Says):
        def fit(self, X: Any, y: Any) -> Self:
            self.rows_, self.y_ = np.asarray(X), np.asarray(y)
            return self

    fitted = ConsensusRegressor([Witness()] * 5).fit(X, Y)
    assert np.array_equal(np.sort(np.concatenate([m.y_ for m in fitted.estimators_])), np.sort(Y))
    assert (
        max(abs(np.mean(m.y_) - Y.mean()) for m in fitted.estimators_) < 6
    )  # random halves differ by 10 and more


def test_it_learns_real_data() -> None:
    fitted = moot()
    each = [model.score(NEW, TRUTH) for model in fitted.estimators_]
    assert fitted.score(NEW, TRUTH) > np.mean(each) + 0.05


def test_several_outputs() -> None:
    both = np.stack([Y, -Y], axis=1)
    fitted = ConsensusRegressor([Ridge(0.1)] * 6, random_state=0).fit(X, both)
    found = fitted.predict(NEW)
    assert found.shape == (len(NEW), 2)
    assert np.allclose(found[:, 0], -found[:, 1])
    table = fitted.set_output(transform="pandas").transform(NEW)
    assert table.shape == (len(NEW), 12)
    assert table.columns[1] == "ridge-1_1"


def test_a_row_keeps_its_number_in_any_company() -> None:
    fitted = moot(k=4, adversaries={0: RandomNumber()})
    together = fitted.predict(NEW)
    assert fitted.predict(NEW[::-1])[::-1] == pytest.approx(together, rel=1e-9)
    assert [fitted.predict(row[None])[0] for row in NEW[:20]] == pytest.approx(together[:20], rel=1e-9)


def test_groups_weights_columns_frames_pickles_and_searches() -> None:
    groups = np.array(["a", "b", "c"])[np.arange(len(Y)) % 3]
    table = pd.DataFrame(X, columns=DATA.feature_names)
    fitted = ConsensusRegressor([Ridge(0.1)], columns={"b": ["bmi", "bp"]}, random_state=0)
    fitted.fit(table, Y, groups, sample_weight=np.ones(len(Y)))
    assert [p.name for p in fitted.participants_] == ["a", "b", "c"]
    assert fitted.estimators_[1].n_features_in_ == 2
    new = pd.DataFrame(NEW, columns=DATA.feature_names)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(new), fitted.predict(new))  # noqa: S301
    assert fitted.set_output(transform="polars").transform(new).columns == ["a", "b", "c"]
    search = GridSearchCV(moot(), {"rule": list(RULES), "ridge-1__alpha": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_params_["rule"] in RULES


def test_parallel_is_the_same() -> None:
    one = ConsensusRegressor([RandomForestRegressor(5)] * 4, random_state=3).fit(X, Y)
    two = ConsensusRegressor([RandomForestRegressor(5)] * 4, random_state=3, n_jobs=2).fit(X, Y)
    assert np.array_equal(one.predict(NEW), two.predict(NEW))


# ---- liars -----------------------------------------------------------------------------------

ATTACKS = [ConstantNumber(1e4), RandomNumber(), FarAway(), Stalling(), Silent()]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: type(attack).__name__)
@pytest.mark.parametrize("rule", ["trimmed-mean", "median"])
def test_what_is_agreed_lies_within_the_honest_range(rule: str, attack: Any) -> None:
    fitted = moot(rule=rule, adversaries=dict.fromkeys(range(6), attack))  # 6 of 21: fewer than a third
    honest = np.array([model.predict(NEW) for model in fitted.estimators_[6:]])
    outcome = fitted.deliberate(NEW)
    held = outcome.numbers[6:]
    assert (held >= honest.min(axis=0)).all()
    assert (held <= honest.max(axis=0)).all()
    assert (outcome.decision >= honest.min(axis=0)).all()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: type(attack).__name__)
def test_the_diameter_shrinks_every_round(attack: Any) -> None:
    fitted = moot(adversaries=dict.fromkeys(range(6), attack))
    outcome = fitted.deliberate(NEW, record=True)
    assert outcome.history is not None
    assert outcome.settled.all()
    for spreads, rounds in zip(outcome.history, outcome.rounds, strict=True):
        for before, after in itertools.pairwise(spreads[: rounds + 1]):
            # 6 liars, 21 numbers, 6 trimmed off each end: at most 6 of 9 parts of the diameter are left.
            assert after <= before * 6 / 9 + 1e-9


def test_it_beats_the_plain_mean_under_attack() -> None:
    fitted = moot()
    calm = fitted.report(NEW, TRUTH)
    attacked = fitted.set_params(adversaries=4).report(NEW, TRUTH)
    assert len(attacked.byzantine) == 4
    consensus, mean = attacked.error(), attacked.error("mean")
    assert consensus is not None
    assert mean is not None
    assert mean > 1e4 > 100 * consensus
    assert consensus < 1.1 * (calm.error() or 0)
    broken = fitted.set_params(rule="mean").report(NEW, TRUTH)
    assert (broken.error() or 0) > 1e4


def test_the_report_by_hand() -> None:
    fitted = moot()
    report = fitted.report(NEW, TRUTH)
    answers = np.array([model.predict(NEW) for model in fitted.estimators_])

    def error(numbers: Any) -> float:
        return float(np.sqrt(np.mean((numbers - TRUTH) ** 2)))

    assert report.error("mean") == pytest.approx(error(answers.mean(axis=0)))
    assert report.error("median") == pytest.approx(error(np.median(answers, axis=0)))
    assert report.error("mean participant") == pytest.approx(np.mean([error(each) for each in answers]))
    assert report.error("best participant") == pytest.approx(min(error(each) for each in answers))
    assert report.error() == pytest.approx(error(fitted.predict(NEW)))
    assert report.lines[-1].r2 == pytest.approx(fitted.score(NEW, TRUTH))
    assert report.bytes == report.queries * len(NEW) * 8
    assert str(report).startswith("21 participants, 221 inputs; trimmed-mean")
    assert "stacking" in report._repr_html_()
    assert len(report.plot().axes[0].patches) == 6
    assert report.to_dict()["lines"][-1]["name"] == "consensus"
    with pytest.raises(ValueError, match="name must be one of mean participant"):
        report.error("nobody")


# ---- bad input -------------------------------------------------------------------------------


def test_who_cannot_predict_is_left_out_and_named() -> None:
    fitted = says(1.0, OSError("no power"), 2.0, np.nan, 3.0)
    with pytest.warns(
        ParticipantWarning,
        match="'says-2 .OSError: no power.', 'says-4 .predict returned something that is not",
    ):
        assert fitted.predict(np.zeros((2, 1))).tolist() == [2.0, 2.0]
    with pytest.warns(ParticipantWarning):
        report = fitted.report(np.zeros((2, 1)), [2.0, 2.0])
    assert set(report.faulty) == {"says-2", "says-4"}
    assert report.n_participants == 5
    assert report.error("stacking") is None  # two inputs are too few to learn from
    with pytest.raises(ValueError, match="no participant can answer; the first, 'says-1', says OSError: out"):
        says(OSError("out"), OSError("out")).predict(np.zeros((2, 1)))
    odd = says([1.0, 2.0], [3.0, 4.0], 5.0)
    with pytest.warns(ParticipantWarning, match=r"'says-3 .predict returned the shape \(2,\).'"):
        assert odd.predict(np.zeros((2, 1))).shape == (2, 2)


def test_too_few_peers_to_ask() -> None:
    with pytest.warns(ProtocolWarning, match="3 participants are too few to ask k=7 others"):
        agreed = says(1.0, 2.0, 3.0, k=7)
    assert agreed.predict(np.zeros((1, 1))).tolist() == [2.0]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"rule": "average"}, "rule must be one of trimmed-mean, median, geometric-median, krum, mean"),
        ({"rule": "median", "trim": 1}, "trim must be None for 'median', which has none: got 1"),
        ({"trim": -1}, "trim must satisfy trim >= 0"),
        ({"trim": 2}, "trim must satisfy 2 trim < m, the values held: got trim=2, m=3"),
        ({"k": 0}, "k must satisfy k >= 1: got k=0"),
        ({"rounds": -1}, "rounds must satisfy rounds >= 0"),
        ({"tolerance": -1.0}, "tolerance must satisfy tolerance >= 0"),
        ({"adversaries": 3}, "byzantine must satisfy 0 <= byzantine < n: got byzantine=3, n=3"),
        ({"adversaries": {0: PerfectlyMalicious()}}, "must map participants to NumberAdversary"),
        ({"adversaries": {"nobody": FarAway()}}, "there is no 'nobody'"),
    ],
)  # fmt: skip
def test_bad_settings(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises((ValueError, TypeError), match=complaint):
        says(1.0, 2.0, 3.0, **options).predict(np.zeros((1, 1)))


def test_bad_rows() -> None:
    with pytest.raises(ValueError, match="requires y to be passed"):
        ConsensusRegressor([Ridge()] * 3).fit(X)
    with pytest.raises(
        ValueError, match=r"participant 'ridge-\d' .Ridge. cannot be fitted: Input X contains NaN"
    ):
        ConsensusRegressor([Ridge()] * 3).fit(np.where(X > 0.1, np.nan, X), Y)
    with pytest.raises(ValueError, match="more participants than rows"):
        ConsensusRegressor([Ridge()] * 3).fit(X[:2], Y[:2])
    with pytest.raises(
        ValueError, match=r"y must have the shape of the predictions, \(221, 1\): got \(221, 2\)"
    ):
        moot().report(NEW, np.stack([TRUTH, TRUTH], axis=1))
