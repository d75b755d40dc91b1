"""Local embeddings: the fallback by letters, and WordLlama where it is installed."""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Iterator

import numpy as np
import pytest

from folkmoot import ConsensusText
from folkmoot.aggregation.texts import Candidate
from folkmoot.machine import to_install
from folkmoot.texts.choosing import nearest
from folkmoot.texts.embedding import local_embedding, tfidf

needs_wordllama = pytest.mark.skipif(
    importlib.util.find_spec("wordllama") is None, reason=f"no wordllama: {to_install('embedding')}"
)


@pytest.fixture(autouse=True)
def _looked_for_again() -> Iterator[None]:
    local_embedding.cache_clear()
    yield
    local_embedding.cache_clear()


def _candidates(*texts: str) -> list[Candidate]:
    return [Candidate(text, text, (i,)) for i, text in enumerate(texts)]


def test_tfidf_finds_the_odd_one_out() -> None:
    found = _candidates(
        "The moon is made of green cheese",
        "The capital of France is Paris",
        "The capital of France is Paris, on the Seine",
        "Paris is the capital of France",
    )
    assert nearest(found, tfidf).best != 0
    assert tfidf(["?", "!"]).shape[0] == 2


def test_without_wordllama_it_is_tfidf_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "wordllama" else real(name))
    assert local_embedding().embed is tfidf
    members = [lambda _: "Paris it is", lambda _: "It is Paris", lambda _: "No idea"]
    outcome = ConsensusText(members, choose="embedding").ask(["Capital of France?"])
    assert outcome.embedding == local_embedding().words
    assert outcome.embedding.startswith("TF-IDF of letters, which knows no meanings")
    assert to_install("embedding") in outcome.embedding
    assert json.loads(outcome.to_json())["embedding"] == outcome.embedding


def test_what_nobody_chose_by_is_not_named() -> None:
    members = [lambda _: "yes", lambda _: "no"]
    assert ConsensusText(members, choose="same").ask(["?"]).embedding == ""
    own = ConsensusText(members, choose="embedding", embedding=lambda texts: np.eye(len(texts)))
    assert own.ask(["?"]).embedding == "one of the caller"


@needs_wordllama
@pytest.mark.slow
def test_wordllama_knows_meanings_where_letters_mislead() -> None:
    """Three sentences say the same in other words; the fourth shares the letters of the first."""
    before = list(logging.getLogger().handlers), logging.getLogger().level
    odd = "The docks came to life later"
    found = _candidates(
        "The doctor came too late", "A physician arrived after the hour", "The surgeon was not on time", odd
    )
    assert nearest(found, tfidf).best == 3
    assert nearest(found).best != 3
    assert local_embedding().words.startswith("WordLlama")
    assert (list(logging.getLogger().handlers), logging.getLogger().level) == before


@needs_wordllama
@pytest.mark.slow
def test_wordllama_has_a_finite_vector_for_any_text() -> None:
    texts = ["", "?", "\u200b", "\x00", "\ud800", "\u202e", "\U0001f600", "a" * 4000, "Paris", "\n\t"]
    vectors = local_embedding().embed(texts)
    assert vectors.shape[0] == len(texts)
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors[8]) > 0
