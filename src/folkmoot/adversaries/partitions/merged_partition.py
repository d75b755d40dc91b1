"""Merged: the liars' most typical partition with its clusters joined two by two: true, but half as fine."""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.partitions.partition_adversary import LiarsView, PartitionAdversary
from folkmoot.arrays import Ints
from folkmoot.partitions import UNSEEN, medoid, numbered


@dataclass(frozen=True)
class MergedPartition(PartitionAdversary):
    """Reveals the liars' most typical partition with clusters joined two by two, the same as every liar.

    With n clusters, cluster c is joined with cluster c + n/2. Two clusters are left as they are: a partition
    of one cluster would say nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.adversaries import LiarsView, MergedPartition
    >>> own = np.array([0, 1, 2, 3, 3])
    >>> MergedPartition().reveal(LiarsView(own, own[None], 4, shared=0, private=1))
    array([0, 1, 0, 1, 1])
    """

    def reveal(self, view: LiarsView) -> Ints:
        """The coarser partition."""
        together = numbered(view.together)
        base: Ints = together[medoid(together)]
        half = max(2, (int(base.max()) + 2) // 2)
        result = base % half
        result[base < 0] = UNSEEN
        return result
