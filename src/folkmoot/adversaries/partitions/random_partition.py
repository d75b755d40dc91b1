"""Random partition: every object in a cluster drawn at random, each liar for itself; the weakest attack."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot.adversaries.partitions.partition_adversary import LiarsView, PartitionAdversary, where_seen
from folkmoot.arrays import Ints


@dataclass(frozen=True)
class RandomPartition(PartitionAdversary):
    """Puts every object into a cluster at random, each liar for itself.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.adversaries import LiarsView, RandomPartition
    >>> own = np.zeros(8, dtype=int)
    >>> RandomPartition().reveal(LiarsView(own, own[None], 3, shared=0, private=1))
    array([1, 1, 2, 2, 0, 0, 2, 2])
    """

    def reveal(self, view: LiarsView) -> Ints:
        """Clusters by its own seed."""
        return where_seen(view, np.random.default_rng(view.private).integers(0, view.clusters, len(view.own)))
