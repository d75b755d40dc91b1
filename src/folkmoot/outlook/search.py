"""Searches through a system of quorum sets: minimal quorums, blocking and splitting sets, disjoint quorums.

Every minimal quorum lies within one strongly connected part of the graph of who names whom: of a quorum the
part that names nobody outside it (within the quorum) is a quorum by itself. So only those parts that hold a
quorum are searched, the cores; a follower that nobody names costs nothing. Within a core it is branch and
bound: a set is grown node by node, and left as soon as it cannot become what is sought.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, islice

import numpy as np

from folkmoot.outlook.bits import Bits, places


class NotFinishedError(TimeoutError):
    """The search took longer than it was given; what it had not yet looked at may hold anything.

    Examples
    --------
    >>> from folkmoot.outlook import NotFinishedError, QuorumSet, QuorumSystem
    >>> half = QuorumSet(8, [str(i) for i in range(15)])
    >>> try:
    ...     QuorumSystem(dict.fromkeys(half.members, half)).minimal_quorums(seconds=0)
    ... except NotFinishedError as error:
    ...     print(error)
    not finished in 0 s; give it more time
    """


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


def _parts(bits: Bits, among: list[int]) -> list[list[int]]:
    """The strongly connected parts of the graph of who names whom among these places."""
    from scipy.sparse import csr_array  # heavy: every node imports this module, and few search
    from scipy.sparse.csgraph import connected_components

    shift = {place: number for number, place in enumerate(among)}
    rows, columns = [], []
    for number, place in enumerate(among):
        for other in places(bits.named_by(place)):
            if other in shift:
                rows.append(number)
                columns.append(shift[other])
    graph = csr_array((np.ones(len(rows), bool), (rows, columns)), shape=(len(among), len(among)))
    count, part_of = connected_components(graph, connection="strong")
    parts: list[list[int]] = [[] for _ in range(count)]
    for place, number in zip(among, part_of.tolist(), strict=True):
        parts[number].append(place)
    return parts


def cores(bits: Bits) -> list[list[int]]:
    """The strongly connected parts that hold a quorum, each as its places."""
    alive = list(places(bits.greatest(bits.everyone)))
    if not alive:
        return []
    found = []
    for part in _parts(bits, alive):
        alone = bits.within(part)
        if inside := alone.greatest(alone.everyone):
            found.append([part[place] for place in places(inside)])
    return sorted(found)


def _grown(bits: Bits, clock: Clock, *, disjoint: bool) -> Iterator[int]:
    """Minimal quorums of a core; with ``disjoint`` only such as leave room for another beside them.

    A set grows by a node or goes without it, and then without all that are like it: so of those that differ
    only in which of several like nodes they hold, one comes. It is left when the sets of its members can no
    longer be satisfied by those that are still open, or when one of its members counts towards nobody's set
    any more: a quorum with it would be one without it.
    """
    size = bits.everyone.bit_count()
    order = sorted(range(size), key=lambda place: -bits.popularity(place))
    rank = {place: number for number, place in enumerate(order)}
    todo = [(0, bits.greatest(bits.everyone))]
    while todo:
        clock.check()
        chosen, open_ = todo.pop()
        if disjoint and (2 * chosen.bit_count() > size or not bits.greatest(bits.everyone & ~chosen)):
            continue
        if bits.greatest(chosen):
            if bits.is_quorum(chosen) and bits.is_minimal(chosen):
                yield chosen
            continue
        if chosen & ~bits.counting(chosen) or not open_:
            continue
        place = min(places(open_), key=rank.__getitem__)
        left = bits.greatest(chosen | open_ & ~bits.alike[place])
        if left and chosen & ~left == 0:
            todo.append((chosen, left & ~chosen))
        todo.append((chosen | 1 << place, open_ & ~(1 << place)))


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


def _outward(core: list[int], inner: int) -> int:
    return sum(1 << core[place] for place in places(inner))


def minimal_quorums(bits: Bits, clock: Clock) -> Iterator[int]:
    """Every quorum that has none within it."""
    for core in cores(bits):
        inside = bits.within(core)
        for found in _grown(inside, clock, disjoint=False):
            for each in _all_alike(inside, found, clock):
                yield _outward(core, each)


def disjoint_quorums(bits: Bits, clock: Clock) -> tuple[int, int] | None:
    """Two quorums that share nobody, both minimal, or None: then every two quorums intersect."""
    found = cores(bits)
    if len(found) > 1:
        pair = [_outward(core, _minimal(bits.within(core))) for core in found[:2]]
        return pair[0], pair[1]
    for core in found:
        inside = bits.within(core)
        for one in _grown(inside, clock, disjoint=True):
            beside = inside.greatest(inside.everyone & ~one)
            return _outward(core, one), _outward(core, inside.smallest_within(beside))
    return None


def _minimal(bits: Bits) -> int:
    return bits.smallest_within(bits.greatest(bits.everyone))


def minimal_blocking(bits: Bits, clock: Clock) -> Iterator[int]:
    """Every set that meets all quorums and has none such within it.

    A set grows by a node of a quorum that it does not meet, or goes without it and all that are like it. It
    is left when it has a member that it could do without, or a quorum that it may no longer meet.
    """
    core = [place for part in cores(bits) for place in part]
    if not core:
        return
    bits = bits.within(core)
    todo = [(0, 0)]
    while todo:
        clock.check()
        chosen, left_out = todo.pop()
        unmet = bits.greatest(bits.everyone & ~chosen)
        if not unmet:
            for each in _all_alike(bits, chosen, clock):
                yield _outward(core, each)
            continue
        if bits.greatest(left_out):
            continue
        quorum = bits.smallest_within(unmet, keep=left_out)
        kind = bits.alike[next(places(quorum & ~left_out))] & ~chosen & ~left_out
        todo.append((chosen, left_out | kind))
        grown = chosen | kind & -kind
        if all(bits.greatest(bits.everyone & ~grown | 1 << member) for member in places(grown)):
            todo.append((grown, left_out))


def minimal_splitting(bits: Bits, clock: Clock) -> Iterator[int]:
    """Every least set that holds all that two quorums share, neither of which holds the other.

    Two quorums that hold unlike minimal ones share at least what those share, so pairs of minimal quorums are
    enough, but where there is one alone: then all quorums hold it, and the others are compared without it.
    """
    found = cores(bits)
    if len(found) > 1:
        yield 0
    for core in found[:1] if len(found) == 1 else []:
        inside = bits.within(core)
        kinds = list(_grown(inside, clock, disjoint=False))
        minimal = [each for kind in kinds for each in _all_alike(inside, kind, clock)]
        if len(minimal) > 1:
            for least in _least_shared(inside, kinds, minimal, clock):
                for each in _all_alike(inside, least, clock):
                    yield _outward(core, each)
        else:
            alone = _outward(core, minimal[0])
            rest, kept = bits.without(alone)
            for each in minimal_splitting(rest, clock):
                yield alone | _outward(kept, each)


def _least_shared(bits: Bits, kinds: list[int], minimal: list[int], clock: Clock) -> list[int]:
    """The least of what two unlike minimal quorums share, one for each number of like nodes.

    One of the two may be taken as it was found, of those that are alike. What they share is counted by kinds
    of like nodes: it holds something smaller if that has at most as many of each kind.
    """
    kind_of = sorted({bits.alike[place] for place in range(len(bits.of_place))})
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
    return [
        sum(
            1 << place
            for kind, many in zip(kind_of, each, strict=True)
            for place in list(places(kind))[:many]
        )
        for each in least
    ]


class _Lying:
    """Whether liars split a system, looking only at parts that hold one of them or name one.

    In all other parts everything is as it was: they have the quorums that they had.
    """

    def __init__(self, bits: Bits, clock: Clock) -> None:
        self._bits, self._clock = bits, clock
        self._parts = _parts(bits, list(range(len(bits.of_place))))
        self._part_of = {place: number for number, part in enumerate(self._parts) for place in part}
        self._cores = {self._part_of[core[0]]: bits.within(core) for core in cores(bits)}

    def splits(self, liars: int) -> bool:
        """Whether two quorums of the others share nobody if these agree to anything."""
        touched = {self._part_of[place] for place in places(liars)}
        for place in places(liars):
            touched |= {self._part_of[other] for other in places(self._bits.naming(place))}
        found = [core for number, core in self._cores.items() if number not in touched]
        for number in touched:
            self._clock.check()
            part = [place for place in self._parts[number] if not liars >> place & 1]
            inside = self._bits.within(part, liars)
            found += [inside] * len(cores(inside))
        return len(found) > 1 or any(disjoint_quorums(each, self._clock) is not None for each in found)


def smallest_liars(bits: Bits, at_most: int, clock: Clock) -> list[int]:
    """The smallest sets, of at most so many, that split the others if they agree to anything; or none."""
    if at_most < 1:
        return []
    named = 0
    for place in range(len(bits.of_place)):
        named |= bits.named_by(place)
    kinds = sorted({bits.alike[place] for place in places(named)})
    lying = _Lying(bits, clock)
    for size in range(1, at_most + 1):
        found: list[int] = []
        for picked in combinations_with_replacement(kinds, size):
            clock.check()
            if any(kind.bit_count() < picked.count(kind) for kind in picked):
                continue
            liars = sum(
                1 << place for kind in set(picked) for place in islice(places(kind), picked.count(kind))
            )
            if lying.splits(liars):
                found += _all_alike(bits, liars, clock)
        if found:
            return found
    return []
