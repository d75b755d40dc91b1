"""Complete linkage a second time: by sets and all pairs, with nothing kept from step to step."""

from __future__ import annotations

from collections.abc import Sequence


def joined(partitions: Sequence[Sequence[int]], many: int, needed: int) -> set[frozenset[int]]:
    """The classes of so many candidates; a partition names the group of each candidate."""
    groups = [frozenset({i}) for i in range(many)]
    while True:
        best: tuple[int, frozenset[int], frozenset[int]] | None = None
        for one in sorted(groups, key=min):
            for other in sorted(groups, key=min):
                if min(one) >= min(other):
                    continue
                support = min(
                    len([said for said in partitions if said[a] == said[b]]) for a in one for b in other
                )
                if support >= needed and (best is None or support > best[0]):
                    best = support, one, other
        if best is None:
            return set(groups)
        groups = [each for each in groups if each not in best[1:]] + [best[1] | best[2]]
