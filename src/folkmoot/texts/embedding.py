"""The local embedding that finds the answer nearest to all others: by meanings, or else by letters."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.machine import to_install

Embedding: TypeAlias = Callable[[Sequence[str]], Any]


class LocalEmbedding(NamedTuple):
    """An embedding of this machine, and one line on what it is."""

    embed: Embedding
    words: str


@cache
def local_embedding() -> LocalEmbedding:
    """WordLlama, whose wheel carries its vectors, if it is installed; else TF-IDF."""
    if importlib.util.find_spec("wordllama") is None:
        return LocalEmbedding(
            tfidf, f"TF-IDF of letters, which knows no meanings ({to_install('embedding')} adds WordLlama)"
        )
    return LocalEmbedding(_wordllama(), "WordLlama, which knows meanings of English words")


def tfidf(texts: Sequence[str]) -> Floats:
    """Embed texts by how often they have runs of two to four letters (TF-IDF): local, and of any language."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    found = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True).fit_transform(texts)
    return np.asarray(found.toarray())


def _wordllama() -> Embedding:
    """The mean of a text's token vectors: https://github.com/dleemiller/WordLlama."""
    quiet = logging.NullHandler()
    logging.getLogger().addHandler(quiet)  # else its import sets up logging for the whole process
    try:
        import wordllama
    finally:
        logging.getLogger().removeHandler(quiet)
    # Its wheel has the tokenizer where only its cache is looked for.
    model = wordllama.WordLlama.load(cache_dir=wordllama.__path__[0], disable_download=True)

    def embed(texts: Sequence[str]) -> Floats:
        with np.errstate(invalid="ignore"):  # a text without tokens has no mean, and is near to nothing
            found = model.embed([each.encode(errors="replace").decode() for each in texts])
        return np.nan_to_num(np.asarray(found, dtype=np.float64))

    return embed
