"""Final votes of one member, by its own aggregation: from the agreed first votes and what only it knows.

``folkmoot.aggregation`` has the rules. Floats are allowed here: nobody has to compute the same.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Final, cast

import numpy as np

from folkmoot.aggregation import HoldoutTrust, Known, PeerReview, Rows
from folkmoot.aggregation.interface import FinalVotes, Kind, OwnAggregation
from folkmoot.aggregation.own import Finals
from folkmoot.arrays import Array, Floats
from folkmoot.node.ballots import on_grid
from folkmoot.node.review import Reviewed, ballots_of, reviewed
from folkmoot.node.rules import MOST
from folkmoot.node.session.header import Header
from folkmoot.node.session.terms import Terms
from folkmoot.votes import NO_VOTE

_PUBLIC: Final = -1
_NO_ORDER: Final = "the asker has not told which inputs are its own"
_NOTHING: Final = "it holds no rows back, and was told no truths of earlier motions"
_MOST_CELLS: Final = 10_000_000  # members x inputs x labels that a rule works on at a time


def _none() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Knowledge of this member alone. Labels are numbered as in the motion, -1 is no vote; NaN is no
    number.
    """

    # What its own model said of rows that it held out, and what is right.
    said: Array = field(default_factory=_none)
    truth: Array = field(default_factory=_none)
    # The first votes of all members of the moot on inputs of earlier motions whose truth it was told,
    # and the truth.
    record: Array | None = None
    record_truth: Array = field(default_factory=_none)


@dataclass(frozen=True, eq=False)
class OwnVotes:
    """Final votes of one member."""

    ballot: bytes  # what it votes in the second poll
    weights: Floats  # what each first vote counted for it
    why: str | None  # why it took the plurality of first votes instead, if it did


