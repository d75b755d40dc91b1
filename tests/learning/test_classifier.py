"""``ConsensusClassifier`` by composition, held to peers of scikit-learn and to fractions."""

from __future__ import annotations

import pickle
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import LabelEncoder
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from folkmoot import Council, Slush, Snowball, StrongConfidence
from folkmoot.aggregation import DawidSkene, Median, Plurality, Pool
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.learning.classifier import ConsensusClassifier
from folkmoot.learning.participants import ParticipantWarning

MODELS = [LogisticRegression(max_iter=200), KNeighborsClassifier(3), GaussianNB()]


class Says(ClassifierMixin, BaseEstimator):
    """A fitted model that looks its answers up, by the row's only number."""

    def __init__(self, answers: Any, classes: Any = ("a", "b", "c")) -> None:
        self.answers = answers
        self.classes = classes
        self.classes_ = np.asarray(classes)

    def predict(self, X: Any) -> Any:
        said = [self.answers[int(row[0])] for row in np.asarray(X)]
        return np.array(said, dtype=object if None in said else None)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def moot_of(*answers: Any, **settings: Any) -> ConsensusClassifier:
    return ConsensusClassifier([Says(each) for each in answers], prefit=True, **settings).fit()


def inputs(many: int) -> Any:
    return np.arange(many)[:, None]


@pytest.fixture(scope="module")
def trees() -> tuple[Any, Any, list[Any]]:
    X, y = load_digits(return_X_y=True)
    return X, y, [DecisionTreeClassifier(max_depth=6, random_state=i).fit(X[i::9], y[i::9]) for i in range(9)]


def voting(models: list[Any], y: Any, how: str) -> VotingClassifier:
    """scikit-learn's own, of models that are fitted."""
    peer = VotingClassifier([(str(i), model) for i, model in enumerate(models)], voting=how)
    peer.estimators_ = models
    peer.le_ = LabelEncoder().fit(y)
    peer.classes_ = peer.le_.classes_
    return peer


