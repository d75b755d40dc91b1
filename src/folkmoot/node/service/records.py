"""Truths that people tell a node about a motion afterwards, and the track records that follow from them.

A record says how often a participant's first vote was right, where truths have been told. Records belong to
this node alone; nobody is asked to believe them. A participant whose certificate was renewed keeps its
record, under the newest one. A proven liar counts for nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from folkmoot.arrays import Ints
from folkmoot.files.tabular import Table, shortened, text_table
from folkmoot.models.labels import as_labels
from folkmoot.node.account import read_votes
from folkmoot.node.membership.roster import Roster
from folkmoot.node.own import Knowledge
from folkmoot.node.rosters.history import Renewals
from folkmoot.node.service.holdout import Holdout, number_of
from folkmoot.node.service.interface import Record
from folkmoot.node.session.header import Header
from folkmoot.node.storage.database import DamagedError
from folkmoot.node.storage.storage import Storage, StoredMotion
from folkmoot.outcome import laplace_accuracy, log_odds
from folkmoot.votes import NO_VOTE


def checked_truths(truths: Mapping[int, str], header: Header) -> dict[int, str]:
    """The labels of the motion that are meant; ValueError if one, or an input, is not of this motion."""
    if not truths:
        raise ValueError("truths must be told of one input at least: got none")
    return {place: _truth(place, label, header, f"input {place}") for place, label in truths.items()}


def truths_in(data: bytes, name: str, header: Header) -> dict[int, str]:
    """The label of each input that a table names; where a label is blank, it is unknown.

    A table of ``--out`` with its labels put right can be told as it is: other columns are not looked at.
    """
    with text_table(data, name) as table:
        return _truths_of(table, header)


def _truths_of(table: Table, header: Header) -> dict[int, str]:
    labels: dict[int, str] = {}
    columns = {name.lower(): name for name in table.columns}
    if "label" not in columns or ("input" not in columns and len(columns) > 1):
        raise ValueError(
            f"{table.path} must have the columns input,label or label: got {shortened(table.columns)!r:.40}; "
            "its first line names them"
        )
    numbered = "input" in columns
    wanted = [columns[name] for name in ("input", "label") if name in columns]
    for number, (line, cells) in enumerate(table.rows(wanted, blank=True)):
        if not cells[-1]:
            continue
        where, place = table.where(line), cells[0] if numbered else str(number)
        if not numbered and number >= header.asked:
            raise ValueError(f"{where}: the motion has {header.asked} inputs, and this is one label more")
        if not (place.isascii() and place.isdigit()) or len(place) > 9:
            raise ValueError(f"{where}: input must be 0 to {header.asked - 1}: got {place!r:.40}")
        label = _truth(int(place), cells[-1], header, where)
        if int(place) in labels:
            raise ValueError(f"{where}: input {place} has a truth already")
        labels[int(place)] = label
    if not labels:
        raise ValueError(f"{table.path} has a header and no truths")
    return labels


def _truth(place: int, label: str, header: Header, where: str) -> str:
    if header.invites:
        raise ValueError(f"{where}: truths are of inputs, and this motion only invites validation rows")
    if header.terms.answers in ("numbers", "text"):
        raise ValueError(f"{where}: truths are labels, and this motion is about {header.terms.answers}")
    if not 0 <= place < header.asked:
        raise ValueError(f"{where}: input must be 0 to {header.asked - 1}: got {place}")
    known = _known(label, header.terms.labels)
    if known is None:
        raise ValueError(f"{where}: label must be one of {shortened(header.terms.labels)}: got {label!r:.80}")
    return known


def _known(cell: str, known: tuple[str, ...]) -> str | None:
    """The label that a cell means: 3.0, as tables with missing values have it, is 3. None if it is none."""
    if cell in known:
        return cell
    try:
        (label,) = as_labels([float(cell)])
    except ValueError:
        return None
    return label if label in known else None


# Inputs of earlier motions that are learnt from, the newest. More would let one motion keep the model from
# others: with 500, final votes of the largest motion that is allowed take 5 to 8 s of a processor.
MOST_KNOWN: Final = 500


def read_records(storage: Storage) -> dict[str, Record]:
    """Of every participant that voted where the truth is known, by fingerprint."""
    renewals = Renewals(storage)
    right, voted = Counter[str](), Counter[str]()
    for stored, votes in _told(storage):
        number = {label: place for place, label in enumerate(stored.header.terms.labels)}
        for member, said in enumerate(votes):
            who = renewals.newest(stored.members[member])
            for place, label in stored.truths.items():
                if said[place] != NO_VOTE:
                    voted[who] += 1
                    right[who] += int(said[place] == number.get(label, -2))
    return {
        who: Record(right[who], many, round(float(laplace_accuracy(right[who], many)), 6))
        for who, many in voted.items()
    }


def known_votes(storage: Storage, members: Sequence[str], labels: Sequence[str]) -> tuple[Ints, Ints]:
    """First votes (member, row) of these members where the truth was told, and the truth (row,).

    Labels are numbered as in ``labels``: any other is no vote, and a row with such a truth is left out. They
    are ``Knowledge.record`` and ``record_truth`` of ``own``; ``members`` are fingerprints.
    """
    renewals = Renewals(storage)
    place = {renewals.newest(member): number for number, member in enumerate(members)}
    number = {label: each for each, label in enumerate(labels)}
    columns: list[Ints] = []
    truths: list[int] = []
    for stored, votes in _told(storage):
        renamed = np.array([*(number.get(label, NO_VOTE) for label in stored.header.terms.labels), NO_VOTE])
        for i, label in sorted(stored.truths.items()):
            if label in number:
                column = np.full(len(members), NO_VOTE, dtype=np.int64)
                for member, fingerprint in enumerate(stored.members):
                    now = place.get(renewals.newest(fingerprint))
                    if now is not None:
                        column[now] = renamed[votes[member, i]]
                columns.append(column)
                truths.append(number[label])
    if not truths:
        return np.empty((len(members), 0), dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.stack(columns[-MOST_KNOWN:], axis=1), np.array(truths[-MOST_KNOWN:], dtype=np.int64)


def knowledge(storage: Storage, holdout: Holdout, header: Header, roster: Roster) -> Knowledge:
    """The rows of this node and the records of others, for its final votes in a motion."""
    truth, said = zip(*holdout.pairs, strict=True) if len(holdout) else ((), ())
    if header.terms.answers == "numbers":
        return Knowledge(np.array([*map(number_of, said)]), np.array([*map(number_of, truth)]))
    number = {label: place for place, label in enumerate(header.terms.labels)}
    known = [i for i, label in enumerate(truth) if label in number]
    members = [member.fingerprint for member in roster]
    return Knowledge(
        np.array([number.get(said[i], NO_VOTE) for i in known], dtype=np.int64),
        np.array([number[truth[i]] for i in known], dtype=np.int64),
        *known_votes(storage, members, header.terms.labels),
    )


def weights_of(storage: Storage, members: Sequence[str], classes: int) -> list[float]:
    """Weights of members' answers: log-odds of their records, 0 if worse than a guess.

    A participant without a record weighs as much as the average one with a record. ``members`` are
    fingerprints.
    """
    records, renewals = read_records(storage), Renewals(storage)
    found = {who: records.get(renewals.newest(who)) for who in members}
    known = {
        who: max(0.0, float(log_odds([record.accuracy], classes)[0]))
        for who, record in found.items()
        if record is not None
    }
    usual = sum(known.values()) / len(known) if known and any(known.values()) else 1.0
    return [known.get(who, usual) for who in members]


def _told(storage: Storage) -> Iterator[tuple[StoredMotion, Ints]]:
    """Motions about which truths were told, with their first votes (member, input) as labels.

    A damaged one says nothing about anybody.
    """
    for name in storage.names("told"):
        with suppress(DamagedError):
            found = read_votes(storage, name)
            first = found.first
            if first is not None and first.asked is not None:
                votes = first.form.likeliest(first.asked).copy()
                votes[list(found.stored.evidence)] = NO_VOTE
                yield found.stored, votes
