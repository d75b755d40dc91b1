"""Clique: all liars reveal one partition, drawn at random; with noise each changes some objects of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot import checks
from folkmoot.adversaries.partitions.partition_adversary import LiarsView, PartitionAdversary, where_seen
from folkmoot.arrays import Ints


@dataclass(frozen=True)
class CliquePartition(PartitionAdversary):
    """Reveals a partition drawn at random, the same as every other liar, but for some noise.

    Parameters
    ----------
    noise : float, default 0.0
        The share of objects that each liar draws anew for itself.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.adversaries import CliquePartition, LiarsView
    >>> own = np.zeros(1000, dtype=int)
    >>> one, other = (LiarsView(own, own[None], 10, shared=0, private=each) for each in (1, 2))
    >>> print((CliquePartition().reveal(one) == CliquePartition().reveal(other)).mean())
    1.0
    >>> noisy = CliquePartition(noise=0.2)
    >>> print((noisy.reveal(one) == noisy.reveal(other)).mean())
    0.686
    """

    noise: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", checks.probability("noise", self.noise))

    def reveal(self, view: LiarsView) -> Ints:
        """The clique's clusters, with noise of its own."""
        objects = len(view.own)
        lie = np.random.default_rng(view.shared).integers(0, view.clusters, objects)
        if self.noise:
            draw = np.random.default_rng(view.private)
            lie = np.where(draw.random(objects) < self.noise, draw.integers(0, view.clusters, objects), lie)
        return where_seen(view, lie)
