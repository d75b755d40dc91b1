"""QuorumSystem: nodes and their quorum sets, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from folkmoot.outlook import search
from folkmoot.outlook.bits import Bits, compiled, places
from folkmoot.outlook.quorum_set import QuorumSet
from folkmoot.outlook.search import Clock


class QuorumSystem:
    """Nodes, each with the quorum set that it chose for itself.

    A *quorum* is a set of nodes, not empty, that satisfies the quorum set of each of its members: they can
    decide by themselves. All functions that search take ``seconds`` and raise
    ``TimeoutError`` when these are over.
    """

    def __init__(self, quorum_sets: Mapping[str, QuorumSet | None]) -> None:
        self.quorum_sets = dict(quorum_sets)
        self.names = tuple(self.quorum_sets)
        self._at = {name: place for place, name in enumerate(self.names)}
        self._bits = Bits(compiled(self.names, list(self.quorum_sets.values())), (1 << len(self.names)) - 1)

    def __len__(self) -> int:
        return len(self.names)

    def _set(self, nodes: Iterable[str]) -> int:
        bits = 0
        for name in [nodes] if isinstance(nodes, str) else nodes:
            if name not in self._at:
                raise ValueError(f"no node is called {name!r}; names are those of quorum_sets")
            bits |= 1 << self._at[name]
        return bits

    def _named(self, bits: int) -> frozenset[str]:
        return frozenset(self.names[place] for place in places(bits))

    def _sorted(self, sets: Iterable[int]) -> list[frozenset[str]]:
        return [
            self._named(each)
            for each in sorted(sets, key=lambda each: (each.bit_count(), list(places(each))))
        ]

    def is_quorum(self, nodes: Iterable[str]) -> bool:
        """Whether these nodes are not empty and satisfy the set of each of them."""
        return self._bits.is_quorum(self._set(nodes))

    def greatest_quorum(self, nodes: Iterable[str] | None = None) -> frozenset[str]:
        """The union of all quorums within these nodes (by default all nodes); empty if there is none."""
        within = self._bits.everyone if nodes is None else self._set(nodes)
        return self._named(self._bits.greatest(within))

    def is_blocking(self, nodes: Iterable[str]) -> bool:
        """Whether these nodes meet every quorum, so that nobody decides without them."""
        return not self._bits.greatest(self._bits.everyone & ~self._set(nodes))

    def is_splitting(self, nodes: Iterable[str], *, seconds: float | None = None) -> bool:
        """Whether these nodes hold all that two quorums share, neither of which holds the other.

        If they lie, the others of the one quorum and of the other may decide differently.
        """
        held = self._set(nodes)
        return any(each & ~held == 0 for each in search.minimal_splitting(self._bits, Clock(seconds)))

    def splits_by_lying(self, nodes: Iterable[str], *, seconds: float | None = None) -> bool:
        """Whether two quorums of the others share nobody if these nodes agree to anything.

        A malicious node need not keep to the quorum set that it claims, so this may hold where
        :meth:`is_splitting` does not. It asks what is left once they are deleted from everybody's set.
        """
        return search.disjoint_quorums(self._bits.without(self._set(nodes)), Clock(seconds)) is not None

    def intact(self, faulty: Iterable[str], *, seconds: float | None = None) -> frozenset[str]:
        """Nodes that stay safe and live whatever these do: all outside the smallest dispensable set with
        them.

        Empty where two quorums share nobody already: nothing can be promised to anybody then.
        """
        held, clock = self._set(faulty), Clock(seconds)
        if search.disjoint_quorums(self._bits, clock) is not None:
            return frozenset()
        return self._named(self._bits.everyone & ~self._smallest_dispensable(held, clock))

    def _smallest_dispensable(self, held: int, clock: Clock) -> int:
        """The smallest dispensable set with these in it; by intersection there is one within all others.

        Who cannot be satisfied without them is in it. And if the rest then falls into two quorums that share
        nobody, one of the two must be in it as a whole: two ways to go on.
        """
        best: int | None = None
        todo = [held]
        while todo:
            clock.check()
            held = todo.pop()
            held = self._bits.everyone & ~self._bits.greatest(self._bits.everyone & ~held)
            if best is None or held & ~best == 0:
                pair = search.disjoint_quorums(self._bits.without(held), clock)
                if pair is None:
                    best = held
                else:
                    todo += [held | each for each in pair]
        return self._bits.everyone if best is None else best

    def minimal_quorums(self, *, seconds: float | None = None) -> list[frozenset[str]]:
        """Every quorum that has none within it, the smallest first."""
        return self._sorted(search.minimal_quorums(self._bits, Clock(seconds)))

    def minimal_blocking_sets(self, *, seconds: float | None = None) -> list[frozenset[str]]:
        """Every set that meets all quorums and holds no smaller one: if they stop, nobody decides."""
        return self._sorted(search.minimal_blocking(self._bits, Clock(seconds)))

    def smallest_misstating(self, at_most: int, *, seconds: float | None = None) -> list[frozenset[str]]:
        """The smallest sets that split the others by lying (:meth:`splits_by_lying`), if so few can."""
        return self._sorted(search.smallest_misstating(self._bits, at_most, Clock(seconds)))

    def minimal_splitting_sets(self, *, seconds: float | None = None) -> list[frozenset[str]]:
        """Every splitting set that holds no smaller one; an empty one says that they are split already."""
        return self._sorted(search.minimal_splitting(self._bits, Clock(seconds)))

    def disjoint_quorums(
        self, *, seconds: float | None = None
    ) -> tuple[frozenset[str], frozenset[str]] | None:
        """Two quorums that share nobody, or None: then every two quorums intersect."""
        pair = search.disjoint_quorums(self._bits, Clock(seconds))
        return None if pair is None else (self._named(pair[0]), self._named(pair[1]))

    def top_tier(self, *, seconds: float | None = None) -> frozenset[str]:
        """Everybody who is in some minimal quorum: the others follow."""
        return frozenset().union(*self.minimal_quorums(seconds=seconds))

    def cores(self) -> list[frozenset[str]]:
        """The groups that name each other, in a row, and hold a quorum: what has to be searched."""
        return [self._named(core.everyone) for core in search.cores(self._bits)]
