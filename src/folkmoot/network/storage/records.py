"""Track records: how often each participant's first vote was right, where truths have been told.

They belong to this node alone; nobody is asked to believe them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.accuracy import laplace_accuracy, log_odds
from folkmoot.arrays import Ints
from folkmoot.network.storage.chronicle import Renewals
from folkmoot.network.storage.database import DamagedError
from folkmoot.network.storage.storage import Held, Storage, StoredMotion
from folkmoot.network.wire.verdict import first_votes
from folkmoot.trust import CheckedAnswers, check_answers
from folkmoot.votes import UNCOLOURED

MOST_CHECKED: Final = 5000  # inputs of former motions that are learnt from


@dataclass(frozen=True)
class TrackRecord:
    """First votes on inputs whose truth is known."""

    right: int = 0
    voted: int = 0

    @property
    def accuracy(self) -> float:
        """Laplace's rule of succession, so that few votes do not make anybody perfect."""
        return float(laplace_accuracy(self.right, self.voted))


class TrackRecords:
    """The records of all participants, by fingerprint, as the storage has them now.

    A participant whose certificate was renewed keeps its record, under the newest one.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def read(self) -> dict[str, TrackRecord]:
        """Every participant that has voted on something of which the truth is known."""
        renewals = Renewals(self._storage)
        right: dict[str, int] = {}
        voted: dict[str, int] = {}
        for stored, held in self._told():
            motion = stored.motion
            cheats = {node for node, _ in held.evidence}
            colour = {label: number for number, label in enumerate(motion.labels)}
            counted = held.committed - cheats
            everybody = first_votes(motion, len(stored.members), held.closes, counted, held.owners)
            for node, votes in enumerate(everybody):
                who = renewals.newest(stored.members[node])
                for place, label in held.truths.items():
                    if votes[place] >= 0:
                        voted[who] = voted.get(who, 0) + 1
                        right[who] = right.get(who, 0) + int(votes[place] == colour.get(label, -2))
        return {who: TrackRecord(right.get(who, 0), count) for who, count in voted.items()}

    def answers(self, fingerprint: str) -> list[tuple[str, str]]:
        """(truth, first vote) of one participant, wherever both are known."""
        renewals = Renewals(self._storage)
        own, pairs = renewals.newest(fingerprint), []
        for stored, held in self._told():
            members = [renewals.newest(member) for member in stored.members]
            if own not in members:
                continue
            motion, node = stored.motion, members.index(own)
            everybody = first_votes(motion, len(stored.members), held.closes, held.committed, held.owners)
            votes = everybody[node]
            pairs += [(label, motion.labels[votes[i]]) for i, label in held.truths.items() if votes[i] >= 0]
        return pairs

    def checked(self, members: Sequence[str], labels: Sequence[str]) -> CheckedAnswers | None:
        """First votes of these members on inputs whose truth was told, the newest; None if there are none.

        They are checked answers that nobody but this node has to believe. A label that is not among
        ``labels`` is no vote, and an input with such a truth is left out.
        """
        renewals = Renewals(self._storage)
        place = {renewals.newest(member): number for number, member in enumerate(members)}
        colour = {label: number for number, label in enumerate(labels)}
        votes: list[Ints] = []
        truths: list[int] = []
        for stored, held in self._told():
            motion = stored.motion
            counted = held.committed - {node for node, _ in held.evidence}
            everybody = first_votes(motion, len(stored.members), held.closes, counted, held.owners)
            renamed = np.array([*(colour.get(label, UNCOLOURED) for label in motion.labels), UNCOLOURED])
            known = [(i, colour[label]) for i, label in sorted(held.truths.items()) if label in colour]
            for i, truth in known:
                said = np.full(len(members), UNCOLOURED, dtype=np.int64)
                for node, fingerprint in enumerate(stored.members):
                    now = place.get(renewals.newest(fingerprint))
                    if now is not None:
                        said[now] = renamed[everybody[node, i]]
                votes.append(said)
                truths.append(truth)
        if not truths:
            return None
        newest = np.stack(votes[-MOST_CHECKED:], axis=1)
        return check_answers(newest, truths[-MOST_CHECKED:], classes=len(labels))

    def _told(self) -> Iterator[tuple[StoredMotion, Held]]:
        """Motions about which truths were told; a damaged one says nothing about anybody."""
        for name in self._storage.names("told"):
            with suppress(DamagedError):
                yield self._storage.motion(name), self._storage.held(name)

    def weights(self, members: Sequence[str], classes: int) -> list[float]:
        """What a participant's answer weighs: log-odds of its record, nothing if worse than a guess.

        Scaled so that a participant without a record weighs as much as the average one with a record.
        """
        records, renewals = self.read(), Renewals(self._storage)
        found = {who: records.get(renewals.newest(who)) for who in members}
        known = {
            who: max(0.0, float(log_odds([record.accuracy], classes)[0]))
            for who, record in found.items()
            if record is not None
        }
        usual = sum(known.values()) / len(known) if known and any(known.values()) else 1.0
        return [known.get(who, usual) for who in members]
