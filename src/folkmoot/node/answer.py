"""The answer of a motion: a pure function of the agreed votes, the same bytes on every processor."""

from __future__ import annotations

import hashlib
from typing import Literal, cast

import numpy as np

from folkmoot.arrays import Ints
from folkmoot.node.ballots import NOTHING, there
from folkmoot.node.choices import texts_of
from folkmoot.node.review import answers_of, reviewed
from folkmoot.node.rules.dawid_skene import dawid_skene
from folkmoot.node.rules.numbers import median, trimmed_mean
from folkmoot.node.rules.pools import pool
from folkmoot.node.rules.votes import plurality, weighted
from folkmoot.node.session.header import Header
from folkmoot.node.session.terms import Terms
from folkmoot.votes import NO_VOTE


def answer_of(header: Header, tables: list[dict[int, bytes]], coin: bytes, n: int, faults: int) -> bytes:
    """The decision of the members: labels, numbers or texts; of an invitation nothing.

    ``tables`` are the votes of each poll by member, ``coin`` is the value of the first poll's commitments.
    """
    if header.invites:
        return b""
    terms = header.terms
    written = answers_of(header)
    if terms.answers == "text":
        return written.pack(texts_of(header, tables, coin, faults))
    first = reviewed(header, tables[0], n).asked
    if first is None:  # the asker has not told which inputs are its own
        return written.pack(written.nothing())
    drawn = coin if terms.coin else None
    least = terms.least or faults + 1
    if terms.answers == "numbers":
        numbers = first if terms.polls == 1 else written.table(tables[1], n)
        known = there("numbers", numbers)
        rule = median if terms.used_rule == "median" else trimmed_mean
        answer, able = rule(np.where(known, numbers, 0), known, liars=faults)
        return written.pack(np.where(able, answer, NOTHING))
    if terms.polls == 2:
        decided = plurality(written.table(tables[1], n), least=faults + 1, coin=drawn)
        return written.pack(_with_first_votes(terms, decided, first, least))
    return written.pack(_by_rule(terms, first, least, drawn, faults))


def _by_rule(terms: Terms, first: Ints, least: int, coin: bytes | None, faults: int) -> Ints:
    if terms.answers == "probabilities":
        rule = cast("Literal['mean', 'log']", terms.used_rule)
        known = there("probabilities", first)
        return pool(first, known, rule=rule, trim=faults, least=least, coin=coin)
    if terms.rule == "weighted":
        return weighted(first, np.array(terms.weights, dtype=np.int64), least=least, coin=coin)
    if terms.rule == "dawid-skene":
        return dawid_skene(first, classes=len(terms.labels), least=least, coin=coin)
    return plurality(first, least=least, coin=coin)


def _with_first_votes(terms: Terms, decision: Ints, first: Ints, least: int) -> Ints:
    """A label is decided only if so many voted for it at first: then an honest member did."""
    inputs = np.arange(len(decision))
    if terms.answers == "probabilities":
        chosen = first[:, inputs, np.maximum(decision, 0)]
        favoured = (chosen == first.max(axis=2)) & (chosen > 0)
    else:
        favoured = first == decision
    return np.where(favoured.sum(axis=0) >= least, decision, NO_VOTE)


def digest_of(motion: bytes, answer: bytes) -> bytes:
    """The value that members sign as the result."""
    return hashlib.sha256(b"folkmoot/3 answer\n" + motion + answer).digest()
