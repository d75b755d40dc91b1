"""Inputs of one dimension: texts, dictionaries and other objects, which go to the models as they come.

The truth is scikit-learn's ``VotingClassifier`` and ``VotingRegressor``, which take such inputs, or models
fitted by hand on the rows of each group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from folkmoot.adversaries import ConstantClass
from folkmoot.old import ConsensusClassifier, ConsensusRegressor

GOOD = ["fresh", "warm", "kind", "sunny", "sweet", "calm"]
BAD = ["stale", "cold", "rude", "rainy", "bitter", "loud"]
PLAIN = ["room", "bread", "street", "boat", "garden", "the", "and", "market"]


def reviews(rows: int = 150, seed: int = 0) -> tuple[list[str], Any]:
    """Texts of eight words, three of which tell (mostly) what the label is."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    texts = []
    for label in y:
        telling = [rng.choice(GOOD if (rng.random() < 0.8) == bool(label) else BAD) for _ in range(3)]
        texts.append(" ".join(rng.permutation([*telling, *rng.choice(PLAIN, 5)])))
    return texts, np.where(y, "good", "bad")


def text_models() -> list[Any]:
    return [
        make_pipeline(TfidfVectorizer(), LogisticRegression()),
        make_pipeline(CountVectorizer(), MultinomialNB()),
        make_pipeline(CountVectorizer(binary=True), LogisticRegression(C=0.1)),
        make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(C=3)),
        make_pipeline(CountVectorizer(), LogisticRegression()),
    ]


TEXTS, Y = reviews()
NEW, NEW_Y = reviews(120, seed=1)
GROUPS = np.array(["ely", "york", "bath", "hull", "diss"])[np.arange(len(TEXTS)) % 5]

KINDS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "words": np.array,
    "objects": lambda texts: np.array(texts, dtype=object),
    "pandas": pd.Series,
    "pandas, numbered otherwise": lambda texts: pd.Series(texts, index=np.arange(len(texts)) * 7 + 3),
    "polars": pl.Series,
}


@pytest.mark.parametrize("kind", KINDS)
def test_as_voting_classifier_has_it(kind: str) -> None:
    """Models that came fitted vote as scikit-learn's do, and the shares of their votes are the same."""
    wrap = KINDS[kind]
    theirs = VotingClassifier([(f"m{i}", m) for i, m in enumerate(text_models())]).fit(TEXTS, Y)
    moot = ConsensusClassifier(theirs.estimators_, prefit=True, random_state=0)
    moot.fit()
    votes = theirs.transform(NEW)  # (row, model): places in classes_
    np.testing.assert_array_equal(moot.transform(wrap(NEW)), votes)
    counts = np.stack([(votes == 0).sum(axis=1), (votes == 1).sum(axis=1)], axis=1)
    np.testing.assert_allclose(moot.predict_proba(wrap(NEW)), (counts + 0.5) / 6)


@pytest.mark.parametrize("kind", KINDS)
def test_every_group_fits_its_own_texts(kind: str) -> None:
    wrap = KINDS[kind]
    moot = ConsensusClassifier([text_models()[0]], holdout=0.2, random_state=0).fit(wrap(TEXTS), Y, GROUPS)
    by_hand = [
        text_models()[0].fit([t for t, g in zip(TEXTS, GROUPS, strict=True) if g == name], Y[name == GROUPS])
        for name in sorted(set(GROUPS))
    ]
    right = np.array([model.predict(NEW) for model in by_hand])
    np.testing.assert_array_equal(moot.classes_[moot.votes(wrap(NEW))], right)
    assert [p.held_out for p in moot.participants_] == [6] * 5
    report = moot.report(wrap(NEW), NEW_Y, repeats=1, stacking=False)
    assert report.accuracy("mean participant") == pytest.approx((right == NEW_Y).mean())
    majority = np.where((right == "good").sum(axis=0) > 2, "good", "bad")
    assert report.accuracy("majority") == pytest.approx((majority == NEW_Y).mean())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"trust": "self-anchored", "holdout": None},
        {"trust": "peer-review", "check_rows": 8},
        {"trust": "peer-review", "check_rows": "all", "voting": "probabilities"},
        {"voting": "probabilities"},
        {"adversaries": {"york": ConstantClass(1)}},
    ],
)  # fmt: skip
def test_every_method(options: dict[str, Any]) -> None:
    """Whatever is asked of a list of texts is what is asked of an array of them."""
    found = []
    for wrap in (list, np.array):
        moot = ConsensusClassifier([text_models()[1]], random_state=0, **options)
        moot.fit(wrap(TEXTS), Y, GROUPS)
        X = wrap(NEW)
        found.append(
            [
                moot.predict(X).tolist(),
                moot.predict_proba(X).tolist(),
                moot.answer_law(X).tolist(),
                moot.deliberate(X, NEW_Y).decision.tolist(),
                moot.score(X, NEW_Y),
                [line.accuracy for line in moot.report(X, NEW_Y, repeats=2).lines],
                [report.accuracy() for report in moot.sweep(X, NEW_Y, [0, 1], repeats=1)],
                moot.protocol_for(X),
            ]
        )
        if options.get("trust") == "self-anchored":
            found[-1].append([trust.accuracy.tolist() for trust in moot.trusts(X)])
        if options.get("trust") == "peer-review":
            found[-1].append([review.anchored for review in moot.reviews(X)])
            found[-1].append(moot.predict_proba_for("york", X).tolist())
            found[-1].append(moot.learn_truth(X[:20], NEW_Y[:20]).predict(X).tolist())
    assert found[0] == found[1]
    assert np.mean(np.array(found[0][0]) == NEW_Y) > 0.7


