"""Quorums by their definitions, over all subsets: slow and obvious, not made after the searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from folkmoot.outlook import QuorumSet

Nodes = frozenset[str]


def subsets(names: Iterable[str]) -> list[Nodes]:
    listed = sorted(names)
    return [frozenset(each) for size in range(len(listed) + 1) for each in combinations(listed, size)]


def enough(quorum_set: QuorumSet | None, nodes: Nodes) -> bool:
    if quorum_set is None:
        return False
    votes = [name in nodes for name in quorum_set.members] + [
        enough(part, nodes) for part in quorum_set.inner
    ]
    return votes.count(True) >= quorum_set.threshold


def quorums(sets: Mapping[str, QuorumSet | None], helped_by: Nodes = frozenset()) -> list[Nodes]:
    """Of the others, if those who help agree to anything."""
    rest = [name for name in sets if name not in helped_by]
    return [
        each for each in subsets(rest) if each and all(enough(sets[name], each | helped_by) for name in each)
    ]


def least(sets: Iterable[Nodes]) -> set[Nodes]:
    every = set(sets)
    return {each for each in every if not any(other < each for other in every)}


def blocking(sets: Mapping[str, QuorumSet | None]) -> list[Nodes]:
    found = quorums(sets)
    return [each for each in subsets(sets) if all(each & quorum for quorum in found)]


def shared_by_two(sets: Mapping[str, QuorumSet | None]) -> list[Nodes]:
    found = quorums(sets)
    return [one & two for one in found for two in found if not one <= two and not two <= one]


def disjoint(sets: Mapping[str, QuorumSet | None], helped_by: Nodes = frozenset()) -> bool:
    found = quorums(sets, helped_by)
    return any(not one & two for one in found for two in found)


def dispensable(sets: Mapping[str, QuorumSet | None], nodes: Nodes) -> bool:
    others = frozenset(sets) - nodes
    available = not others or others in quorums(sets)
    return available and not disjoint(sets, nodes)


def intact(sets: Mapping[str, QuorumSet | None], faulty: Nodes) -> Nodes:
    if disjoint(sets):
        return frozenset()
    holding = [each for each in subsets(sets) if faulty <= each and dispensable(sets, each)]
    return frozenset(sets) - min(holding, key=len)
