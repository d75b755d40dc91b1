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
from sklearn.ensemble import VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from folkmoot.aggregation import HoldoutTrust, PeerReview
from folkmoot.learning.classifier import ConsensusClassifier

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
    report = moot.report(wrap(NEW), NEW_Y, stacking=False)
    assert report.score("mean participant") == pytest.approx((right == NEW_Y).mean())
    majority = np.where((right == "good").sum(axis=0) > 2, "good", "bad")
    assert report.score("majority") == pytest.approx((majority == NEW_Y).mean())


@pytest.mark.parametrize(
    "options",
    [{}, {"aggregation": HoldoutTrust()}, {"aggregation": PeerReview(rows=8), "voting": "probabilities"}],
    ids=["council", "own", "peer review"],
)
def test_lists_are_as_good_as_arrays(options: dict[str, Any]) -> None:
    found = []
    for wrap in (list, np.array):
        moot = ConsensusClassifier([text_models()[1]], random_state=0, **options).fit(wrap(TEXTS), Y, GROUPS)
        found.append([moot.predict_proba(wrap(NEW)).tolist(), str(moot.why(wrap(NEW), 3))])
    assert found[0] == found[1]
