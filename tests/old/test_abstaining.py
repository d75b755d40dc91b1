"""Withheld answers and scores of an estimator: against predict, predict_proba and scikit-learn's scorers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from folkmoot.old import ConsensusClassifier

RNG = np.random.default_rng(1)
X = RNG.normal(size=(500, 2))
PLACE = np.where(X[:, 0] + 0.8 * RNG.normal(size=500) > 0, 1, 0) + (X[:, 1] > 1)
NUMBERS, WORDS = PLACE, np.array(["a", "b", "c"])[PLACE]
TRAIN, TEST = slice(0, 250), slice(250, 500)


def fitted(labels: Any = WORDS, **options: Any) -> ConsensusClassifier:
    return ConsensusClassifier([GaussianNB()] * 9, random_state=0, **options).fit(X[TRAIN], labels[TRAIN])


@pytest.mark.parametrize(
    "options",
    [{}, {"trust": "self-anchored"}, {"trust": "peer-review"}, {"voting": "probabilities"}],
    ids=lambda options: next(iter(options.values()), "labels"),
)
def test_an_answer_of_low_probability_is_withheld(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    moot = fitted(**options)
    whole, likely = moot.predict(X[TEST]), moot.predict_proba(X[TEST])
    sure = likely[np.arange(250), np.searchsorted(moot.classes_, whole)]
    cut = float(np.median(sure))
    moot.set_params(abstain_below=cut, reject_label="none of these")
    told = moot.predict(X[TEST])
    assert (sure < cut).any()
    assert told.tolist() == [a if p >= cut else "none of these" for a, p in zip(whole, sure, strict=True)]
    right = told == WORDS[TEST]
    assert moot.score(X[TEST], WORDS[TEST]) == pytest.approx(right.mean())
    weight = rng.random(250)
    assert moot.score(X[TEST], WORDS[TEST], weight) == pytest.approx(np.average(right, weights=weight))
    report = moot.report(X[TEST], WORDS[TEST], repeats=1, stacking=False)
    assert report.coverage == pytest.approx((sure >= cut).mean())
    assert report.accuracy_answered == pytest.approx((whole == WORDS[TEST])[sure >= cut].mean())
    assert any(note.startswith(f"abstaining: answers {report.coverage:.3f} of") for note in report.notes)
    assert report.to_dict()["coverage"] == report.coverage


@pytest.mark.parametrize(
    ("labels", "instead"), [(NUMBERS, -1), (NUMBERS, 0.5), (NUMBERS > 0, -1), (WORDS, "a longer word")]
)
def test_what_is_said_instead_keeps_its_value(labels: Any, instead: Any) -> None:
    told = fitted(labels, abstain_below=1.0, reject_label=instead).predict(X[TEST])
    assert told.tolist() == [instead] * 250
    assert fitted(labels, abstain_below=0.0, reject_label=instead).score(X[TEST], labels[TEST]) > 0.5


@pytest.mark.parametrize(
    ("labels", "below", "instead", "said"),
    [
        (WORDS, 0.8, None, r"abstain_below=0.8 needs a label .*: reject_label='unsure', or any other"),
        (NUMBERS, 0.8, None, r"reject_label=-1, or any other that is none of the classes"),
        (WORDS, 0.8, "b", r"reject_label must be none of the classes.*: got 'b'"),
        (NUMBERS, 0.8, 1.0, r"reject_label must be none of the classes.*: got 1.0"),
        (WORDS, 0.8, -1, r"reject_label must be text, as the classes are, such as 'unsure': got -1"),
        (NUMBERS, 0.8, "?", r"reject_label must be a number, as the classes are, such as -1: got '\?'"),
        (NUMBERS, 0.8, float("nan"), r"reject_label must be a number.*: got nan"),
        (WORDS, 1.5, "?", r"abstain_below must satisfy 0 <= abstain_below <= 1"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(labels: Any, below: Any, instead: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        fitted(labels, abstain_below=below, reject_label=instead)
    assert "\n" not in str(caught.value)
    moot = fitted(labels).set_params(abstain_below=below, reject_label=instead)
    for ask in (lambda: moot.predict(X[TEST]), lambda: moot.score(X[TEST], labels[TEST])):
        with pytest.raises(ValueError, match=said):
            ask()
    with pytest.raises(ValueError, match=said):
        moot.report(X[TEST], labels[TEST])


def test_true_is_no_probability() -> None:
    with pytest.raises(TypeError, match=r"abstain_below must be a number within \[0, 1\], or None: got True"):
        fitted(abstain_below=True, reject_label="?")


def test_it_is_off_by_default_and_can_be_searched_over() -> None:
    moot = fitted()
    assert moot.get_params()["abstain_below"] is None
    assert "unsure" not in fitted(reject_label="unsure").predict(X[TEST])
    search = GridSearchCV(clone(moot).set_params(reject_label="?"), {"abstain_below": [None, 0.99]}, cv=3)
    search.fit(X[TRAIN], WORDS[TRAIN])
    assert search.best_params_ == {"abstain_below": None}


NAMES = ["accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr", "top_k_accuracy"]


@pytest.mark.parametrize("options", [{}, {"trust": "self-anchored"}, {"voting": "probabilities"}])
def test_scores_are_what_scikit_learn_finds(options: dict[str, Any]) -> None:
    moot = fitted(**options)
    report = moot.report(X[TEST], WORDS[TEST], repeats=1, stacking=False, scoring=NAMES)
    for name in NAMES:
        expected = get_scorer(name)(moot, X[TEST], WORDS[TEST])
        assert report.line("consensus").scores[name] == pytest.approx(expected), name
    each = [get_scorer("f1_macro")(model, X[TEST], WORDS[TEST]) for model in moot.estimators_]
    assert report.line("mean participant").scores["f1_macro"] == pytest.approx(np.mean(each))
    assert report.line("majority").scores["neg_log_loss"] is None  # it has labels only
    assert "neg_log_loss" in str(report)


def test_what_a_server_leaves_undecided_is_wrong_by_any_score() -> None:
    """Not what the moot answers there: a supermajority that decides few inputs must not borrow its score."""
    moot = fitted(PLACE > 0)
    report = moot.report(X[TEST], PLACE[TEST] > 0, repeats=1, stacking=False, scoring=["recall", "f1_micro"])
    line, right = report.line("supermajority"), PLACE[TEST] > 0
    yes = moot.votes(X[TEST]).sum(axis=0)
    decided = np.maximum(yes, 9 - yes) * 3 >= 9 * 2
    assert 0 < decided.sum() < 250
    hits = decided & ((yes > 4) == right)
    assert line.accuracy == pytest.approx(hits.mean())
    assert line.scores == pytest.approx({"recall": hits[right].mean(), "f1_micro": hits.mean()})


def test_a_score_of_one_class_says_which_is_of_all() -> None:
    said = r"scoring='f1' cannot be computed here: pos_label=1 .*; 'f1_macro' is of all classes$"
    words = np.where(PLACE > 0, "ill", "well")
    with pytest.raises(ValueError, match=said):
        fitted(words).report(X[TEST], words[TEST], repeats=1, stacking=False, scoring="f1")


def test_a_mapping_names_scorers_and_single_names_do() -> None:
    moot = fitted()
    named = moot.report(
        X[TEST], WORDS[TEST], repeats=1, stacking=False,
        scoring={"mine": "f1_micro", "own": lambda model, rows, y: (model.predict(rows) == y).mean()},
    )  # fmt: skip
    scores = named.line("consensus").scores
    assert scores["mine"] == pytest.approx(scores["own"]) == pytest.approx(moot.score(X[TEST], WORDS[TEST]))
    one = moot.report(X[TEST], WORDS[TEST], repeats=1, stacking=False, scoring="f1_micro")
    assert one.line("consensus").scores == {"f1_micro": scores["mine"]}


@pytest.mark.parametrize(
    ("scoring", "said"),
    [
        ("f1_makro", "scoring must name scikit-learn's scorers: got 'f1_makro'; did you mean 'f1_macro'?"),
        ([], r"scoring must be a name of scikit-learn's scorers, several, or a mapping .*: got \[\]"),
        (7, "scoring must be a name of scikit-learn's scorers, .*: got 7"),
        ("r2", "scoring='r2' cannot be computed here: could not convert string to float"),
        ("roc_auc", "scoring='roc_auc' cannot be computed here: multi_class must be in"),
    ],
)
def test_wrong_scores_are_said_in_one_line(scoring: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        fitted().report(X[TEST], WORDS[TEST], repeats=1, stacking=False, scoring=scoring)
    assert "\n" not in str(caught.value)
