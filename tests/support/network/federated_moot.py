"""A moot whose members decide by quorum sets, on the memory transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from folkmoot.arrays import Array
from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.network.wire.motion import Motion
from support.network.moot_in_memory import InMemory, Moot


def name_of(place: int) -> str:
    """As the rosters of tests have it."""
    return f"p{place:03d}"


def any_of(threshold: int, *places: int) -> QuorumSet:
    """Any so many of these places."""
    return QuorumSet(threshold, [name_of(place) for place in places])


class FederatedMoot(Moot):
    """Nodes with known votes (participant, input), each with a quorum set of its own; None has none."""

    def __init__(
        self, votes: Array, seed: int, sets: Mapping[int, QuorumSet | None] | None = None, **options: Any
    ) -> None:
        n = len(votes)
        usual = any_of((2 * n) // 3 + 1, *range(n))
        chosen = dict.fromkeys(range(n), usual) if sets is None else dict(sets)
        super().__init__(votes, seed, quorum_sets=chosen, **options)

    def motion(self, asker: int = 0, batch: Any = None, **changes: Any) -> tuple[Motion, InMemory]:
        """A federated motion."""
        labels = tuple("abcdefgh"[: max(2, int(self.votes.max()) + 1)])
        settings = {"protocol": "federated", "k": 1, "alpha": 0, "beta": 1, "rounds": 16, "labels": labels}
        return super().motion(asker, batch, **settings | changes)
