"""Quorum sets over places 0 to n - 1, sets of places as bits of an int: what all searches stand on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from folkmoot.outlook.quorum_set import QuorumSet

Compiled: TypeAlias = tuple[int, int, "tuple[Compiled, ...]"]  # threshold, members, inner sets
NEVER: Compiled = (1, 0, ())


def places(bits: int) -> Iterator[int]:
    """The places in a set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def satisfied(quorum_set: Compiled, present: int) -> bool:
    """Whether those present are enough."""
    threshold, members, inner = quorum_set
    agreed = (members & present).bit_count()
    for part in inner:
        if agreed >= threshold:
            return True
        agreed += satisfied(part, present)
    return agreed >= threshold


def _counting(quorum_set: Compiled, present: int) -> int:
    """Those present without whom the set is further from being satisfied, whoever else may join.

    Who is not among them could leave and nobody would notice: the set is satisfied without it.
    """
    threshold, members, inner = quorum_set
    done = [satisfied(part, present) for part in inner]
    agreed = (members & present).bit_count() + sum(done)
    if agreed > threshold:
        return 0
    counting = members & present
    for part, is_done in zip(inner, done, strict=True):
        if is_done or agreed < threshold:
            counting |= _counting(part, present)
    return counting


def _named(quorum_set: Compiled) -> int:
    _, members, inner = quorum_set
    for part in inner:
        members |= _named(part)
    return members


def _without(quorum_set: Compiled, gone: int, shift: dict[int, int]) -> Compiled:
    """As if those gone agreed to anything: fewer are needed of the others, who get new places."""
    threshold, members, inner = quorum_set
    left = 0
    for place in places(members & ~gone):
        if place in shift:
            left |= 1 << shift[place]
    parts = []
    threshold -= (members & gone).bit_count()
    for part in inner:
        reduced = _without(part, gone, shift)
        if reduced[0] <= 0:
            threshold -= 1
        else:
            parts.append(reduced)
    return threshold, left, tuple(parts)


class Bits:
    """A system of quorum sets, one for each place; nodes with the same set are looked at together."""

    def __init__(self, sets: Sequence[Compiled]) -> None:
        together: dict[Compiled, int] = {}
        for place, quorum_set in enumerate(sets):
            together[quorum_set] = together.get(quorum_set, 0) | 1 << place
        self.of_place = list(sets)
        self.sets = list(together)
        self.owners = list(together.values())
        self.everyone = (1 << len(sets)) - 1

    @classmethod
    def compiled(cls, names: Sequence[str], sets: Sequence[QuorumSet | None]) -> Bits:
        """From quorum sets by name; who has none, or is no node, is in no quorum."""
        at = {name: place for place, name in enumerate(names)}

        def compile_one(quorum_set: QuorumSet) -> Compiled:
            members = 0
            for name in quorum_set.members:
                if name in at:
                    members |= 1 << at[name]
            return quorum_set.threshold, members, tuple(compile_one(part) for part in quorum_set.inner)

        return cls([NEVER if each is None else compile_one(each) for each in sets])

    @cached_property
    def _naming(self) -> list[list[int]]:
        """For each place the distinct sets that name it."""
        naming: list[list[int]] = [[] for _ in self.of_place]
        for number, quorum_set in enumerate(self.sets):
            for place in places(_named(quorum_set)):
                naming[place].append(number)
        return naming

    def named_by(self, place: int) -> int:
        """Whom the set of this place names."""
        return _named(self.of_place[place])

    @cached_property
    def alike(self) -> list[int]:
        """For each place all places that could change theirs with it and nothing would change.

        They have the same set, and whoever names one of them names the others beside it.
        """
        marks: list[list[int]] = [[] for _ in self.of_place]
        for number, owners in enumerate(self.owners):
            for place in places(owners):
                marks[place].append(-1 - number)
        todo = list(self.sets)
        number = 0
        while todo:
            _, members, inner = todo.pop()
            for place in places(members):
                marks[place].append(number)
            todo += inner
            number += 1
        together: dict[tuple[int, ...], int] = {}
        for place, mark in enumerate(marks):
            together[tuple(mark)] = together.get(tuple(mark), 0) | 1 << place
        return [together[tuple(mark)] for mark in marks]

    def naming(self, place: int) -> int:
        """Who names this place."""
        found = 0
        for number in self._naming[place]:
            found |= self.owners[number]
        return found

    def popularity(self, place: int) -> int:
        """How many nodes name this place."""
        return self.naming(place).bit_count()

    def greatest(self, within: int) -> int:
        """The greatest quorum within these places (the union of all of them), 0 if there is none."""
        alive = within
        todo = [number for number, owners in enumerate(self.owners) if owners & alive]
        waiting = set(todo)
        while todo:
            number = todo.pop()
            waiting.discard(number)
            leaving = self.owners[number] & alive
            if leaving and not satisfied(self.sets[number], alive):
                alive &= ~leaving
                if not alive:
                    return 0
                for place in places(leaving):
                    for other in self._naming[place]:
                        if other not in waiting:
                            waiting.add(other)
                            todo.append(other)
        return alive

    def is_quorum(self, nodes: int) -> bool:
        """Whether these places are not empty and satisfy the set of each of them."""
        return nodes != 0 and self.greatest(nodes) == nodes

    def smallest_within(self, quorum: int, keep: int = 0) -> int:
        """A minimal quorum within this quorum; those of ``keep`` are taken out last."""
        for place in [*places(quorum & ~keep), *places(quorum & keep)]:
            if quorum >> place & 1:
                quorum = self.greatest(quorum & ~(1 << place)) or quorum
        return quorum

    def is_minimal(self, quorum: int) -> bool:
        """Whether this quorum has none within it."""
        return not any(self.greatest(quorum & ~(1 << place)) for place in places(quorum))

    def counting(self, present: int) -> int:
        """Those present who count towards anybody's set, whoever else may join."""
        counting = 0
        for quorum_set in self.sets:
            counting |= _counting(quorum_set, present)
            if counting == present:
                break
        return counting

    def within(self, kept: Sequence[int], gone: int = 0) -> Bits:
        """The system of these places alone, in their order; only those gone agree to anything beside them."""
        shift = {place: number for number, place in enumerate(kept)}
        return Bits([_without(self.of_place[place], gone, shift) for place in kept])

    def without(self, gone: int) -> tuple[Bits, list[int]]:
        """The system when those gone agree to anything, as liars may; and the old places of the others."""
        kept = list(places(self.everyone & ~gone))
        return self.within(kept, gone), kept
