"""The answer of a motion: a pure function of the agreed votes, the same bytes on every processor."""

from __future__ import annotations

import hashlib
from typing import Literal, cast

import numpy as np

from folkmoot.arrays import Ints
from folkmoot.node.ballots import NOTHING, Ballots, there
from folkmoot.node.rules.dawid_skene import dawid_skene
from folkmoot.node.rules.numbers import median, trimmed_mean
from folkmoot.node.rules.pools import pool
from folkmoot.node.rules.votes import Decided, plurality, weighted
from folkmoot.node.session.header import Terms
from folkmoot.votes import UNCOLOURED


def ballots_of(terms: Terms, poll: int, inputs: int) -> Ballots:
    """How votes of a poll are written: final votes on probabilities are labels."""
    answers = "labels" if poll > 0 and terms.answers == "probabilities" else terms.answers
    return Ballots(answers, inputs, len(terms.labels))


def answer_of(
    terms: Terms, inputs: int, tables: list[dict[int, bytes]], coin: bytes, n: int, faults: int
) -> bytes:
    """What the members decided: labels or numbers, in the encoding of a ballot.

    ``tables`` are the votes of each poll by member, ``coin`` is the value of the first poll's commitments.
    """
    first = ballots_of(terms, 0, inputs).table(tables[0], n)
    drawn = coin if terms.coin else None
    least = terms.least or faults + 1
    written = ballots_of(terms, 1, inputs)  # answers are written as final votes
    if terms.answers == "numbers":
        numbers = first if terms.polls == 1 else written.table(tables[1], n)
        known = there("numbers", numbers)
        rule = median if terms.polls == 2 or terms.rule == "median" else trimmed_mean
        answer, able = rule(np.where(known, numbers, 0), known, liars=faults)
        return written.pack(np.where(able, answer, NOTHING))
    if terms.polls == 2:
        decided = plurality(written.table(tables[1], n), least=faults + 1, coin=drawn)
        return written.pack(_with_first_votes(decided.decision, _favoured(terms, first), least))
    return written.pack(_by_rule(terms, first, least, drawn, faults).decision)


def _by_rule(terms: Terms, first: Ints, least: int, coin: bytes | None, faults: int) -> Decided:
    if terms.answers == "probabilities":
        rule = cast("Literal['mean', 'log']", terms.rule)
        known = there("probabilities", first)
        return pool(first, known, rule=rule, trim=faults, least=least, coin=coin)
    if terms.rule == "weighted":
        return weighted(first, np.array(terms.weights, dtype=np.int64), least=least, coin=coin)
    if terms.rule == "dawid-skene":
        return dawid_skene(first, classes=len(terms.labels), least=least, coin=coin)
    return plurality(first, least=least, coin=coin)


def _favoured(terms: Terms, first: Ints) -> Ints:
    """(member, input, class): which classes a first vote is for."""
    if terms.answers == "probabilities":
        return np.asarray((first == first.max(axis=2, keepdims=True)) & (first > 0)).astype(np.int64)
    return np.asarray(first[:, :, None] == np.arange(len(terms.labels))).astype(np.int64)


def _with_first_votes(decision: Ints, favoured: Ints, least: int) -> Ints:
    """A label is decided only if so many voted for it at first: then an honest member did."""
    votes = favoured.sum(axis=0)
    enough = votes[np.arange(len(decision)), np.maximum(decision, 0)] >= least
    return np.where(enough, decision, UNCOLOURED)


def digest_of(motion: bytes, answer: bytes) -> bytes:
    """What members sign as the result."""
    return hashlib.sha256(b"folkmoot/3 answer\n" + motion + answer).digest()
