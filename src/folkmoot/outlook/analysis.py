"""analyse(): what a system of quorum sets tolerates, and what to change if it is too little."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from folkmoot.outlook.quorum_set import QuorumSet
from folkmoot.outlook.search import NotFinishedError
from folkmoot.outlook.system import QuorumSystem

Nodes = frozenset[str]
Result = TypeVar("Result")

FEW: Final = 2  # that must lie or be absent, at least
ENOUGH: Final = 4  # of whom any three decide: one may lie, or be away


@dataclass(frozen=True)
class Analysis:
    """The analysis of a system of quorum sets.

    Lists are None where the search was not finished in time.
    """

    nodes: int  # the number of nodes
    in_quorums: int  # how many of them are in some quorum; the others can never decide
    searched: int  # how many had to be searched: those who name each other in a row and hold a quorum
    quorum_intersection: bool | None  # whether every two quorums share somebody
    disjoint: tuple[Nodes, Nodes] | None  # two quorums that share nobody, if there are such
    minimal_quorums: list[Nodes] | None
    blocking_sets: list[Nodes] | None
    splitting_sets: list[Nodes] | None
    # Sets no larger than the smallest splitting set that hold none. They split the others all the same if
    # they lie about their own quorum sets as well.
    misstating_sets: list[Nodes] | None
    top_tier: Nodes | None  # nodes in some minimal quorum
    # Advice, in words; each change was tried out on the system.
    advice: list[str] = field(default_factory=list)
    seconds: float = 0.0  # the time it took, in seconds

    @property
    def finished(self) -> bool:
        """Whether nothing was left open."""
        lists = (self.minimal_quorums, self.blocking_sets, self.splitting_sets, self.misstating_sets)
        return self.quorum_intersection is not None and all(each is not None for each in lists)

    def to_dict(self) -> dict[str, Any]:
        """As plain lists and numbers, for JSON."""

        def listed(sets: Iterable[Nodes] | None) -> list[list[str]] | None:
            return None if sets is None else [sorted(each) for each in sets]

        return {
            "nodes": self.nodes,
            "in_quorums": self.in_quorums,
            "searched": self.searched,
            "quorum_intersection": self.quorum_intersection,
            "disjoint_quorums": listed(self.disjoint),
            "minimal_quorums": listed(self.minimal_quorums),
            "blocking_sets": listed(self.blocking_sets),
            "splitting_sets": listed(self.splitting_sets),
            "liars": listed(self.misstating_sets),
            "top_tier": None if self.top_tier is None else sorted(self.top_tier),
            "finished": self.finished,
            "advice": self.advice,
            "seconds": self.seconds,
        }


def analyse(
    system: QuorumSystem, *, seconds: float | None = 60.0, title: Callable[[str], str] = str
) -> Analysis:
    """Find out whether all quorums intersect, whose absence stops them and whose lies split them."""
    began = time.monotonic()
    alive = system.greatest_quorum()
    if not alive:
        raise ValueError(
            "there is no quorum at all: no group of nodes satisfies the quorum sets of all its members; "
            "nodes need sets whose members have sets of their own"
        )

    def attempt(search: Callable[..., Result]) -> tuple[Result | None, bool]:
        left = None if seconds is None else seconds - (time.monotonic() - began)
        try:
            return search(seconds=left), True
        except NotFinishedError:
            return None, False

    disjoint, known = attempt(system.disjoint_quorums)
    blocking, _ = attempt(system.minimal_blocking_sets)
    splitting, _ = attempt(system.minimal_splitting_sets)
    quorums, _ = attempt(system.minimal_quorums)
    misstating = None
    if splitting is not None:
        most = len(splitting[0]) if splitting else FEW
        misstating, _ = attempt(lambda seconds: system.smallest_misstating(most, seconds=seconds))
        if misstating is not None:
            misstating = [each for each in misstating if not any(known <= each for known in splitting)]
    found = Analysis(
        nodes=len(system),
        in_quorums=len(alive),
        searched=sum(len(core) for core in system.cores()),
        quorum_intersection=(disjoint is None) if known else None,
        disjoint=disjoint,
        minimal_quorums=quorums,
        blocking_sets=blocking,
        splitting_sets=splitting,
        misstating_sets=misstating,
        top_tier=None if quorums is None else frozenset().union(*quorums),
    )
    advice = _advice(system, found, attempt, title)
    return replace(found, advice=advice, seconds=time.monotonic() - began)


def _advice(
    system: QuorumSystem, found: Analysis, attempt: Callable[..., Any], title: Callable[[str], str]
) -> list[str]:
    """Changes that were tried on the system and help."""
    lines = []
    if found.disjoint is not None:
        one, two = (", ".join(sorted(title(name) for name in each)) for each in found.disjoint)
        lines.append(
            f"nobody in the quorum ({one}) waits for anybody in ({two}): "
            "raise thresholds in one of them, or name members of the other"
        )
    weakest = min(
        (len(each) for each in [*(found.splitting_sets or []), *(found.misstating_sets or [])]), default=None
    )
    if weakest is None or weakest >= FEW or not found.top_tier or len(found.top_tier) < FEW:
        return lines
    tier = sorted(found.top_tier)
    many = len(tier)
    for threshold in range(-(-2 * many // 3), many):
        common = QuorumSet(threshold, tier)
        changed = QuorumSystem({**system.quorum_sets, **dict.fromkeys(tier, common)})
        pair, known = attempt(changed.disjoint_quorums)
        if known and pair is None and 2 * threshold - many > weakest:
            return [
                *lines,
                f"if the {many} nodes of the top tier each took any {threshold} of the {many}, all quorums "
                f"would intersect; {2 * threshold - many} of them would have to lie to split them "
                f"(now {weakest}), and {many - threshold + 1} to be away to stop them",
            ]
    if many < ENOUGH:
        lines.append(
            f"{many} nodes decide, too few to bear a malicious node and an absent one: "
            f"take in {ENOUGH - many} more, and let each of the {ENOUGH} take any {ENOUGH - 1} of them"
        )
    return lines
