"""The answer of a motion: a pure function of the agreed votes, the same bytes on every processor.

Proposed texts are candidates, numbered by the hash of the agreed commitments, so that nobody could choose a
number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal, cast

import numpy as np

from folkmoot.aggregation.texts import Candidate, Verdict, candidates, verdict
from folkmoot.arrays import Ints
from folkmoot.node.ballots import NOTHING, Choices, Texts
from folkmoot.node.review import Reviewed, ballots_of, reviewed
from folkmoot.node.rules import dawid_skene, draw, median, plurality, pool, trimmed_mean, weighted
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
    written = ballots_of(header, 1)
    if terms.answers == "text":
        return written.pack(texts_of(header, tables, coin, faults))
    found = reviewed(header, tables[0], n)
    first = found.asked
    if first is None:  # the asker has not told which inputs are its own
        return written.pack(written.nothing())
    drawn = coin if terms.coin else None
    least = terms.least or faults + 1
    if terms.answers == "numbers":
        numbers = first if terms.polls == 1 else written.table(tables[1], n)
        known = written.voted(numbers)
        rule = median if terms.used_rule == "median" else trimmed_mean
        answer, able = rule(np.where(known, numbers, 0), known, liars=faults)
        return written.pack(np.where(able, answer, NOTHING))
    if terms.polls == 2:
        decided = plurality(written.table(tables[1], n), least=faults + 1, coin=drawn)
        return written.pack(_with_first_votes(terms, decided, first, least))
    return written.pack(_by_rule(terms, found, first, least, drawn, faults))


def _by_rule(terms: Terms, found: Reviewed, first: Ints, least: int, coin: bytes | None, faults: int) -> Ints:
    if terms.answers == "probabilities":
        rule = cast("Literal['mean', 'log']", terms.used_rule)
        return pool(first, found.form.voted(first), rule=rule, trim=faults, least=least, coin=coin)
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


# Texts


def proposals(header: Header, table: Mapping[int, bytes], coin: bytes) -> list[tuple[Candidate, ...]]:
    """The candidates of each input; ``coin`` is the value of the first poll's commitments."""
    form = Texts(header.inputs)
    said = {member: form.unpack(data).tolist() for member, data in sorted(table.items())}
    return [
        candidates(
            {member: texts[k] for member, texts in said.items() if texts[k] is not None}, _salt(coin, k)
        )
        for k in range(header.inputs)
    ]


def _salt(coin: bytes, k: int) -> bytes:
    return coin + k.to_bytes(4, "big")


def verdicts(
    header: Header, tables: Sequence[Mapping[int, bytes]], coin: bytes, faults: int
) -> list[Verdict]:
    """Count the final votes on each input; a tie is not settled yet."""
    found = proposals(header, tables[0], coin)
    cast = {member: Choices(header.inputs).unpack(data) for member, data in tables[1].items()}
    return [
        verdict(
            found[k], {member: choice for member, each in cast.items() if (choice := each[k]) is not None},
            faults=faults, least=header.terms.least,
        )
        for k in range(header.inputs)
    ]  # fmt: skip


def texts_of(header: Header, tables: Sequence[Mapping[int, bytes]], coin: bytes, faults: int) -> Ints:
    """The decided text of each input, None where there is none; ties by the coin, if the terms say so."""
    answer = np.full(header.inputs, None, dtype=object)
    for k, each in enumerate(verdicts(header, tables, coin, faults)):
        draws = header.terms.coin and each.tied
        decided = each.tied[draw(coin, k, len(each.tied))] if draws else each.decided
        answer[k] = None if decided is None else each.text(decided)
    return answer