def test_rows_that_only_measure_and_public_rows() -> None:
    fitted = [model.fit(TEXTS, Y) for model in text_models()]
    moot = ConsensusClassifier(fitted, prefit=True, trust="peer-review").fit(
        NEW, NEW_Y, np.arange(120) % 5, reference=(TEXTS, Y)
    )
    right = [np.mean(m.predict(NEW)[i::5] == NEW_Y[i::5]) for i, m in enumerate(fitted)]
    np.testing.assert_allclose(moot.accuracies_, right)
    assert moot.checked_.votes.shape[1] == 120 + len(TEXTS)


def test_dictionaries_and_objects_of_different_length() -> None:
    """A list of dictionaries; lists of words, of which a batch may happen to have equally many each."""
    bags = [dict.fromkeys(text.split(), 1) for text in TEXTS]
    model = make_pipeline(DictVectorizer(), LogisticRegression())
    moot = ConsensusClassifier([model] * 3, random_state=0, holdout=0).fit(bags, Y)
    theirs = [each.predict([{"sunny": 1}, {"rude": 1, "and": 1}]).tolist() for each in moot.estimators_]
    np.testing.assert_array_equal(moot.classes_[moot.votes([{"sunny": 1}, {"rude": 1, "and": 1}])], theirs)
    words = [text.split()[: 5 + i % 3] for i, text in enumerate(TEXTS)]
    tokens = make_pipeline(CountVectorizer(analyzer=list), LogisticRegression())
    moot = ConsensusClassifier([tokens] * 3, random_state=0, holdout=0).fit(words, Y)
    for batch in (words[:6], [words[0], words[3]]):
        theirs = [each.predict(batch) for each in moot.estimators_]
        np.testing.assert_array_equal(moot.classes_[moot.votes(batch)], theirs)


def test_numbers_agreed_on_by_texts() -> None:
    length = np.array([float(len(text)) for text in TEXTS])
    for wrap in (list, pd.Series):
        moot = ConsensusRegressor(
            [make_pipeline(CountVectorizer(), Ridge())] * 5, weights="holdout", holdout=0.2, random_state=0
        ).fit(wrap(TEXTS), length, GROUPS)
        each = np.array([model.predict(NEW) for model in moot.estimators_])
        np.testing.assert_allclose(moot.transform(wrap(NEW)).T, each)
        error = np.sqrt(np.mean((each - [len(text) for text in NEW]) ** 2, axis=1)).mean()
        report = moot.report(wrap(NEW), [len(text) for text in NEW], stacking=False)
        assert report.error("mean participant") == pytest.approx(error)


def test_cross_validation_takes_texts() -> None:
    moot = ConsensusClassifier([text_models()[0]] * 3, random_state=0)
    assert cross_val_score(moot, TEXTS, Y, cv=3).mean() > 0.7


class Doubler(ClassifierMixin, BaseEstimator):
    """Takes numbers of one dimension, as ``VotingClassifier`` would let it."""

    def fit(self, X: Any, y: Any) -> Doubler:
        assert np.ndim(X) == 1
        self.classes_ = np.unique(y)
        self.cut_ = float(np.mean(X))
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[(np.asarray(X) > self.cut_).astype(int)]


def test_numbers_in_one_dimension_if_the_models_take_them() -> None:
    X = np.arange(40.0)
    moot = ConsensusClassifier([Doubler()] * 3, random_state=0, holdout=0).fit(X, X > 19)
    assert moot.predict(np.array([3.0, 35.0])).tolist() == [False, True]
    with pytest.raises(ValueError, match=r"cannot be fitted: Expected 2D .*Tfidf.*reshape") as caught:
        ConsensusClassifier([LogisticRegression()] * 3).fit(X, X > 19)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (
            pd.DataFrame({"text": NEW[:60]}),
            r"must have one dimension, as in fit: got the shape \(60, 1\); of a",
        ),
        (np.zeros((3, 2)), r"must have one dimension, as in fit: got the shape \(3, 2\)"),
        ([], "must hold at least one row"),
        ("one text", "one dimension, as in fit: got a str"),
        ({"a": 1}, "one dimension, as in fit: got a dict"),
    ],
)
def test_bad_inputs(X: Any, message: str) -> None:
    moot = ConsensusClassifier([text_models()[1]] * 3, random_state=0).fit(TEXTS, Y)
    with pytest.raises(ValueError, match=message):
        moot.predict(X)


def test_texts_for_a_moot_that_was_fitted_on_columns() -> None:
    moot = ConsensusClassifier([LogisticRegression()] * 3).fit(np.eye(12), [0, 1] * 6)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        moot.predict(["a", "b"])
    with pytest.raises(ValueError, match=r"columns must be None where X has one dimension.*'one' wants some"):
        ConsensusClassifier([("one", text_models()[0]), ("two", text_models()[0])], columns={"one": [0]}).fit(
            TEXTS, Y
        )
