"""Track records: how often each participant's first vote was right, where truths have been told.

They belong to this node alone; nobody is asked to believe them. A participant whose certificate was renewed
keeps its record, under the newest one. A proven liar counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

import numpy as np

from folkmoot.arrays import Ints
from folkmoot.node.account import held
from folkmoot.node.ballots import likeliest
from folkmoot.node.membership.roster import Roster
from folkmoot.node.own import Knowledge
from folkmoot.node.rosters.chronicle import Renewals
from folkmoot.node.service.holdout import Holdout, number_of
from folkmoot.node.service.interface import Record
from folkmoot.node.session.header import Header
from folkmoot.node.storage.database import DamagedError
from folkmoot.node.storage.storage import Storage, StoredMotion
from folkmoot.outcome import laplace_accuracy, log_odds
from folkmoot.votes import NO_VOTE

# Inputs of earlier motions that are learnt from, the newest. More would let one motion keep the model from
# others: with 500, final votes of the largest motion that is allowed take 5 to 8 s of a processor.
MOST_KNOWN: Final = 500


def read_records(storage: Storage) -> dict[str, Record]:
    """Of every participant that voted where the truth is known, by fingerprint."""
    renewals = Renewals(storage)
    right: dict[str, int] = {}
    voted: dict[str, int] = {}
    for stored, votes in _told(storage):
        number = {label: place for place, label in enumerate(stored.header.terms.labels)}
        for member, said in enumerate(votes):
            who = renewals.newest(stored.members[member])
            for place, label in stored.truths.items():
                if said[place] != NO_VOTE:
                    voted[who] = voted.get(who, 0) + 1
                    right[who] = right.get(who, 0) + int(said[place] == number.get(label, -2))
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
            found = held(storage, name)
            first = found.first
            if first is not None and first.asked is not None:
                votes = likeliest(found.stored.header.terms.answers, first.asked).copy()
                votes[list(found.stored.evidence)] = NO_VOTE
                yield found.stored, votes
