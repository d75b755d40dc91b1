"""Searches through a system of quorum sets: minimal quorums, blocking and splitting sets, disjoint quorums.

Every minimal quorum lies within one strongly connected part of the graph of who names whom. The part of a
quorum that names nobody outside it (within the quorum) is itself a quorum. So only those parts that hold a
quorum are searched, the cores; a follower that nobody names costs nothing. Within a core it is branch and
bound. A set is grown node by node, and left as soon as it cannot become what is sought.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np

from folkmoot.outlook.bits import Bits, counting, named, places


class NotFinishedError(TimeoutError):
    """The search took longer than it was given; what it had not yet looked at may hold anything."""


@dataclass
class Clock:
    """Time for a search: ``seconds`` from now, or for ever."""

    seconds: float | None = None

    def __post_init__(self) -> None:
        self.end = None if self.seconds is None else time.monotonic() + self.seconds

    def check(self) -> None:
        """Raise NotFinishedError once the time is over."""
        if self.end is not None and time.monotonic() > self.end:
            raise NotFinishedError(f"not finished in {self.seconds:g} s; give it more time")


def parts(bits: Bits) -> list[int]:
    """The strongly connected parts of the graph of who names whom."""
    from scipy.sparse import csr_array  # heavy, and few search
    from scipy.sparse.csgraph import connected_components

    at = {place: number for number, place in enumerate(places(bits.everyone))}
    edges = [
        (at[place], at[other])
        for quorum_set, owners in bits.owners.items()
        for other in places(named(quorum_set) & bits.everyone)
        for place in places(owners)
    ]
    rows, columns = zip(*edges, strict=True) if edges else ((), ())
    graph = csr_array((np.ones(len(edges), bool), (rows, columns)), shape=(len(at), len(at)))
    count, part_of = connected_components(graph, connection="strong")
    found = [0] * count
    for place, number in zip(at, part_of.tolist(), strict=True):
        found[number] |= 1 << place
    return found


def cores(bits: Bits) -> list[Bits]:
    """The strongly connected parts that hold a quorum, and of each the greatest quorum alone."""
    alive = bits.among(bits.greatest(bits.everyone))
    inside = [bits.among(part).greatest(part) for part in parts(alive)] if alive.everyone else []
    return [bits.among(each) for each in sorted(inside, key=lambda each: each & -each) if each]


def _grown(bits: Bits, clock: Clock, *, disjoint: bool) -> Iterator[int]:
    """Minimal quorums of a core; with ``disjoint`` only such as leave room for another beside them.

    A set grows by a node or goes without it, and then without all that are like it: so of those that differ
    only in which of several like nodes they hold, one comes. It is left when the sets of its members can no
    longer be satisfied by those that are still open.
    """
    todo = [(0, bits.greatest(bits.everyone))]
    while todo:
        clock.check()
        chosen, left = todo.pop()
        if disjoint and (
            2 * chosen.bit_count() > bits.everyone.bit_count() or not bits.greatest(bits.everyone & ~chosen)
        ):
            continue
        if bits.greatest(chosen):
            if bits.is_quorum(chosen) and bits.is_minimal(chosen):
                yield chosen
        elif left and not _idle(bits, chosen):
            place = next(places(left))
            rest = bits.greatest(chosen | left & ~bits.alike[place])
            if rest and chosen & ~rest == 0:
                todo.append((chosen, rest & ~chosen))
            todo.append((chosen | 1 << place, left & ~(1 << place)))


def _idle(bits: Bits, chosen: int) -> int:
    """Those chosen who count towards nobody's set: a quorum with them would be one without them."""
    for quorum_set in bits.owners:
        chosen &= ~counting(quorum_set, chosen | bits.gone)
    return chosen


def _all_alike(bits: Bits, found: int, clock: Clock) -> Iterator[int]:
    """The set, and every other that holds as many of each kind of like nodes."""
    kinds = [(kind, found & kind) for kind in {bits.alike[place] for place in places(found)}]
    several = [(list(places(kind)), held.bit_count()) for kind, held in kinds if held != kind]
    sets = [sum(kind for kind, held in kinds if held == kind)]
    # Not product(), which begins by making all choices of each kind: there may be more than fit into memory.
    choices = [combinations(*several[0])] if several else []
    if not several:
        yield sets[0]
    while choices:
        clock.check()
        picked = next(choices[-1], None)
        if picked is None:
            choices.pop()
            sets.pop()
            continue
        made = sets[-1] | sum(1 << place for place in picked)
        if len(choices) == len(several):
            yield made
        else:
            choices.append(combinations(*several[len(choices)]))
            sets.append(made)


def _first(kind: int, many: int) -> int:
    """The first so many places of a kind."""
    return sum(1 << place for place, _ in zip(places(kind), range(many), strict=False))


def minimal_quorums(bits: Bits, clock: Clock) -> Iterator[int]:
    """Every quorum that has none within it."""
    for core in cores(bits):
        for found in _grown(core, clock, disjoint=False):
            yield from _all_alike(core, found, clock)


