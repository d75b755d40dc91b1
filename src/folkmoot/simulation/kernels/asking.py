"""Whom a query asks: the draws of every sampling law, from one stream of words.

Uniform draws are the first steps of a shuffle. Draws in proportion to trust are successive sampling, the law
of ``folkmoot.sampling.draw``: draw with replacement from an alias table (Walker, 1977; Vose, 1991) and
pass over who has been drawn already. What is kept is then in proportion to trust among the rest, exactly.
Measured at n = 101, k = 10: 53 ns a query, where a search in cumulated trust takes 340, a scan of it 800,
keys of Efraimidis and Spirakis 1,600, and a uniform query 38.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot.arrays import Array
from folkmoot.compiling import compiled
from folkmoot.simulation.kernels.streams import below, mix

# Repeats in a row after which the rest of a query is drawn by scans: one peer may have nearly all trust.
_REPEATS = 16
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_TO_53_BITS = np.uint64(11)


# The kernels unpack ``Urns`` once, choose the law and hand on what it needs (``arguments.py`` says why).


@compiled(nogil=True, inline="always")
def ask_uniformly(
    i: Any,
    word: np.uint64,
    step: np.uint64,
    size: int,
    starts: Array,
    asks_itself: bool,
    nodes: int,
    urn: Array,  # (node or entry,) int64: as ``fresh_urn`` makes it, or as the last query has left it
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
            other = urn[high]
            urn[place[i]], place[other] = other, place[i]
            urn[high], place[i] = i, high
    for j in range(size):
        word += step
        pick = low + j + np.int64(below(mix(word), np.uint64(high - low - j))[0])
        peer = urn[pick]
        urn[pick] = urn[low + j]
        urn[low + j] = peer
        if not graph:
            place[urn[pick]], place[peer] = pick, low + j
        who[j] = peer
    return word


@compiled(nogil=True)
def ask_trusted(
    size: int,
    word: np.uint64,
    step: np.uint64,
    first: int,
    last: int,
    peers: Array,
    trust: Array,
    keep: Array,
    pair: Array,
    drawn: Array,  # (node,) int64: all 0
    who: Array,
) -> np.uint64:
    """``size`` different peers in proportion to trust, or all of them if there are no more."""
    low, high = np.uint64(first), np.uint64(last)
    if last - first <= size:
        for j in range(size):
            who[j] = peers[first + j]
    else:
        repeats = 0
        for j in range(size):
            peer = np.uint64(0)
            while repeats < _REPEATS:
                word += step
                cell, rest = below(mix(word), high - low)
                cell += low
                # An index and no branch: which half of the cell it is cannot be predicted.
                peer = pair[cell + cell + np.uint64(rest >= keep[cell])]
                if drawn[peer] == 0:
                    break
                repeats += 1
            if repeats < _REPEATS:
                repeats = 0
            else:
                word += step
                uniform = np.float64(mix(word) >> _TO_53_BITS) * 2.0**-53
                peer = np.uint64(scan(first, last, uniform, peers, trust, drawn))
            drawn[peer] = 1
            who[j] = peer
        for j in range(size):
            drawn[who[j]] = 0
    return word


@compiled(nogil=True)
def scan(first: int, last: int, uniform: float, peers: Array, trust: Array, drawn: Array) -> int:
    """One peer in proportion to trust among those not drawn, from sums of theirs alone."""
    left = 0.0
    for entry in range(first, last):
        if drawn[peers[entry]] == 0:
            left += trust[entry]
    left *= uniform
    peer = -1
    for entry in range(first, last):
        if drawn[peers[entry]] == 0:
            peer = peers[entry]
            left -= trust[entry]
            if left < 0.0:
                break
    return peer


@compiled(nogil=True)
def fresh_urn(starts: Array, peers: Array, keep: Array, urn: Array, place: Array) -> None:
    """Put the urn in order, so that the draws that follow depend on their stream alone."""
    if keep.size > 0:
        place[:] = 0
    elif starts.size > 0:
        urn[:] = peers
    else:
        for node in range(place.size):
            urn[node] = node
            place[node] = node


@compiled(nogil=True)
def alias_tables(starts: Array, peers: Array, trust: Array) -> tuple[Array, Array]:
    """Each asker's trust as cells of equal chance, with two peers each: one below ``keep``, else the other.

    ``keep`` is in units of 2^-64; ``pair[2 * entry]`` and ``pair[2 * entry + 1]`` are the two.
    """
    keep = np.full(peers.size, _ALL, dtype=np.uint64)
    pair = np.empty(2 * peers.size, dtype=np.uint64)
    waiting = np.empty(peers.size, dtype=np.int64)
    for i in range(starts.size - 1):
        low, high = starts[i], starts[i + 1]
        count = high - low
        if count == 0:
            continue
        share = trust[low:high] * (count / trust[low:high].sum())
        # Cells with room from the front of ``waiting``, peers with more than a cell from its back.
        room, more = 0, count
        for entry in range(count):
            pair[2 * (low + entry)] = pair[2 * (low + entry) + 1] = np.uint64(peers[low + entry])
            if share[entry] < 1.0:
                waiting[room] = entry
                room += 1
            else:
                more -= 1
                waiting[more] = entry
        while room > 0 and more < count:
            room -= 1
            cell, giver = waiting[room], waiting[more]
            # The largest double below 2^64 at most: what rounds up to a whole cell is one.
            keep[low + cell] = np.uint64(min(share[cell] * 2.0**64, 2.0**64 - 2048.0))
            pair[2 * (low + cell) + 1] = np.uint64(peers[low + giver])
            share[giver] -= 1.0 - share[cell]
            if share[giver] < 1.0:
                more += 1
                waiting[room] = giver
                room += 1
    return keep, pair
