"""Quorum sets over places, sets of places as bits of an int: what all searches stand on."""

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


def counting(quorum_set: Compiled, present: int) -> int:
    """Those present without whom the set is further from being satisfied, whoever else may join."""
    threshold, members, inner = quorum_set
    done = [satisfied(part, present) for part in inner]
    agreed = (members & present).bit_count() + sum(done)
    if agreed > threshold:
        return 0
    found = members & present
    for part, is_done in zip(inner, done, strict=True):
        if is_done or agreed < threshold:
            found |= counting(part, present)
    return found


def named(quorum_set: Compiled) -> int:
    """Everybody in the set, at any level."""
    _, members, inner = quorum_set
    for part in inner:
        members |= named(part)
    return members


def compiled(names: Sequence[str], sets: Sequence[QuorumSet | None]) -> list[Compiled]:
    """Quorum sets over the places of ``names``; who has none, or is no node, is in no quorum."""
    at = {name: place for place, name in enumerate(names)}

    def compile_one(quorum_set: QuorumSet) -> Compiled:
        members = sum(1 << at[name] for name in quorum_set.members if name in at)
        return quorum_set.threshold, members, tuple(compile_one(part) for part in quorum_set.inner)

    return [NEVER if each is None else compile_one(each) for each in sets]


class Bits:
    """The quorum sets of ``everyone``: those gone agree to anything, all others to nothing.

    Nodes with the same set are looked at together.
    """

    def __init__(self, of_place: Sequence[Compiled], everyone: int, gone: int = 0) -> None:
        self.of_place, self.everyone, self.gone = of_place, everyone, gone
        self.owners: dict[Compiled, int] = {}
        for place in places(everyone):
            self.owners[of_place[place]] = self.owners.get(of_place[place], 0) | 1 << place

    def among(self, kept: int, gone: int = 0) -> Bits:
        """The system of these places alone; only those gone agree to anything beside them."""
        return Bits(self.of_place, self.everyone & kept, self.gone | gone)

    def without(self, gone: int) -> Bits:
        """The system when those gone agree to anything."""
        return self.among(~gone, gone)

    @cached_property
    def alike(self) -> dict[int, int]:
        """For each place all places that could change theirs with it and nothing would change.

        They have the same set, and whoever names one of them names the others beside it.
        """
        kinds, todo = list(self.owners.values()), list(self.owners)
        while todo:
            each = todo.pop()
            if not satisfied(each, self.gone):
                kinds.append(each[1] & self.everyone)
                todo += each[2]
        marks: dict[int, list[int]] = {place: [] for place in places(self.everyone)}
        for number, kind in enumerate(kinds):
            for place in places(kind):
                marks[place].append(number)
        together: dict[tuple[int, ...], int] = {}
        for place, mark in marks.items():
            together[tuple(mark)] = together.get(tuple(mark), 0) | 1 << place
        return {place: together[tuple(mark)] for place, mark in marks.items()}

    @cached_property
    def _naming(self) -> dict[int, list[int]]:
        """For each place the numbers of the sets that name it."""
        naming: dict[int, list[int]] = {place: [] for place in places(self.everyone)}
        for number, each in enumerate(self.owners):
            for place in places(named(each) & self.everyone):
                naming[place].append(number)
        return naming

    def greatest(self, within: int) -> int:
        """The greatest quorum within these places (the union of all of them), 0 if there is none."""
        alive, sets = within & self.everyone, list(self.owners.items())
        todo = {number for number, (_, owners) in enumerate(sets) if owners & alive}
        while todo and alive:
            quorum_set, owners = sets[todo.pop()]
            if owners & alive and not satisfied(quorum_set, alive | self.gone):
                for place in places(owners & alive):  # whoever names one of them is asked again
                    todo.update(self._naming[place])
                alive &= ~owners
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