def test_predict_computes_no_probabilities(trees: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, models = trees

    def computed(*_: Any) -> Any:
        raise AssertionError("probabilities were computed")

    monkeypatch.setattr(ConsensusClassifier, "_likely", computed)
    moot = ConsensusClassifier(models, prefit=True).fit()
    assert len(moot.predict(X[:50])) == 50
    with pytest.raises(AssertionError, match="probabilities were computed"):
        moot.predict_proba(X[:5])


def test_labels_are_those_of_a_hard_vote(trees: Any) -> None:
    X, y, models = trees
    moot = ConsensusClassifier(models, prefit=True).fit()
    np.testing.assert_array_equal(moot.predict(X), voting(models, y, "hard").predict(X))


def test_probabilities_are_those_of_a_soft_vote(trees: Any) -> None:
    X, y, models = trees
    rule = Pool(robust=False)  # all count alike
    moot = ConsensusClassifier(models, prefit=True, voting="probabilities", aggregation=rule).fit()
    np.testing.assert_allclose(moot.predict_proba(X), voting(models, y, "soft").predict_proba(X))
    np.testing.assert_array_equal(moot.predict(X), moot.classes_[moot.predict_proba(X).argmax(axis=1)])


def test_chances_of_a_plurality_are_laplace_s(trees: Any) -> None:
    X, _, models = trees
    moot = ConsensusClassifier(models, prefit=True).fit()
    said = np.stack([model.predict(X[:20]) for model in models])
    expected = [
        [float((Fraction(Counter(row.tolist())[label]) + Fraction(1, 10)) / 10) for label in range(10)]
        for row in said.T
    ]
    np.testing.assert_allclose(moot.predict_proba(X[:20]), expected)


def test_no_answer_is_no_vote() -> None:
    """None, NaN and labels that are none of the classes leave a gap; they do not count anywhere."""
    moot = moot_of(["a", None, "a", None], ["b", "b", None, None], ["a", "b", "x", None])
    with pytest.warns(ParticipantWarning, match="says-3.*none of the classes"):
        votes = moot.votes(inputs(4))
    np.testing.assert_array_equal(votes, [[0, -1, 0, -1], [1, 1, -1, -1], [0, 1, -1, -1]])
    with pytest.warns(ParticipantWarning):
        assert moot.predict(inputs(4)).tolist() == ["a", "b", "a", "a"]  # the last by nobody: the first class
    with pytest.warns(ParticipantWarning):
        np.testing.assert_allclose(moot.predict_proba(inputs(4))[3], [1 / 3] * 3)


def test_a_model_that_fails_is_left_out() -> None:
    class Fails(Says):
        def predict(self, X: Any) -> Any:  # noqa: ARG002
            raise RuntimeError("no power")

    moot = ConsensusClassifier([Says(["a"]), Fails(["b"]), Says(["a"])], prefit=True).fit()
    with pytest.warns(ParticipantWarning, match="no power"):
        assert moot.predict(inputs(1)).tolist() == ["a"]


def test_ties_and_too_few_votes_go_to_the_first_of_the_best() -> None:
    moot = moot_of(["b", "c"], ["a", "c"], ["b", "a"], ["a", "a"])
    assert moot.predict(inputs(2)).tolist() == ["a", "a"]
    moot.set_params(aggregation=Plurality(least=4))
    assert moot.deliberate(inputs(2)).undecided == 2
    assert moot.predict(inputs(2)).tolist() == ["a", "a"]


@pytest.mark.parametrize("many", [62, 216, 5000])
def test_any_number_of_labels(many: int) -> None:
    rng = np.random.default_rng(0)
    labels = np.array([f"label {i}" for i in range(many)])
    truth = rng.integers(0, many, 400)
    said = [np.where(rng.random(400) < 0.7, truth, rng.integers(0, many, 400)) for _ in range(7)]
    models = [Says(labels[each].tolist(), labels) for each in said]
    moot = ConsensusClassifier(models, prefit=True).fit()
    expected = labels[np.maximum(aggregate(np.stack(said)).decision, 0)]
    ties = aggregate(np.stack(said)).decision == -1
    found = moot.predict(inputs(400))
    names = moot.classes_.tolist()
    assert (found[~ties] == expected[~ties]).all()
    for i in np.flatnonzero(ties):  # the first in the order of the labels
        count = Counter(str(model.answers[i]) for model in models)
        assert found[i] == min((n for n in count if count[n] == max(count.values())), key=names.index)


@pytest.mark.parametrize("many", [9, 300])
def test_snow_protocols_take_any_number_of_labels(many: int) -> None:
    """All hold the same on most inputs, so that what must come out is known."""
    labels = np.array([f"label {i:03}" for i in range(many)])
    truth = np.arange(60) % many
    models = [Says(labels[truth].tolist(), labels) for _ in range(5)]
    models.append(Says(labels[(truth + 1) % many].tolist(), labels))
    moot = ConsensusClassifier(models, prefit=True, protocol=Slush(5, 5), random_state=0).fit()
    assert (moot.predict(inputs(60)) == labels[truth]).all()


def test_every_part_is_a_parameter() -> None:
    moot = ConsensusClassifier(MODELS, aggregation=Plurality(), protocol=Slush(2, 2))
    names = moot.get_params()
    assert names["aggregation__least"] == 1
    assert names["protocol__k"] == 2
    assert names["kneighborsclassifier__n_neighbors"] == 3
    assert moot.set_params(aggregation__least=2).aggregation == Plurality(least=2)
    with pytest.raises(ValueError, match="aggregation has no parameter 'most': expected one of least"):
        moot.set_params(aggregation__most=2)
    with pytest.raises(ValueError, match="set it first, such as"):
        ConsensusClassifier(MODELS).set_params(aggregation__least=2)
    X, y = load_iris(return_X_y=True)
    grid = {"aggregation": [Plurality(), DawidSkene()], "gaussiannb__var_smoothing": [1e-9, 1.0]}
    found = GridSearchCV(ConsensusClassifier(MODELS, random_state=0), grid, cv=3).fit(X, y)
    assert found.best_score_ > 0.9
    deep = ConsensusClassifier(MODELS, aggregation=Plurality(), random_state=0)
    assert GridSearchCV(deep, {"aggregation__least": [1, 3]}, cv=3).fit(X, y).best_score_ > 0.9


def test_copies_answer_alike() -> None:
    X, y = load_iris(return_X_y=True)
    moot = ConsensusClassifier(MODELS, aggregation=DawidSkene(), random_state=0).fit(X, y)
    unpickled = pickle.loads(pickle.dumps(moot))  # noqa: S301
    for copy in (clone(moot).fit(X, y), unpickled):
        np.testing.assert_array_equal(copy.predict(X), moot.predict(X))
    assert not hasattr(unpickled, "_own_rows")  # rows stay where they are


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"protocol": Slush(2, 2), "aggregation": DawidSkene()},
            "Slush is for plain votes: leave out aggregation",
        ),
        ({"protocol": Slush(2, 2), "voting": "probabilities"}, "Slush is for plain votes"),
        ({"aggregation": Pool()}, "Pool takes probabilities, not labels: it needs voting=probabilities"),
        ({"aggregation": DawidSkene(), "voting": "probabilities"}, "needs voting=labels"),
        ({"aggregation": Median()}, "Median takes numbers, not labels: it is for a target of numbers"),
        ({"voting": "loud"}, "voting must be 'labels' or 'probabilities': got 'loud'"),
        ({"abstain_below": 0.5}, "needs a label for the inputs that are not answered"),
        ({"abstain_below": 0.5, "reject_label": "a"}, "reject_label must be a number"),
    ],
)
def test_parts_that_do_not_go_together(settings: dict[str, Any], message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        ConsensusClassifier(MODELS, **settings).fit(X, y)


@pytest.mark.parametrize(
    ("estimators", "settings", "error", "message"),
    [
        ({"a": GaussianNB()}, {}, TypeError, r"got a dict; write list\(models.items\(\)\)"),
        (MODELS, {"protocol": "slush"}, TypeError, "protocol must be Council"),
        (MODELS, {"aggregation": 5}, TypeError, "aggregation must be one of folkmoot.aggregation"),
        ([GaussianNB()] * 3, {"prefit": True}, ValueError, "'gaussiannb-1'.*is not fitted; fit it first"),
        ([len, len], {"prefit": True}, TypeError, "must have predict"),
    ],
)
def test_bad_parts(estimators: Any, settings: Any, error: type[Exception], message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=message):
        ConsensusClassifier(estimators, **settings).fit(X, y)


def test_answers_are_withheld_by_their_probability() -> None:
    moot = moot_of(["a", "a"], ["a", "b"], ["a", "c"], abstain_below=0.5, reject_label="unsure")
    assert moot.predict(inputs(2)).tolist() == ["a", "unsure"]
    assert moot.score(inputs(2), ["a", "a"]) == 0.5


def test_one_s_own_site_is_helped_by_the_others() -> None:
    """By hand: a prior of the two others' votes, times what the own vote says at 8 of 8 right."""
    moot = moot_of(["a", "a"], ["b", "b"], ["b", "a"])
    models = [Says(["a", "a"]), Says(["b", "b"]), Says(["b", "a"])]
    rows, whose = inputs(2)[[0] * 24], np.repeat(["x", "y", "z"], 8)
    moot = ConsensusClassifier(list(zip("xyz", models, strict=True)), prefit=True)
    moot.fit(rows, ["a"] * 24, whose)
    own = Fraction(8 + 1, 8 + 3)  # Laplace's rule for three classes
    other = (1 - own) / 2
    prior = {"a": Fraction(1, 9), "b": Fraction(7, 9), "c": Fraction(1, 9)}  # of b and b
    weight = {"a": prior["a"] * own, "b": prior["b"] * other, "c": prior["c"] * other}
    expected = [float(weight[label] / sum(weight.values())) for label in "abc"]
    found = moot.predict_proba(inputs(2)[:1], groups=["x"])
    np.testing.assert_allclose(found[0], expected)
    assert moot.predict(inputs(2)[:1], groups=["x"]).tolist() == ["a"]
    assert moot.predict(inputs(2)[:1]).tolist() == ["b"]
    with pytest.raises(ValueError, match="groups must name participants: got 'w'"):
        moot.predict(inputs(2)[:1], groups=["w"])
    with pytest.raises(ValueError, match="needs a holdout"):
        moot_of(["a"], ["b"]).predict(inputs(1), groups=["says-1"])


def test_liars_are_an_experiment() -> None:
    X, y = load_digits(return_X_y=True)
    moot = ConsensusClassifier([DecisionTreeClassifier()] * 9, random_state=0).fit(X[:1000], y[:1000])
    honest = moot.deliberate(X[1000:])
    lied = moot.deliberate(X[1000:], y[1000:], adversaries=4)
    assert (len(lied.malicious), len(honest.malicious)) == (4, 0)
    votes = np.array(honest.votes)
    right = y[1000:]
    assert (np.array(lied.votes)[list(lied.malicious)] != right).all()
    assert lied.accuracy(right) < honest.accuracy(right)
    np.testing.assert_array_equal(honest.decision, aggregate(votes).decision)


def test_what_is_explained_is_what_was_answered() -> None:
    X, y = load_digits(return_X_y=True)
    moot = ConsensusClassifier([DecisionTreeClassifier()] * 9, random_state=0).fit(X[:900], y[:900])
    for protocol in (None, Council(), Slush(5, 3), Snowball(5, 3, 4), Slush(8, StrongConfidence())):
        moot.set_params(protocol=protocol)
        said, outcome = moot.predict(X[900:]), moot.deliberate(X[900:])
        decided = outcome.decision != -1
        assert decided.mean() > 0.5
        assert (said[decided] == moot.classes_[outcome.decision[decided]]).all()
        why = moot.why(X[900:], int(decided.argmax()))
        assert why.answer == said[decided.argmax()]
        left = np.flatnonzero(~decided)
        if left.size:
            assert "predict still names" in str(moot.why(X[900:], int(left[0])))


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        ConsensusClassifier(MODELS),
        ConsensusClassifier([*MODELS, RidgeClassifier()], voting="probabilities", aggregation=Pool("log")),
    ]
)
@pytest.mark.filterwarnings("ignore")  # the suite brings too few rows for models to be well fitted
def test_contract(estimator: Any, check: Any) -> None:
    check(estimator)
