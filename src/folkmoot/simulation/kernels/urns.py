"""Whom each honest node may ask and how it counts what it hears, laid out flat for the kernels.

Nodes are named by position: the honest ones first. The draws themselves are in ``asking.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from folkmoot.arrays import Array, Ints
from folkmoot.protocols import SnowProtocol
from folkmoot.protocols.sampling import Everyone, Neighbours, Sampling

_NO_INDEX = np.empty(0, dtype=np.int64)


class Urns(NamedTuple):
    """The peers of node i are ``peers[starts[i]:starts[i + 1]]``; without ``starts`` they are all nodes."""

    size: Array  # (honest,) int64: how many it asks
    alpha: Array  # (honest,) int64: how many of these must agree
    starts: Array  # (honest + 1,) int64, or empty
    peers: Array  # (entry,) int64
    weights: Array  # (node,) float64: what an answer weighs; empty if all weigh the same
    asks_itself: bool
    nodes: int


def lay_out(
    sampling: Sampling,
    protocol: SnowProtocol[Any],
    order: Ints,  # participants by position
    honest: int,
) -> Urns:
    """The urns of the honest participants under a sampling law."""
    n = len(order)
    askers, place = order[:honest], np.argsort(order)
    starts = peers = _NO_INDEX
    if isinstance(sampling, Neighbours):
        lists = [sampling.peers[sampling.starts[i] : sampling.starts[i + 1]] for i in askers]
        starts, peers = _flat([place[each] for each in lists])
    size, alpha = protocol.reaching(np.full(n, protocol.k))
    return Urns(
        size=size[askers],
        alpha=alpha[askers],
        starts=starts,
        peers=peers,
        weights=np.empty(0) if protocol.weights is None else np.array(protocol.weights)[order],
        asks_itself=isinstance(sampling, Everyone),
        nodes=n,
    )


def _flat(lists: list[Array]) -> tuple[Array, Array]:
    return np.cumsum([0, *map(len, lists)]).astype(np.int64), np.concatenate(lists).astype(np.int64)