def disjoint_quorums(bits: Bits, clock: Clock) -> tuple[int, int] | None:
    """Two quorums that share nobody, both minimal, or None: then every two quorums intersect."""
    found = cores(bits)
    if len(found) > 1:
        one, two = (core.smallest_within(core.everyone) for core in found[:2])
        return one, two
    for core in found:
        for one in _grown(core, clock, disjoint=True):
            return one, core.smallest_within(core.greatest(core.everyone & ~one))
    return None


def minimal_blocking(bits: Bits, clock: Clock) -> Iterator[int]:
    """Every set that meets all quorums and has none such within it.

    A set grows by a node of a quorum that it does not meet, or goes without it and all that are like it. It
    is left when it has a member that it could do without, or a quorum that it may no longer meet.
    """
    bits = bits.among(sum(core.everyone for core in cores(bits)))
    todo = [(0, 0)] if bits.everyone else []
    while todo:
        clock.check()
        chosen, left_out = todo.pop()
        unmet = bits.greatest(bits.everyone & ~chosen)
        if not unmet:
            yield from _all_alike(bits, chosen, clock)
        elif not bits.greatest(left_out):
            quorum = bits.smallest_within(unmet, keep=left_out)
            kind = bits.alike[next(places(quorum & ~left_out))] & ~chosen & ~left_out
            todo.append((chosen, left_out | kind))
            grown = chosen | kind & -kind
            if all(bits.greatest(bits.everyone & ~grown | 1 << member) for member in places(grown)):
                todo.append((grown, left_out))


def minimal_splitting(bits: Bits, clock: Clock) -> Iterator[int]:
    """Every least set that holds all that two quorums share, neither of which holds the other.

    Two quorums that hold unlike minimal ones share at least what those share, so pairs of minimal quorums are
    enough. If there is only one, all quorums hold it, and the others are compared without it.
    """
    found = cores(bits)
    if len(found) > 1:
        yield 0
    elif found:
        (core,) = found
        kinds = list(_grown(core, clock, disjoint=False))
        minimal = [each for kind in kinds for each in _all_alike(core, kind, clock)]
        if len(minimal) > 1:
            for least in _least_shared(core, kinds, minimal, clock):
                yield from _all_alike(core, least, clock)
        else:
            for each in minimal_splitting(bits.without(minimal[0]), clock):
                yield minimal[0] | each


def _least_shared(bits: Bits, kinds: list[int], minimal: list[int], clock: Clock) -> list[int]:
    """The least of what two unlike minimal quorums share, one for each number of like nodes.

    One of the two may be taken as it was found, of those that are alike. What they share is counted by kinds
    of like nodes: it holds something smaller if that has at most as many of each kind.
    """
    kind_of = sorted(set(bits.alike.values()))
    counts: set[tuple[int, ...]] = set()
    for one in kinds:
        clock.check()
        for shared in {one & other for other in minimal if other != one}:
            counts.add(tuple((shared & kind).bit_count() for kind in kind_of))
    least: list[tuple[int, ...]] = []
    for each in sorted(counts, key=lambda count: (sum(count), count)):
        clock.check()
        if not any(all(a <= b for a, b in zip(smaller, each, strict=True)) for smaller in least):
            least.append(each)
    return [sum(map(_first, kind_of, each)) for each in least]


def smallest_misstating(bits: Bits, at_most: int, clock: Clock) -> list[int]:
    """The smallest sets, of at most so many, that split the others if they agree to anything; or none.

    Only parts that hold a malicious node or name one are searched again: the others keep their quorums.
    """
    everywhere = parts(bits)
    part_of = {place: number for number, part in enumerate(everywhere) for place in places(part)}
    core_of = {part_of[next(places(core.everyone))]: core for core in cores(bits)}
    touched: dict[int, set[int]] = {
        place: {part} for place, part in part_of.items()
    }  # parts, by malicious node
    followed = 0
    for quorum_set, owners in bits.owners.items():
        followed |= named(quorum_set)
        for place in places(named(quorum_set)):
            touched[place] |= {part_of[owner] for owner in places(owners)}

    def split(malicious: int) -> bool:
        """Whether two quorums of the others share nobody if these agree to anything."""
        anew = set().union(*(touched[place] for place in places(malicious)))
        found = [core for number, core in core_of.items() if number not in anew]
        for number in anew:
            clock.check()
            found += cores(bits.among(everywhere[number] & ~malicious, malicious))
        return len(found) > 1 or any(disjoint_quorums(each, clock) is not None for each in found)

    kinds = sorted({bits.alike[place] for place in places(followed)})
    for size in range(1, at_most + 1):
        found: list[int] = []
        for picked in combinations_with_replacement(kinds, size):
            clock.check()
            if all(kind.bit_count() >= picked.count(kind) for kind in picked):
                malicious = sum(_first(kind, picked.count(kind)) for kind in set(picked))
                found += _all_alike(bits, malicious, clock) if split(malicious) else ()
        if found:
            return found
    return []
