"""``voting="probabilities"``: what is handed in, what is agreed on, and how far liars can move it."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from folkmoot import Others, Slush
from folkmoot.adversaries import (
    NUMBER_ATTACKS,
    ConstantClass,
    ConstantNumber,
    Equivocating,
    FarAway,
    PerfectlyMalicious,
    Silent,
    Stalling,
)
from folkmoot.datasets import load_heart
from folkmoot.learning import ParticipantWarning
from folkmoot.learning.base_learners import MODELS, for_table
from folkmoot.old import ConsensusClassifier
from folkmoot.votes import in_levels
from support.hospitals import hospitals
from support.models import Threshold
from support.shared_data import HEART, needs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=240) > 0, "yes", "no")


class Told(ClassifierMixin, BaseEstimator):
    """Fitted from the start: its probabilities stand in some columns of an input."""

    def __init__(self, columns: Any = (0, 1), classes: Any = (0, 1), times: float = 1.0) -> None:
        self.columns = columns
        self.classes = classes
        self.times = times

    @property
    def classes_(self) -> Any:
        return np.array(self.classes)

    def fit(self, X: Any, y: Any) -> Self:  # noqa: ARG002
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.times * np.asarray(X)[:, list(self.columns)]

    def predict(self, X: Any) -> Any:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def told(n: int, classes: int, **options: Any) -> ConsensusClassifier:
    """n participants, of which the i-th finds what stands in the i-th block of columns."""
    models = [Told(tuple(range(i * classes, (i + 1) * classes)), tuple(range(classes))) for i in range(n)]
    return ConsensusClassifier(models, prefit=True, voting="probabilities", **options).fit()


def drawn(n: int, classes: int, inputs: int, seed: int = 0) -> tuple[Any, Any]:
    """Chances (participant, input, class), and the inputs that tell them."""
    chances = np.random.default_rng(seed).dirichlet(np.full(classes, 0.7), (n, inputs))
    return chances, chances.transpose(1, 0, 2).reshape(inputs, -1)


def level(p: float) -> Fraction:
    return (min(int(Fraction(p) * 256), 255) + Fraction(1, 2)) / 256


def scaled(values: list[Any]) -> list[Any]:
    return [value / sum(values) for value in values]


def middle(values: list[Any], trim: int) -> Any:
    kept = sorted(values)[trim : len(values) - trim]
    return sum(kept) / len(kept)


@pytest.mark.parametrize(
    ("n", "classes", "trim"), [(2, 2, None), (4, 2, None), (10, 2, 0), (10, 3, None), (7, 5, 3)]
)
def test_without_liars_it_is_the_trimmed_mean_of_what_is_handed_in(
    n: int, classes: int, trim: int | None
) -> None:
    chances, inputs = drawn(n, classes, 40)
    moot = told(n, classes, trim=trim)
    agreed = moot.predict_proba(inputs)
    drop = (n - 1) // 3 if trim is None else trim
    for i in range(40):
        sent = [scaled([level(p) for p in chances[j, i]]) for j in range(n)]
        expected = scaled([middle([row[c] for row in sent], drop) for c in range(classes)])
        assert agreed[i] == pytest.approx([float(p) for p in expected], rel=1e-9)
    assert np.array_equal(moot.predict(inputs), agreed.argmax(axis=1))
    alone = np.concatenate([moot.predict_proba(row[None]) for row in inputs])
    assert np.array_equal(alone, agreed)


def test_the_log_pool_is_the_geometric_mean_of_the_middle() -> None:
    chances, inputs = drawn(7, 3, 40)
    agreed = told(7, 3, pool="log").predict_proba(inputs)
    for i in range(40):
        sent = np.array([scaled([float(level(p)) for p in chances[j, i]]) for j in range(7)])
        kept = np.sort(sent, axis=0)[2:5]
        expected = scaled((kept[0] * kept[1] * kept[2]) ** (1 / 3))
        assert agreed[i] == pytest.approx(expected, rel=1e-9)


def test_levels_are_eight_bits_and_none_is_certain() -> None:
    exact = np.random.default_rng(1).dirichlet([0.3, 0.3], 5000)
    rounded = in_levels(exact)
    assert len(np.unique(rounded)) <= 256
    assert 0 < rounded.min() < rounded.max() < 1
    assert np.abs(rounded - exact).max() <= 1 / 256
    np.testing.assert_allclose(rounded.sum(axis=1), 1, rtol=1e-12)


# ---- liars -----------------------------------------------------------------------------------

LIARS = [*(kind() for kind in NUMBER_ATTACKS.values()), FarAway(-3.0), ConstantClass(1), ConstantNumber(0.3)]


@pytest.mark.parametrize("pool", ["mean", "log"])
@pytest.mark.parametrize("liar", LIARS, ids=repr)
def test_a_third_of_liars_cannot_move_it_out_of_the_honest_range(liar: Any, pool: Any) -> None:
    chances, inputs = drawn(10, 2, 60, seed=3)
    honest = in_levels(chances[3:])
    low, high = honest.min(axis=0), honest.max(axis=0)
    moot = told(10, 2, pool=pool, adversaries=dict.fromkeys(range(3), liar))
    agreed = moot.predict_proba(inputs)
    assert (agreed >= low - 1e-12).all()
    assert (agreed <= high + 1e-12).all()
    sure = (low[:, 1] > 0.5) | (high[:, 1] < 0.5)  # all honest ones are for the same class
    assert np.array_equal(moot.predict(inputs)[sure], (low[sure, 1] > 0.5).astype(int))
    assert moot.deliberate(inputs).honest.tolist() == [False] * 3 + [True] * 7


def test_a_plain_mean_follows_one_liar_and_the_trimmed_one_does_not() -> None:
    inputs = np.array([[0.9, 0.1, 0.9, 0.1, 0.8, 0.2, 0.5, 0.5]])
    lie, high, low = (float(scaled([level(p), level(1 - p)])[0]) for p in (0.0, 0.9, 0.8))
    moot = told(4, 2, adversaries={3: ConstantClass(1)})
    assert moot.predict_proba(inputs)[0, 0] == pytest.approx((high + low) / 2)
    moot.set_params(trim=0)
    assert moot.predict_proba(inputs)[0, 0] == pytest.approx((2 * high + low + lie) / 4)


def test_who_knows_the_truth_lies_in_score_and_report_only() -> None:
    chances, inputs = drawn(10, 2, 80, seed=5)
    truth = (chances[3:, :, 1].mean(axis=0) > 0.5).astype(int)
    moot = told(10, 2, adversaries={i: PerfectlyMalicious() for i in range(3)})
    with pytest.raises(ValueError, match="must know the truth: use score"):
        moot.predict_proba(inputs)
    # On inputs of class 1 they say 0, on those of class 0 they say 1.
    right = 0
    for true in (0, 1):
        liars: Any = {i: ConstantClass(1 - true) for i in range(3)}
        these = inputs[truth == true]
        right += int((told(10, 2, adversaries=liars).predict(these) == true).sum())
    assert moot.score(inputs, truth) == right / 80
    assert moot.report(inputs, truth, stacking=False).accuracy() == right / 80
    moot.set_params(adversaries={0: Equivocating()})
    with pytest.raises(ValueError, match="Equivocating answers by what it sees in a talk about labels"):
        moot.predict(inputs)


# ---- what models hand in ---------------------------------------------------------------------


def test_classes_that_a_model_does_not_know() -> None:
    models = [Told((0, 1), ("a", "b")), Told((0, 1), ("c", "b")), Told((0, 1), ("a", "b"), times=0.5)]
    moot = ConsensusClassifier(models, prefit=True, voting="probabilities").fit()
    sent = [[0.75, 0.25, 0], [0, 0.25, 0.75], [0.75, 0.25, 0]]  # the third is not scaled, and is all the same
    rows = [scaled([level(p) for p in row]) for row in sent]
    expected = scaled([middle([row[c] for row in rows], 0) for c in range(3)])
    assert moot.predict_proba([[0.75, 0.25]])[0] == pytest.approx([float(p) for p in expected])
    assert moot.predict([[0.75, 0.25]]).tolist() == ["a"]


def test_a_model_without_probabilities_hands_in_its_label_and_its_holdout() -> None:
    models = [("svm", SVC()), ("one", GaussianNB()), ("two", GaussianNB())]
    moot = ConsensusClassifier(models, voting="probabilities", random_state=0)
    with pytest.warns(ParticipantWarning, match="'svm': the model has no predict_proba, so its label"):
        moot.fit(X, Y)
    svm, *others = moot.participants_
    sure = (svm.right + 1) / (svm.held_out + 2)
    votes = svm.model.predict(X[:20])
    sent = [[[sure, 1 - sure] if vote == "no" else [1 - sure, sure] for vote in votes]]
    sent += [other.model.predict_proba(X[:20]).tolist() for other in others]
    np.testing.assert_allclose(moot.predict_proba(X[:20]), in_levels(np.array(sent)).mean(axis=0), rtol=1e-9)
    # Not measured: one vote, (1 + 1/2) / 2.
    unknown = [Threshold(0.0), Threshold(0.0)]
    with pytest.warns(ParticipantWarning, match="no predict_proba"):
        prefit = ConsensusClassifier(unknown, prefit=True, voting="probabilities").fit()
    assert prefit.predict_proba([[1.0]])[0, 1] == pytest.approx(
        float(level(0.75) / (level(0.75) + level(0.25)))
    )


class Odd(Told):
    def __init__(self, answer: Any = None) -> None:
        super().__init__()
        self.answer = answer

    def predict_proba(self, X: Any) -> Any:
        return self.answer(X)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda X: 1 / 0, "ZeroDivisionError"),  # noqa: ARG005
        (lambda X: np.full((len(X), 3), 1 / 3), r"the shape \(5, 3\)"),
        (lambda X: np.full(len(X), 0.5), r"the shape \(5,\)"),
        (lambda X: np.full((len(X), 2), np.nan), "not probabilities"),
        (lambda X: np.tile([1.5, -0.5], (len(X), 1)), "not probabilities"),
    ],
)
def test_one_whose_probabilities_fail_is_left_out(answer: Any, why: str) -> None:
    _, inputs = drawn(1, 2, 5)
    models = [("odd", Odd(answer)), *((f"p{i}", Told()) for i in range(3))]
    moot = ConsensusClassifier(models, prefit=True, voting="probabilities").fit()
    with pytest.warns(ParticipantWarning, match=f"'odd .*{why}.*predict_proba failed"):
        agreed = moot.predict_proba(inputs)
    np.testing.assert_allclose(agreed, in_levels(inputs), rtol=1e-9)
    with pytest.warns(ParticipantWarning):
        report = moot.report(inputs, inputs.argmax(axis=1), stacking=False)
    assert list(report.faulty) == ["odd"]
    assert report.accuracy() == 1


# ---- as an estimator -------------------------------------------------------------------------


def test_what_does_not_go_together() -> None:
    models = [GaussianNB()] * 4
    one: Any
    for name, value in (("trust", "self-anchored"), ("protocol", Slush(3, 2)), ("sampling", Others())):
        one = {name: value}
        moot = ConsensusClassifier(models, voting="probabilities", **one)
        with pytest.raises(ValueError, match=f"{name} must be None with voting='probabilities'"):
            moot.fit(X, Y)
    for one, why in (
        ({"voting": "ranks"}, "voting must be 'labels' or 'probabilities': got 'ranks'"),
        ({"pool": "median"}, "pool must be 'mean' or 'log': got 'median'"),
        ({"voting": "probabilities", "trim": -1}, "trim"),
    ):
        with pytest.raises(ValueError, match=why):
            ConsensusClassifier(models, **one).fit(X, Y)
    moot = ConsensusClassifier(models, voting="probabilities", trim=2, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="trim must satisfy 2 trim < m, the values held: got trim=2, m=4"):
        moot.predict(X)
    with pytest.raises(ValueError, match="repeats must be 1 with voting='probabilities'"):
        moot.set_params(trim=1).deliberate(X, repeats=2)


def test_predict_score_deliberate_law_and_report_say_the_same() -> None:
    moot = ConsensusClassifier([GaussianNB()] * 9, voting="probabilities", random_state=0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing can differ
        answers = moot.predict(X)
    outcome = moot.deliberate(X, record=True)
    assert outcome.answers.tolist() == answers.tolist()
    assert outcome.agreement.min() == 1
    assert outcome.history is not None
    first = [(moot.votes(X) == colour).sum(axis=0) for colour in range(2)]
    assert (
        np.abs(outcome.history[:, 0] - np.stack(first, axis=1)).max() <= 1
    )  # an argmax may be a tie in 8 bits
    assert np.array_equal(outcome.history[:, -1], outcome.counts)
    assert moot.score(X, Y) == np.mean(answers == Y)
    assert np.array_equal(moot.classes_[moot.answer_law(X).argmax(axis=1)], answers)
    report = moot.report(X, Y)
    assert report.accuracy() == moot.score(X, Y)
    assert [line.name for line in report.lines][-3:] == [
        "talk about labels", "mean of probabilities", "consensus",
    ]  # fmt: skip
    assert "probabilities, all ask all, 2 trimmed at either end" in report.title
    assert report.bytes == report.queries * 240 * 2
    labels = clone(moot).set_params(voting="labels").fit(X, Y).report(X, Y)
    assert report.accuracy("talk about labels") == labels.accuracy("consensus")
    strange = moot.report(X, np.where(Y == "yes", "yes", "never heard of"))
    assert strange.accuracy() == np.mean((answers == "yes") & (Y == "yes"))
    assert moot.set_params(adversaries=2).sweep(X, Y, [0, 2])[0].accuracy() == report.accuracy()


def test_it_can_be_searched_over() -> None:
    moot = ConsensusClassifier([GaussianNB()] * 6, random_state=0)
    grid = [{"voting": ["labels"]}, {"voting": ["probabilities"], "pool": ["mean", "log"], "trim": [0, 1]}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(moot, grid, cv=3, scoring="neg_log_loss").fit(X, Y)
    assert search.best_params_["voting"] == "probabilities"


# ---- what it buys ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logistic", "mixed"])
def test_log_loss_of_ten_hospitals(name: str) -> None:
    losses = []
    for seed in range(3):
        moot, test, right = hospitals(name, seed)
        moot.set_params(voting="probabilities")
        losses.append(log_loss(right, moot.predict_proba(test)))
        assert losses[-1] < log_loss(right, moot.set_params(voting="labels").predict_proba(test))
    assert np.mean(losses) <= 0.143


def test_eight_bits_lose_nothing() -> None:
    gaps, changed = [], 0
    for seed in range(3):
        moot, test, right = hospitals("mixed", seed)
        rounded = moot.set_params(voting="probabilities").predict_proba(test)
        exact = np.clip([model.predict_proba(test) for model in moot.estimators_], 1 / 512, 511 / 512)
        middles = np.sort(exact / exact.sum(axis=2, keepdims=True), axis=0)[3:7].mean(axis=0)
        middles /= middles.sum(axis=1, keepdims=True)
        gaps.append(log_loss(right, rounded) - log_loss(right, middles))
        changed += int((rounded.argmax(axis=1) != middles.argmax(axis=1)).sum())
    assert np.abs(gaps).max() < 0.002
    assert changed <= 3  # of 513


@pytest.mark.slow
@needs(HEART)
def test_four_hospitals() -> None:
    soft, labels = [], []
    for seed in range(4):
        data = load_heart(HEART, test_size=0.3, seed=seed)
        model = for_table(MODELS["rf"](), len(data.feature_names), data.categorical)
        moot = ConsensusClassifier([model], random_state=seed).fit(data.X, data.y, groups=data.groups)
        labels.append(moot.score(data.X_test, data.y_test))
        moot.set_params(voting="probabilities", trim=0)
        soft.append(moot.score(data.X_test, data.y_test))
    assert np.mean(soft) > np.mean(labels) + 0.02


def test_silence_and_stalling_slow_it_down_only() -> None:
    _, inputs = drawn(10, 2, 30)
    for liar in (Silent(), Stalling()):
        outcome = told(10, 2, adversaries={0: liar, 1: liar}).deliberate(inputs)
        assert outcome.settled.all()
        assert outcome.rounds.max() > 1