def final_votes(
    header: Header,
    n: int,
    me: int,
    tables: list[dict[int, bytes]],
    knowledge: Knowledge,
    inputs: Array | None = None,
) -> OwnVotes:
    """Final votes of this member.

    It goes by peer review if there are validation rows or a track record, else by holdout trust. If neither
    tells it whom to believe, it takes the plurality of first votes (numbers: their median). With the inputs
    of the motion, peer review weighs votes by the validation rows that are near.
    """
    written = ballots_of(header, 1)
    first = reviewed(header, tables[0], n)
    if first.asked is None:
        return OwnVotes(b"", np.zeros(n), _NO_ORDER)
    terms = header.terms
    table = first.form.of_rules(first.asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of inputs that nobody has voted on
        found, why = _decided(terms, table, me, first, knowledge, inputs)
    votes = found.votes[me]
    weights = np.ones(n) if found.weights is None else found.weights[me]
    if terms.answers == "numbers":
        within = np.clip(votes, -MOST * terms.step, MOST * terms.step)
        return OwnVotes(written.pack(on_grid(within, terms.step)), weights, why)
    return OwnVotes(written.pack(votes.astype(np.int64)), weights, why)


def _decided(
    terms: Terms, table: Array, me: int, first: Reviewed, knowledge: Knowledge, inputs: Array | None
) -> tuple[FinalVotes, str | None]:
    """The final votes of the first rule that can tell, and why the plurality if none can."""
    reasons: list[str] = []
    n = len(table)
    record = _public(terms, n, knowledge)
    shown = _joined(_shown(terms, first, inputs), record)
    if shown is not None:
        asked = None if inputs is None or first.asked_at is None else inputs[first.asked_at]
        # A forest would take a node minutes where many rows are shown.
        found = _by(PeerReview(expert=None), table, shown, me, terms, asked)
        if me not in found.fell_back:
            return found, None
        reasons.append(f"peer review: {found.fell_back[me]}")
    if len(knowledge.truth):
        flat = table
        if terms.answers == "probabilities" and first.asked is not None:
            flat = first.form.likeliest(first.asked)
        held = _held(terms, n, me, knowledge)
        found = _by(HoldoutTrust(), flat, _joined(held, record if _fits(record, flat) else None), me, terms)
        if me not in found.fell_back:
            return found, None
        reasons.append(f"holdout trust: {found.fell_back[me]}")
        if found.weights is not None and (found.weights[me] != 1).any():  # copies count once
            return found, "; ".join(reasons)
    found = _by_plurality(table, me, terms)
    return found, "; ".join(reasons) or _NOTHING


def _by(
    rule: OwnAggregation,
    table: Array,
    rows: Rows | None,
    me: int,
    terms: Terms,
    inputs: Array | None = None,
) -> FinalVotes:
    """A rule, on so many inputs at a time that they fit into memory."""
    known = Known(classes=len(terms.labels) or None, rows=rows, judges=np.array([me]))
    most = max(_MOST_CELLS // (len(table) * max(len(terms.labels), 1)), 1000)
    starts = range(0, max(table.shape[1], 1), most)
    some = [None if inputs is None else inputs[i : i + most] for i in starts]
    parts = [
        rule.final_votes(table[:, i : i + most], replace(known, inputs=each))
        for i, each in zip(starts, some, strict=True)
    ]
    votes = np.concatenate([part.votes for part in parts], axis=1)
    fell_back = {who: why for part in parts for who, why in part.fell_back.items()}
    return replace(parts[0], votes=votes, probabilities=None, fell_back=fell_back)


def _by_plurality(table: Array, me: int, terms: Terms) -> FinalVotes:
    known = Known(classes=len(terms.labels) or None)
    finals = Finals(table, cast("Kind", terms.answers), known)  # texts have choices instead
    finals.fall_back(me, "")
    return finals.done()


# Labelled rows as the library has them.


def _shown(terms: Terms, first: Reviewed, inputs: Array | None) -> Rows | None:
    if not len(first.owner):
        return None
    truth = first.truth * terms.step if terms.answers == "numbers" else first.truth
    shown = None if inputs is None or first.rows_at is None else inputs[first.rows_at]
    return Rows(first.form.of_rules(first.rows), truth, first.owner, shown)


def _public(terms: Terms, n: int, knowledge: Knowledge) -> Rows | None:
    """The track record: nobody else has to believe these truths, so this member takes them for right."""
    record = knowledge.record
    if record is None or not len(knowledge.record_truth):
        return None
    if record.shape[:2] != (n, len(knowledge.record_truth)):
        raise ValueError(f"a record must have a row for each of {n} members: got the shape {record.shape}")
    if terms.answers == "probabilities" and record.ndim == 2:
        classes = np.arange(len(terms.labels))
        record = np.where((record != NO_VOTE)[:, :, None], record[:, :, None] == classes, np.nan)
    return Rows(record, knowledge.record_truth, np.full(record.shape[1], _PUBLIC))


def _held(terms: Terms, n: int, me: int, knowledge: Knowledge) -> Rows:
    """Rows that this member held out, with its own votes alone."""
    said, truth = np.asarray(knowledge.said), np.asarray(knowledge.truth)
    if said.shape != truth.shape:
        raise ValueError(f"a holdout must have a truth for every answer: got {said.shape} and {truth.shape}")
    numbers = terms.answers == "numbers"
    votes = np.full((n, len(said)), np.nan) if numbers else np.full((n, len(said)), NO_VOTE)
    votes[me] = said
    return Rows(votes, truth, np.full(len(said), me))


def _fits(rows: Rows | None, table: Array) -> bool:
    return rows is None or rows.votes.ndim == table.ndim


def _joined(one: Rows | None, other: Rows | None) -> Rows | None:
    if one is None or other is None:
        return one or other
    return Rows(
        np.concatenate([one.votes, other.votes], axis=1),
        np.concatenate([one.truth, other.truth]),
        np.concatenate([one.owner, other.owner]),
    )
