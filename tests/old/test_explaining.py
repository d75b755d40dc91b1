"""Why a row got its label: the explanation of an estimator's answer is of that answer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.explanation import Explanation

DATA = load_breast_cancer()
X, Y = DATA.data, DATA.target_names[DATA.target]
GROUPS = np.array([f"hospital {chr(65 + i)}" for i in np.random.default_rng(0).integers(0, 8, len(Y))])
TEST = X[400:]


def moot(**options: Any) -> ConsensusClassifier:
    models = [DecisionTreeClassifier(max_depth=2, random_state=0)]
    return ConsensusClassifier(models, random_state=1, **options).fit(X[:400], Y[:400], groups=GROUPS[:400])


@pytest.mark.parametrize(
    "options", [{}, {"trust": "self-anchored"}, {"trust": "peer-review"}, {"voting": "probabilities"}]
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_answer_is_what_predict_says(options: dict[str, Any]) -> None:
    fitted = moot(**options)
    votes, said, outcome = fitted.votes(TEST), fitted.predict(TEST), fitted.deliberate(TEST)
    split = np.argsort(-np.minimum((votes == 0).sum(axis=0), (votes == 1).sum(axis=0)), kind="stable")[:4]
    for i in [*split.tolist(), 0]:
        why = fitted.why(TEST, i)
        assert isinstance(why, Explanation)
        if outcome.decision[i] >= 0:
            assert why.answer == said[i]
        else:
            assert why.answer is None
            assert f"predict names {said[i]} all the same" in why.missing[-1]
        assert [voice.name for voice in why.voices] == [p.name for p in fitted.participants_]
        for voice, label in zip(why.voices, fitted.classes_[votes[:, i]].tolist(), strict=True):
            level = voice.voted is None and "voting" in options  # .5 and .5 is for neither
            assert level or voice.voted == label
        assert str(why).startswith(f"row {i}: ")
    by = {"self-anchored": "trust", "peer-review": "peer review"}.get(options.get("trust", ""), "equal")
    assert why.counted_by == by


def test_liars_need_the_truth_to_be_explained() -> None:
    fitted = moot(adversaries={"hospital B": PerfectlyMalicious()})
    with pytest.raises(ValueError, match="must know the truth"):
        fitted.why(TEST, 3)
    why = fitted.why(TEST, 3, y=Y[400:])
    assert why.voices[1].part == "lies"
    assert why.voices[1].voted != Y[403]


def test_a_model_that_fails_is_named() -> None:
    fitted = moot()
    fitted.participants_[2].model.predict = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        why = fitted.why(TEST, 0)
    assert why.voices[2].part == "failed"
    assert (why.unheard[0].name, why.unheard[0].why) == ("hospital C", "could not answer")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_answer_that_is_withheld_is_explained_all_the_same() -> None:
    fitted = moot(abstain_below=0.9, reject_label="ask a doctor")
    said = fitted.predict(TEST)
    unsure, sure = (int(np.flatnonzero((said == "ask a doctor") == told)[0]) for told in (True, False))
    why = fitted.why(TEST, unsure)
    assert why.missing[-1] == (
        "predict withholds its answer and says ask a doctor: the probability, by predict_proba, is below "
        "abstain_below=0.9."
    )
    assert fitted.why(TEST, sure).answer == said[sure]
    assert "withholds" not in str(fitted.why(TEST, sure))


def test_bad_input() -> None:
    with pytest.raises(NotFittedError):
        ConsensusClassifier([DecisionTreeClassifier()]).why(TEST, 0)
    with pytest.raises(ValueError, match=r"0 <= i < 3, the number of inputs: got i=3"):
        moot().why(TEST[:3], 3)
