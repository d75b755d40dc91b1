"""Statements by member, and the evidence in them: two values for one slot, or a broken lock."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from folkmoot.node.session.frames import MARK
from folkmoot.node.session.statement import NIL, Digest, Kind, Members, Said, Slot

_AHEAD: Final = 32  # rounds beyond a member's own of which it keeps statements
_KEPT: Final = 2  # values for one slot that are kept of whoever says more, unless others say them, too


class Evidence(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Two statements of one member that no honest one makes."""

    motion: Digest
    one: Said
    other: Said


def contradict(one: Said, other: Said) -> bool:
    """Whether an honest member would not have made both statements.

    Two values for one slot, or a broken lock. The latter is precommit x in round r, and a prevote y != x in a
    round r' > r that is justified by no round from r on.
    """
    if one.member != other.member or not (one.sound and other.sound):
        return False
    if one.slot == other.slot:
        return one.content != other.content
    if one.kind == Kind.PREVOTE:
        one, other = other, one
    return (
        (one.kind, other.kind) == (Kind.PRECOMMIT, Kind.PREVOTE)
        and (one.poll, one.stage) == (other.poll, other.stage)
        and NIL not in (one.value, other.value)
        and one.value != other.value
        and other.just < one.round < other.round
    )


class Book:
    """The statements of a motion that a member holds, all of them verified."""

    def __init__(self, motion: bytes, members: Members, polls: int) -> None:
        self.motion, self.members, self.polls = motion, members, polls
        self.evidence: dict[int, Evidence] = {}  # the first by member
        self.round: dict[tuple[int, int], int] = {}  # by (poll, stage): the round that its holder is in
        self.size = 0
        self.forged = 0  # statements whose signatures did not hold
        self._slots: defaultdict[Slot, dict[int, list[Said]]] = defaultdict(dict)
        # By (kind, poll, stage), round and value: who said it.
        self._tallies: defaultdict[tuple[int, int, int], dict[int, defaultdict[bytes, set[int]]]]
        self._tallies = defaultdict(dict)
        self._ahead: defaultdict[tuple[int, int], dict[int, int]] = defaultdict(dict)
        self._locks: defaultdict[tuple[int, int, int], list[Said]] = defaultdict(list)
        self._marks: dict[tuple[int, bytes, Slot, int], bytes] = {}

    def add(self, said: Said, *, stored: bool = False) -> bool:
        """Keep a statement; False if it is known, unsound, not of its member, or not worth keeping.

        One that was ``stored`` is kept whatever its round: after a restart a member knows all that it said.
        """
        if said.poll >= self.polls or said.member >= self.members.n or not said.sound:
            return False
        there = self._slots[said.slot].get(said.member, [])
        if any(each.content == said.content for each in there):
            return False
        if len(there) >= _KEPT and not self._named_by_others(said):
            return False
        words = said.words(self.motion)
        if not self.members.verify(said.member, words, said.signature):
            self.forged += 1
            return False
        stage = said.poll, said.stage
        if not stored and said.round > self.round.get(stage, 0) + _AHEAD:
            self._ahead[stage][said.member] = max(said.round, self._ahead[stage].get(said.member, 0))
            return False
        self._marks[said.member, said.value, said.slot, said.just] = hashlib.sha256(words).digest()[:MARK]
        self._slots[said.slot].setdefault(said.member, []).append(said)
        self._tallies[said.slot[:3]].setdefault(said.round, defaultdict(set))[said.value].add(said.member)
        self.size += 1
        if said.round > self._ahead[stage].get(said.member, -1) and said.kind != Kind.COMMIT:
            self._ahead[stage][said.member] = said.round
        self._look_for_lies(said, there)
        return True

    def _named_by_others(self, said: Said) -> bool:
        """Others may need any value that another one says, too: a quorum may rest on it."""
        return any(
            member != said.member and any(each.value == said.value for each in kept[:_KEPT])
            for member, kept in self._slots[said.slot].items()
        )

    def _look_for_lies(self, said: Said, there: list[Said]) -> None:
        others = [each for each in there if each is not said]
        if said.kind in (Kind.PREVOTE, Kind.PRECOMMIT) and said.value != NIL:
            of_stage = self._locks[said.member, said.poll, said.stage]
            others += of_stage
            of_stage.append(said)
        if said.member not in self.evidence:
            for other in others:
                if contradict(said, other):
                    self.evidence[said.member] = Evidence(self.motion, other, said)
                    return

    def of(self, slot: Slot, member: int) -> list[Said]:
        """A member's statements there: none, one, or more of a liar."""
        kept = self._slots.get(slot)
        return kept.get(member, []) if kept else []

    def all_of(self, slot: Slot) -> Iterator[Said]:
        """All statements of a slot."""
        for kept in self._slots.get(slot, {}).values():
            yield from kept

    def speakers(self, slot: Slot) -> int:
        """How many members said anything there."""
        return len(self._slots.get(slot, ()))

    def tally(self, slot: Slot) -> Mapping[bytes, set[int]]:
        """By value, who said it."""
        return self._tallies[slot[:3]].get(slot[3]) or {}

    def rounds(self, kind: Kind, poll: int, stage: int) -> list[int]:
        """The rounds in which anybody made statements of this kind, in order."""
        return sorted(self._tallies[kind, poll, stage])

    def supported(self, kind: Kind, poll: int, stage: int, least: int) -> list[tuple[int, bytes]]:
        """(round, value) of what at least so many members said, but for nil."""
        return [
            (number, value)
            for number, tally in self._tallies[kind, poll, stage].items()
            for value, who in tally.items()
            if value != NIL and len(who) >= least
        ]

    def round_of_some(self, poll: int, stage: int) -> int:
        """The latest round that f + 1 members have reached: so an honest one has."""
        reached = sorted(self._ahead[poll, stage].values(), reverse=True)
        return reached[self.members.faults] if len(reached) > self.members.faults else 0

    def mark(self, said: Said) -> bytes:
        """The mark of a statement in a ``Have``."""
        return self._marks[said.member, said.value, said.slot, said.just]

    def everything(self) -> Iterator[Said]:
        """All statements."""
        for kept in self._slots.values():
            for statements in kept.values():
                yield from statements
