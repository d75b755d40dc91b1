"""Whom each honest node may ask and how it counts what it hears, laid out flat for the kernels.

Nodes are named by position: the honest ones first. The draws themselves are in ``asking.py``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from folkmoot.arrays import Array, Ints
from folkmoot.protocols import SnowProtocol
from folkmoot.sampling import Everyone, Neighbours, Sampling, Trusting

_NO_INDEX = np.empty(0, dtype=np.int64)


class Urns(NamedTuple):
    """The peers of node i are ``peers[starts[i]:starts[i + 1]]``; without ``starts`` they are all nodes.

    ``keep`` and ``pair`` are alias tables (``asking.alias_tables``) of draws in proportion to ``trust``, and
    empty where peers are drawn uniformly.
    """

    size: Array  # (honest,) int64: how many it asks
    alpha: Array  # (honest,) int64: how many of these must agree
    starts: Array  # (honest + 1,) int64, or empty
    peers: Array  # (entry,) int64
    trust: Array  # (entry,) float64, or empty
    keep: Array  # (entry,) uint64, or empty
    pair: Array  # (2 * entry,) uint64, or empty
    weights: Array  # (rows, node) float64: what an answer weighs, to all askers (a row), to each, or 1 (none)
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
    trust, keep, pair = np.empty(0), np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.uint64)
    if isinstance(sampling, Neighbours):
        lists = [sampling.peers[sampling.starts[i] : sampling.starts[i + 1]] for i in askers]
        starts, peers = _flat([place[each] for each in lists])
    elif isinstance(sampling, Trusting):
        from folkmoot.simulation.kernels.asking import alias_tables

        rows = [sampling.weights[i][order] for i in askers]
        lists = [np.flatnonzero(row) for row in rows]
        starts, peers = _flat(lists)
        trust = np.concatenate([row[each] for row, each in zip(rows, lists, strict=True)])
        keep, pair = alias_tables(starts, peers, trust)
    size, alpha = sizes(sampling, protocol, n)
    return Urns(
        size=size[askers],
        alpha=alpha[askers],
        starts=starts,
        peers=peers,
        trust=trust,
        keep=keep,
        pair=pair,
        weights=_weights(sampling, protocol, order, honest),
        asks_itself=isinstance(sampling, Everyone),
        nodes=n,
    )


def sizes(sampling: Sampling, protocol: SnowProtocol[Any], n: int) -> tuple[Array, Array]:
    """How many each participant asks, and its threshold: k and alpha, unless it trusts fewer than k."""
    reach = sampling.trusted if isinstance(sampling, Trusting) else np.full(n, protocol.k)
    return protocol.reaching(reach)


def _weights(sampling: Sampling, protocol: SnowProtocol[Any], order: Ints, honest: int) -> Array:
    if isinstance(sampling, Trusting) and sampling.weighted:
        return np.ascontiguousarray(sampling.weights[np.ix_(order[:honest], order)])
    if protocol.weights is None:
        return np.empty((0, len(order)))
    return np.array(protocol.weights)[None, order]


def _flat(lists: list[Array]) -> tuple[Array, Array]:
    return np.cumsum([0, *map(len, lists)]).astype(np.int64), np.concatenate(lists).astype(np.int64)
