"""Every system of three or four nodes with threshold sets, up to renaming, and the few that stand for all.

A node's set is "any t of M": only that matters, over sets of nodes as bits. With a liar only what it leaves
of a set matters to the others: the members without the liar, how many of them are still needed, and whether
it is named.

**Why so few have to be explored.** Let I be the intact nodes, D all others, and take whatever those of D
say as said. If a node of I is in a quorum of those who say something, then what that quorum has in I is a
quorum of the system with D deleted, and any two of these share somebody. If those who say something block a
node of I, then one of them is in I, as I satisfies its own sets without D. So a system reaches no state on
I that is not reached by one that is more permissive: nodes X of I are moved if X holds one of a family of
sets of which every two share somebody, and all are blocked as soon as anybody in I has accepted. Every such
family lies in a greatest one, which has of each set and the rest exactly one; on two to four nodes these
are, up to renaming, those with the weights of ``GREATEST``. Where these never disagree, no system does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any, Final, NamedTuple

import numpy as np

from folkmoot.outlook import QuorumSet
from folkmoot.outlook.system import QuorumSystem
from outlook.exploring import Rules

Set = tuple[int, int]  # any so many of these bits
Array = np.ndarray[Any, Any]
LIAR: Final = "liar"

GREATEST: Final[tuple[tuple[int, ...], ...]] = (
    (1, 0), (1, 0, 0), (1, 1, 1), (1, 0, 0, 0), (1, 1, 1, 0), (2, 1, 1, 1),
)  # fmt: skip


def greatest(weights: Sequence[int]) -> Rules:
    """The most permissive rules: more than half of the weight is a quorum, and anybody blocks all."""
    nodes = len(weights)
    heavy = [
        2 * sum(w for i, w in enumerate(weights) if x >> i & 1) > sum(weights) for x in range(1 << nodes)
    ]
    return Rules(
        nodes,
        np.array([x if heavy[x] else 0 for x in range(1 << nodes)]),
        np.array([(1 << nodes) - 1 if x else 0 for x in range(1 << nodes)]),
        tuple(np.unique(weights, return_inverse=True)[1].tolist()),
    )


class System(NamedTuple):
    """Sets of the honest nodes 0, 1, ...; if there is a liar it is the bit after them."""

    sets: tuple[Set, ...]
    liar: bool

    @property
    def honest(self) -> int:
        return len(self.sets)

    def named(self) -> QuorumSystem:
        """The same with names; the liar shows no set, with which fewest are split."""
        names = [*map(str, range(self.honest)), *([LIAR] if self.liar else [])]
        made: dict[str, QuorumSet | None] = {
            str(i): QuorumSet(t, [names[j] for j in range(len(names)) if m >> j & 1])
            for i, (t, m) in enumerate(self.sets)
        }
        return QuorumSystem(made | ({LIAR: None} if self.liar else {}))

    def intact(self) -> int:
        """The honest nodes that are safe, as bits."""
        found = self.named().intact([LIAR] if self.liar else [])
        return sum(1 << int(name) for name in found)

    def rules(self, *, lying: bool = True) -> Rules:
        """Who is moved by whom, if the liar agrees to everything, or if it is silent."""
        helps = 1 << self.honest if self.liar and lying else 0
        quorum, blocked = [], []
        for x in range(1 << self.honest):
            left = x
            for _ in range(self.honest):
                left &= sum(
                    1 << i for i, (t, m) in enumerate(self.sets) if (m & (left | helps)).bit_count() >= t
                )
            quorum.append(left)
            blocked.append(
                sum(1 << i for i, (t, m) in enumerate(self.sets) if (m & ~(x | helps)).bit_count() < t)
            )
        return Rules(self.honest, np.array(quorum), np.array(blocked))


def systems(honest: int, *, liar: bool) -> Iterator[System]:
    """Every system, one of each that are the same but for names."""
    nodes = honest + liar
    choices = [(t, m) for m in range(1, 1 << nodes) for t in range(1, m.bit_count() + 1)]
    ways = list(permutations(range(honest)))
    moved = [
        {
            m: sum(1 << (way[j] if j < honest else j) for j in range(nodes) if m >> j & 1)
            for m in range(1 << nodes)
        }
        for way in ways
    ]
    for sets in product(choices, repeat=honest):
        others = (
            tuple((sets[i][0], map_of[sets[i][1]]) for i in sorted(range(honest), key=way.__getitem__))
            for way, map_of in zip(ways, moved, strict=True)
        )
        if all(sets <= each for each in others):
            yield System(sets, liar)


def among(rules: Rules, kept: int, *, silent: bool = False) -> Rules:
    """The rules for some of the nodes, if the others agree to everything, or are silent."""
    places = [i for i in range(rules.nodes) if kept >> i & 1]
    gone = 0 if silent else (1 << rules.nodes) - 1 & ~kept

    def narrow(x: int) -> int:
        return sum(1 << i for i, place in enumerate(places) if x >> place & 1)

    wide = [sum(1 << place for i, place in enumerate(places) if x >> i & 1) for x in range(1 << len(places))]
    return Rules(
        len(places),
        np.array([narrow(int(rules.quorum[x | gone])) for x in wide]),
        np.array([narrow(int(rules.blocked[x | gone])) for x in wide]),
    )


def stands_for(weights: Sequence[int], rules: Rules) -> bool:
    """Whether the most permissive rules of these weights, under some names, move whoever these rules move."""
    for way in set(permutations(weights)):
        most = greatest(way)
        more_moved = bool((rules.quorum & ~most.quorum == 0).all())
        if more_moved and bool((rules.blocked & ~most.blocked == 0).all()):
            return True
    return False
