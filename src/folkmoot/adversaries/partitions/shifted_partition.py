"""Shifted boundaries: the liars' most typical partition with a share of objects in the next cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot import checks
from folkmoot.adversaries.partitions.partition_adversary import LiarsView, PartitionAdversary
from folkmoot.arrays import Ints
from folkmoot.partitions import UNSEEN, medoid, numbered


@dataclass(frozen=True)
class ShiftedPartition(PartitionAdversary):
    """Reveals the liars' most typical partition with some objects moved to the next cluster, as all liars do.

    Parameters
    ----------
    share : float, default 0.3
        The share of objects that are moved.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.adversaries import LiarsView, ShiftedPartition
    >>> own = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    >>> ShiftedPartition().reveal(LiarsView(own, own[None], 3, shared=1, private=1))
    array([0, 0, 1, 1, 1, 1, 2, 2, 2])
    """

    share: float = 0.3

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", checks.probability("share", self.share))

    def reveal(self, view: LiarsView) -> Ints:
        """The partition with its boundaries moved."""
        together = numbered(view.together)
        base: Ints = together[medoid(together)]
        moved = np.random.default_rng(view.shared).random(len(base)) < self.share
        result = np.where(moved, (base + 1) % (int(base.max()) + 1), base)
        result[base < 0] = UNSEEN
        return result
