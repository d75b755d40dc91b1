"""Models that give numbers or probabilities, as voters: what they say, and what of those that cannot."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron

from folkmoot import agree
from folkmoot.aggregation import TrimmedMean
from folkmoot.network.service.asking import Terms
from folkmoot.network.service.policy import Policy
from folkmoot.network.service.voter import Voter
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.number_verdict import NumberVerdict
from folkmoot.node.service.models import Model, load_model
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.schema import MismatchError
from folkmoot.votes import in_levels
from support.network.number_moot import NumberMoot

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")


def saved(estimator: Any, folder: Path, name: str = "model") -> Model:
    path = folder / f"{name}.pkl"
    path.write_bytes(pickle.dumps(estimator))
    return load_model(str(path), trust_pickle=True)


def motion(answers: str, labels: tuple[str, ...] = (), **changes: Any) -> Motion:
    values = np.zeros((7, 4, len(labels)) if labels else (7, 4))
    return NumberMoot(values, 0).motion(answers=answers, labels=labels, **changes)[0]


def test_a_regressor_gives_numbers(tmp_path: Path) -> None:
    fitted = LinearRegression().fit(X, X @ [2.0, -1.0])
    voter = Voter(saved(fitted, tmp_path))
    ballot = voter.numbers(X[:4], motion("numbers", columns=2))
    np.testing.assert_array_equal(ballot.votes, fitted.predict(X[:4])[:, None])
    assert not ballot.reason
    voter.check(motion("numbers", columns=2))
    with pytest.raises(MismatchError, match="gives no probabilities: it must be an estimator"):
        voter.check(motion("probabilities", ("no", "yes"), columns=2))


def test_a_model_says_with_what_it_can_answer(tmp_path: Path) -> None:
    kinds = {
        LinearRegression: ["numbers", "labels"],  # it does not say that it knows no labels
        LogisticRegression: ["labels", "probabilities"],
        Perceptron: ["labels"],
    }
    for kind, expected in kinds.items():
        model = saved(kind().fit(X, X[:, 0] if kind is LinearRegression else Y), tmp_path)
        assert model.kinds() == expected
        for answers in ("labels", "probabilities", "numbers"):
            if answers in expected:
                model.check_answers(answers)
            else:
                with pytest.raises(MismatchError):
                    model.check_answers(answers)


def test_a_row_with_a_missing_value_is_not_answered_and_the_others_are(tmp_path: Path) -> None:
    voter = Voter(saved(LinearRegression().fit(X, X[:, 0]), tmp_path))
    rows = X[:4].copy()
    rows[1, 1] = np.nan
    ballot = voter.numbers(rows, motion("numbers", columns=2))
    assert np.isnan(ballot.votes[:, 0]).tolist() == [False, True, False, False]
    assert ballot.reason == "its model cannot answer the 1 inputs with missing or infinite values"


def test_a_classifier_gives_probabilities_in_levels_and_no_numbers(tmp_path: Path) -> None:
    fitted = LogisticRegression().fit(X, Y)
    voter = Voter(saved(fitted, tmp_path))
    about = motion("probabilities", ("yes", "maybe", "no"), columns=2)
    ballot = voter.numbers(X[:4], about)
    chances = np.zeros((4, 3))
    chances[:, [2, 0]] = fitted.predict_proba(X[:4])
    np.testing.assert_allclose(about.form.opening(ballot.votes), in_levels(chances), rtol=1e-12)
    with pytest.raises(MismatchError, match="gives labels, not numbers: no, yes"):
        voter.check(motion("numbers", columns=2))
    refused = voter.numbers(X[:4], motion("numbers", columns=2))
    assert refused.reason == "its model gives labels, not numbers"
    assert np.isnan(refused.votes).all()


def test_labels_that_the_motion_does_not_have_are_no_vote(tmp_path: Path) -> None:
    voter = Voter(saved(LogisticRegression().fit(X, Y), tmp_path))
    ballot = voter.numbers(X[:4], motion("probabilities", ("a", "b"), columns=2))
    assert (ballot.votes == -1).all()
    assert ballot.reason == "its model gives labels that are not among those of the motion"


def test_a_classifier_without_probabilities_gives_none(tmp_path: Path) -> None:
    voter = Voter(saved(Perceptron().fit(X, Y), tmp_path))
    ballot = voter.numbers(X[:4], motion("probabilities", ("no", "yes"), columns=2))
    assert ballot.reason == "its model gives no probabilities"


class _Says(LogisticRegression):  # type: ignore[misc]
    """A classifier with probabilities of its own."""

    said: Any = None

    def predict_proba(self, X: Any) -> Any:
        return np.tile(np.array(self.said, dtype=float), (len(X), 1))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ([0.5, 0.2], "must add up to 1: got 0.7"),
        ([0.8, np.nan], "must give probabilities: got what is none"),
        ([1.2, -0.2], "must give probabilities: got what is none"),
        ([0.2, 0.2, 0.6], "must give a probability for each of its 2 labels"),
    ],
)
def test_what_is_no_probability_is_refused_in_words(said: list[float], why: str, tmp_path: Path) -> None:
    fitted = _Says().fit(X, Y)
    fitted.said = said
    model = saved(fitted, tmp_path)
    with pytest.raises(ValueError, match=why):
        model.numbers(X[:3], ["no", "yes"])
    ballot = Voter(model).numbers(X[:3], motion("probabilities", ("no", "yes"), columns=2))
    assert ballot.reason == "its model failed"
    assert why in ballot.detail


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda X: ["warm"] * len(X), "must answer with numbers: got"),
        (lambda X: np.full(len(X), np.nan), "must answer with numbers within -1e"),
        (lambda X: np.full(len(X), 1e200), "must answer with numbers within -1e"),
    ],
)
def test_what_is_no_number_is_refused_in_words(answer: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Model("here:there", answer).numbers(X[:2])


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        ({"regression": True}, "regression needs tol"),
        ({"regression": True, "tol": 0.0}, "tol must be a number above 0: got 0.0"),
        ({"regression": True, "tol": -1.0}, "tol must be a number above 0: got -1.0"),
        ({"regression": True, "tol": float("nan")}, "tol must be a number above 0: got nan"),
        ({"regression": True, "tol": float("inf")}, "tol must be a number above 0: got inf"),
        ({"voting": "probabilities", "tol": 1.0}, "tol must be below 1 for probabilities: got 1"),
        ({"voting": "ranks"}, "voting must be 'labels' or 'probabilities': got 'ranks'"),
        ({"tol": 0.5}, "tol must be given with regression or"),
        ({"regression": True, "tol": 1.0, "voting": "probabilities"}, "not both"),
        ({"regression": True, "tol": 1.0, "labels": ["a", "b"]}, "labels must not be given with regression"),
        ({"regression": True, "tol": 1.0, "trust": True}, "trust must not be given for numbers"),
        ({"voting": "probabilities", "protocol": "snowball"}, "protocol must not be given for probabilities"),
        ({"voting": "probabilities", "alpha": 3}, "alpha must not be given for probabilities"),
        ({"voting": "probabilities", "weights": "record"}, "weights must not be given for probabilities"),
    ],
)
def test_terms_that_do_not_go_together_are_refused_in_one_line(terms: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why) as error:
        Terms(**terms)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tol": 0.0}, "tol must be a number above 0"),
        ({"tol": float("nan")}, "tol must be a number above 0"),
        ({"labels": ("a", "b")}, "must name no labels"),
        ({"protocol": "slush"}, "must be agreed on by trimmed-mean"),
        ({"protocol": "mean"}, "must be agreed on by trimmed-mean"),
        ({"alpha": 4}, "must have alpha 0 and beta 1"),
        ({"trust": True}, "must have alpha 0 and beta 1"),
        ({"weighted": True}, "must have alpha 0 and beta 1"),
        ({"answers": "labels", "tol": 0.0, "protocol": "slush"}, "2 to 127 labels"),
        (
            {"answers": "labels", "labels": ("a", "b"), "protocol": "slush"},
            "tol must be 0 in a motion about labels",
        ),
        ({"answers": "labels", "labels": ("a", "b"), "tol": 0.0}, "protocol"),
        (
            {"inputs": 30_001, "chunks": (bytes(32),) * 2, "chunk_rows": 30_000, "dtype": "<f8"},
            "at most 30,000",
        ),
    ],
)
def test_headers_that_do_not_hold_together_are_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        NumberMoot(np.zeros((7, 4)), 0).motion(**changes)[0].check()


def test_a_node_asks_for_enough_peers_that_f_liars_are_trimmed() -> None:
    policy = Policy()
    few, enough = (motion("numbers", columns=2, k=k) for k in (2, 3))
    assert policy.objection(few, 100, 7) == "k must be at least 3 for numbers in a moot of 7: got k=2"
    assert policy.objection(enough, 100, 7, labels=["yes", "no"]) is None


@pytest.mark.parametrize("tol", [0.02])
def test_classifiers_agree_over_the_network_as_in_agree(tol: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    models = []
    for _ in range(5):
        rows = rng.permutation(60)[:25]
        models.append(LogisticRegression().fit(X[rows], Y[rows]))
    voters = {p: Voter(saved(each, tmp_path, f"m{p}")) for p, each in enumerate(models)}
    moot = NumberMoot(np.zeros((5, 8, 2), dtype=np.int16), 1)
    moot.voters = dict(voters)
    for place in range(5):
        moot.start(place)
    batch = Batch(X[:8])
    moot.put(0, batch=batch, labels=("no", "yes"), tol=tol, rounds=20)
    moot.network.run(until=40.0)
    ((session, _),) = moot.over.values()
    found = session.verdict()
    assert isinstance(found, NumberVerdict)
    first = np.stack([in_levels(each.predict_proba(X[:8])) for each in models])
    agreed = agree(first, TrimmedMean(), rounds=20)
    assert (found.claims >= first.min(axis=0)).all()
    assert (found.claims <= first.max(axis=0)).all()
    np.testing.assert_allclose(found.claims, agreed.decision, atol=np.ptp(first, axis=0).max())
    clear = np.abs(agreed.decision[:, 0] - 0.5) > 0.1
    assert clear.sum() >= 4
    assert (found.decisions[clear] == agreed.decision[clear].argmax(axis=1)).all()
