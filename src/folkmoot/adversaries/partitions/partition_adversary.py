"""What a Byzantine participant is where clusters are agreed on: a partition to reveal, and one to talk with.

The counterpart of ``Adversary`` for ``folkmoot.cluster``. Partitions are committed to before any is revealed,
so a liar knows its own and those of the other liars, and no honest one. In the talk it may say something else
than it revealed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Ints
from folkmoot.partitions import UNSEEN, numbered


@dataclass(frozen=True, eq=False)
class LiarsView:
    """What a liar knows when it makes up its partition.

    Parameters
    ----------
    own : ndarray of int, shape (object,)
        Its own partition; -1 for objects that it has not seen.
    together : ndarray of int, shape (liar, object)
        Those of all liars, its own among them.
    clusters : int
        The number of clusters that is asked for, or the usual one among the liars.
    shared : int
        A seed that all liars have in common: those who draw from it draw the same.
    private : int
        A seed of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.adversaries import CliquePartition, LiarsView
    >>> own = np.array([0, 0, 1, 1, 2, 2])
    >>> first, second = (LiarsView(own, own[None], 3, shared=7, private=each) for each in (1, 2))
    >>> bool((CliquePartition().reveal(first) == CliquePartition().reveal(second)).all())
    True
    """

    own: Ints
    together: Ints
    clusters: int
    shared: int
    private: int


class PartitionAdversary(ABC):
    """A Byzantine behaviour among clusterings. ``PARTITION_ATTACKS`` has them by name.

    Examples
    --------
    A behaviour of your own: the first half of the objects against the second.

    >>> import numpy as np
    >>> from folkmoot.adversaries import PartitionAdversary, partitions_handed_in
    >>> class Halves(PartitionAdversary):
    ...     def reveal(self, view):
    ...         return np.arange(len(view.own)) * 2 // len(view.own)
    >>> partitions_handed_in([[0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]], {2: Halves()})
    array([[0, 1, 0, 1],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """

    @abstractmethod
    def reveal(self, view: LiarsView) -> Ints:
        """The partition that it commits to and reveals, shape (object,)."""

    def announce(self, view: LiarsView) -> Ints:
        """What it says in the talk: what it revealed, unless it says otherwise."""
        return self.reveal(view)


def views(
    partitions: Ints, adversaries: Mapping[int, PartitionAdversary], clusters: int | None, seed: int
) -> dict[int, LiarsView]:
    """What each liar knows, by its number."""
    if not adversaries:
        return {}
    liars = sorted(adversaries)
    together = partitions[liars]
    usual = int(np.median(together.max(axis=1) + 1)) if clusters is None else clusters
    shared, *private = np.random.default_rng([seed, 0x11A5]).integers(0, 2**62, len(liars) + 1).tolist()
    return {
        liar: LiarsView(partitions[liar], together, max(2, usual), shared, own)
        for liar, own in zip(liars, private, strict=True)
    }


def partitions_handed_in(
    partitions: npt.ArrayLike,
    adversaries: Mapping[int, PartitionAdversary],
    *,
    clusters: int | None = None,
    seed: int = 0,
) -> Ints:
    """Replace the partitions of liars by those that they reveal.

    Parameters
    ----------
    partitions : array-like of int, shape (participant, object)
        Everybody's own partitions.
    adversaries : mapping of int to PartitionAdversary
        The Byzantine participants by number.
    clusters : int, optional
        The number of clusters that is asked for.
    seed : int, default 0
        Seeds what liars draw.

    Returns
    -------
    ndarray of int, shape (participant, object)
        What a centre, or everybody else, is shown; clusters are numbered in the order in which they appear.

    Examples
    --------
    >>> from folkmoot.adversaries import MergedPartition, partitions_handed_in
    >>> partitions_handed_in([[0, 1, 2, 3], [0, 1, 2, 3]], {1: MergedPartition()})
    array([[0, 1, 2, 3],
           [0, 1, 0, 1]])
    """
    given = np.asarray(partitions, dtype=np.int64)
    result = numbered(given)
    for liar, view in views(result, adversaries, clusters, seed).items():
        result[liar] = numbered(np.asarray(adversaries[liar].reveal(view), dtype=np.int64)[None])[0]
    return result


def where_seen(view: LiarsView, labels: Ints) -> Ints:
    """The labels on the objects that the liar has seen, so that its gaps do not give it away."""
    return np.where(view.own >= 0, labels, UNSEEN)
