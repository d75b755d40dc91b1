"""Adversaries where clusters are agreed on (``folkmoot.cluster``): what they know, and one short class each.

Partitions are committed to before any is revealed, so a malicious one knows its own and those of its
accomplices, and no honest one. In rounds it may announce another partition than it revealed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Ints
from folkmoot.clustering.partitions import UNSEEN, medoid
from folkmoot.votes import numbered


@dataclass(frozen=True, eq=False)
class MaliciousView:
    """The knowledge of a malicious participant when it chooses its partition."""

    own: Ints  # (object,): its own partition; -1 for objects that it has not seen
    together: Ints  # (malicious, object): those of all malicious participants, its own among them
    clusters: int  # the number of clusters asked for, or the usual one among the malicious
    shared: int  # a seed that all malicious participants share: with it they draw the same
    private: int  # a seed that no other has


class PartitionAdversary(ABC):
    """A malicious behaviour among clusterings. ``PARTITION_ATTACKS`` has them by name."""

    @abstractmethod
    def reveal(self, view: MaliciousView) -> Ints:
        """The partition that it commits to and reveals, shape (object,)."""

    def announce(self, view: MaliciousView) -> Ints:
        """The partition that it announces in rounds; by default the revealed one."""
        return self.reveal(view)


def views(
    partitions: Ints, adversaries: Mapping[int, PartitionAdversary], clusters: int | None, seed: int
) -> dict[int, MaliciousView]:
    """The knowledge of each malicious participant, by its number."""
    if not adversaries:
        return {}
    malicious = sorted(adversaries)
    together = partitions[malicious]
    usual = int(np.median(together.max(axis=1) + 1)) if clusters is None else clusters
    shared, *private = np.random.default_rng([seed, 0x11A5]).integers(0, 2**62, len(malicious) + 1).tolist()
    return {
        who: MaliciousView(partitions[who], together, max(2, usual), shared, own)
        for who, own in zip(malicious, private, strict=True)
    }


def partitions_handed_in(
    partitions: npt.ArrayLike,
    adversaries: Mapping[int, PartitionAdversary],
    *,
    clusters: int | None = None,
    seed: int = 0,
) -> Ints:
    """Replace the partitions of malicious participants by those that they reveal.

    ``partitions`` (participant, object): Everybody's own partitions.
    """
    given = np.asarray(partitions, dtype=np.int64)
    result = numbered(given)
    for who, view in views(result, adversaries, clusters, seed).items():
        result[who] = numbered(np.asarray(adversaries[who].reveal(view), dtype=np.int64)[None])[0]
    return result


def where_seen(view: MaliciousView, labels: Ints) -> Ints:
    """The labels on the objects that it has seen, so that its gaps do not give it away."""
    return np.where(view.own >= 0, labels, UNSEEN)


@dataclass(frozen=True)
class RandomPartition(PartitionAdversary):
    """Puts every object into a cluster at random, each malicious participant independently."""

    def reveal(self, view: MaliciousView) -> Ints:
        """Clusters by its own seed."""
        return where_seen(view, np.random.default_rng(view.private).integers(0, view.clusters, len(view.own)))


@dataclass(frozen=True)
class ColludingPartition(PartitionAdversary):
    """Reveals a partition drawn at random, the same for all malicious participants, but for some noise."""

    noise: float = 0.0  # the share of objects that each one draws anew

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", checks.probability("noise", self.noise))

    def reveal(self, view: MaliciousView) -> Ints:
        """The common clusters, with its own noise."""
        objects = len(view.own)
        lie = np.random.default_rng(view.shared).integers(0, view.clusters, objects)
        if self.noise:
            draw = np.random.default_rng(view.private)
            lie = np.where(draw.random(objects) < self.noise, draw.integers(0, view.clusters, objects), lie)
        return where_seen(view, lie)


@dataclass(frozen=True)
class MergedPartition(PartitionAdversary):
    """Reveals the most typical malicious partition with clusters joined two by two, the same for all.

    With n clusters, cluster c is joined with cluster c + n/2. Two clusters are left as they are: a partition
    of one cluster would say nothing.
    """

    def reveal(self, view: MaliciousView) -> Ints:
        """The coarser partition."""
        together = numbered(view.together)
        base: Ints = together[medoid(together)]
        half = max(2, (int(base.max()) + 2) // 2)
        result = base % half
        result[base < 0] = UNSEEN
        return result


@dataclass(frozen=True)
class ShiftedPartition(PartitionAdversary):
    """Reveals the most typical malicious partition with some objects moved to the next cluster, as all do."""

    share: float = 0.3  # the share of objects that are moved

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", checks.probability("share", self.share))

    def reveal(self, view: MaliciousView) -> Ints:
        """The partition with its boundaries moved."""
        together = numbered(view.together)
        base: Ints = together[medoid(together)]
        moved = np.random.default_rng(view.shared).random(len(base)) < self.share
        result = np.where(moved, (base + 1) % (int(base.max()) + 1), base)
        result[base < 0] = UNSEEN
        return result


@dataclass(frozen=True)
class TurncoatPartition(PartitionAdversary):
    """Reveals its own partition, and announces a lie in rounds."""

    lie: PartitionAdversary = field(default_factory=ColludingPartition)  # the partition that it announces

    def reveal(self, view: MaliciousView) -> Ints:
        """Its own partition, as an honest participant would."""
        return view.own

    def announce(self, view: MaliciousView) -> Ints:
        """The lie."""
        return self.lie.reveal(view)


# The names used at the prompt (--attack).
PARTITION_ATTACKS: Final[dict[str, PartitionAdversary]] = {
    "random": RandomPartition(),
    "clique": ColludingPartition(),
    "noisy-clique": ColludingPartition(noise=0.2),
    "merged": MergedPartition(),
    "shifted": ShiftedPartition(),
    "adaptive": TurncoatPartition(),
}
