"""Turncoat: reveals its own partition honestly, earns trust by it, and lies in the talk alone."""

from __future__ import annotations

from dataclasses import dataclass, field

from folkmoot.adversaries.partitions.clique_partition import CliquePartition
from folkmoot.adversaries.partitions.partition_adversary import LiarsView, PartitionAdversary
from folkmoot.arrays import Ints


@dataclass(frozen=True)
class TurncoatPartition(PartitionAdversary):
    """Reveals its own partition, and says a lie in the talk.

    Parameters
    ----------
    lie : PartitionAdversary, default CliquePartition()
        What it says in the talk.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.adversaries import LiarsView, TurncoatPartition
    >>> own = np.array([0, 0, 1, 1, 2, 2])
    >>> view = LiarsView(own, own[None], 3, shared=0, private=1)
    >>> TurncoatPartition().reveal(view), TurncoatPartition().announce(view)
    (array([0, 0, 1, 1, 2, 2]), array([2, 1, 1, 0, 0, 0]))
    """

    lie: PartitionAdversary = field(default_factory=CliquePartition)

    def reveal(self, view: LiarsView) -> Ints:
        """Its own partition, as an honest participant would."""
        return view.own

    def announce(self, view: LiarsView) -> Ints:
        """The lie."""
        return self.lie.reveal(view)
