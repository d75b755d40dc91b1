"""Motions of every public aggregation, drawn from seeds, and what members sign of their answers."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from folkmoot.node.answer import answer_of, digest_of
from folkmoot.node.ballots import CERTAIN
from folkmoot.node.review import ballots_of
from folkmoot.node.session.header import Header
from folkmoot.node.session.terms import Terms

LABELS = ("a", "b", "c", "d")
KINDS: dict[str, dict[str, Any]] = {
    "plurality": {"labels": LABELS},
    "coin": {"labels": LABELS, "coin": True},
    "weighted": {"labels": LABELS, "rule": "weighted"},
    "dawid-skene": {"labels": LABELS, "rule": "dawid-skene"},
    "final votes": {"labels": LABELS, "believe": "own"},
    "mean": {"labels": LABELS, "answers": "probabilities", "rule": "mean"},
    "log": {"labels": LABELS, "answers": "probabilities", "rule": "log"},
    "trimmed-mean": {"answers": "numbers", "rule": "trimmed-mean"},
    "median": {"answers": "numbers", "rule": "median"},
}
INPUTS = 8


def result(kind: str, seed: int) -> bytes:
    """What is signed of a motion whose votes come from a seed."""
    rng = np.random.default_rng([seed, *kind.encode()])
    n = int(rng.integers(4, 12))
    weights = tuple(rng.integers(0, 9, n).tolist()) if kind == "weighted" else ()
    terms = Terms(**KINDS[kind], weights=weights)
    header = Header(bytes(32), 0, seed.to_bytes(16, "big"), 0.0, terms, INPUTS, 1)
    header.check(n)
    tables = []
    for poll in range(terms.polls):
        form = ballots_of(header, poll)
        tables.append({i: form.pack(votes(terms.answers, rng)) for i in range(n) if rng.random() < 0.9})
    motion = hashlib.sha256(header.encoded()).digest()
    return digest_of(motion, answer_of(header, tables, motion, n, (n - 1) // 3))


def votes(answers: str, rng: np.random.Generator) -> Any:
    """Drawn in whole numbers."""
    if answers == "labels":
        return rng.integers(-1, len(LABELS), INPUTS)
    if answers == "numbers":
        return rng.integers(-(10**9), 10**9, INPUTS)
    cuts = np.sort(rng.integers(0, CERTAIN + 1, (INPUTS, len(LABELS) - 1)), axis=1)
    return np.diff(cuts, axis=1, prepend=0, append=CERTAIN)


def signed(motions: int) -> dict[str, str]:
    """By aggregation, the hash of what is signed of so many motions; and that of some logarithms."""
    found = {kind: b"".join(result(kind, seed) for seed in range(motions)) for kind in KINDS}
    found["logarithms"] = np.log(np.arange(2.0, 1000.0)).tobytes()
    return {kind: hashlib.sha256(data).hexdigest() for kind, data in found.items()}
