"""Draws of the peers of a query, for every sampling law, from one stream of words.

They are the first steps of a shuffle: 38 ns per query at n = 101, k = 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot.arrays import Array
from folkmoot.machine import compiled
from folkmoot.simulation.kernels.streams import below, mix

# The kernels unpack ``PeerLists`` once, choose the law and hand on what it needs (``arguments.py`` says why).


@compiled(nogil=True, inline="always")
def ask_uniformly(
    i: Any,
    word: np.uint64,
    step: np.uint64,
    size: int,
    starts: Array,
    asks_itself: bool,
    nodes: int,
    shuffled: Array,  # (node or entry,) int64: from ``ordered`` or as the last query left it
    place: Array,  # (node,) int64: the same
    who: Array,  # out (k,) int64
) -> np.uint64:
    """Draw ``size`` peers of node i into ``who``; returns the stream's state after it."""
    graph = starts.size > 0
    if graph:
        low, high = starts[i], starts[i + 1]
    else:
        low, high = 0, nodes
        if not asks_itself:  # move the asker out of reach
            high = nodes - 1
            other = shuffled[high]
            shuffled[place[i]], place[other] = other, place[i]
            shuffled[high], place[i] = i, high
    for j in range(size):
        word += step
        pick = low + j + np.int64(below(mix(word), np.uint64(high - low - j))[0])
        peer = shuffled[pick]
        shuffled[pick] = shuffled[low + j]
        shuffled[low + j] = peer
        if not graph:
            place[shuffled[pick]], place[peer] = pick, low + j
        who[j] = peer
    return word


@compiled(nogil=True)
def ordered(starts: Array, peers: Array, shuffled: Array, place: Array) -> None:
    """Put the peers in order, so that later draws depend on their stream alone."""
    if starts.size > 0:
        shuffled[:] = peers
    else:
        for node in range(place.size):
            shuffled[node] = node
            place[node] = node
