"""Arguments and results of the kernels: named tuples of arrays, which each kernel unpacks once, at its top.

Every access to a tuple of arrays costs a count of references (measured: a query takes twice the time).
Answers of adversaries are in ``adversaries/interface.py``; a protocol is a ``Machine``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from folkmoot.arrays import Array, Ints
from folkmoot.protocols.sampling import Everyone, Neighbours, Sampling
from folkmoot.protocols.snow import SnowProtocol


class Jobs(NamedTuple):
    """Jobs ``first`` to ``last - 1``, and what seeds them; a job is repetition * inputs + input."""

    first: int
    last: int
    halt: Array  # (1,): stop soon when it is not 0
    seed: int
    keys: Array  # (input,) int64: what seeds the randomness of an input


class Deliberation(NamedTuple):
    """First votes, when they are final, and how long the run may be."""

    votes: Array  # (input, honest) int8: first votes
    closed: Array  # (input, class) bool: once all honest hold it, no query can change that
    lockstep: bool
    rounds: int


class Chances(NamedTuple):
    """Chances that a class wins a query if x of the peers hold it, where only numbers matter."""

    chance: Array  # flat uint64, in units of 2^-64
    offset: Array  # (honest,) uint64: where the row of its threshold starts in ``chance``
    fixed: Array  # (input, class) int64: Byzantine participants that always answer it
    own: np.uint64  # 1 if the asker does not ask itself


class Recorded(NamedTuple):
    """Properties of a faster kernel, whose run the explicit kernel records."""

    chances: Chances  # of the table kernel, which draws winners by them; empty: every peer is drawn
    one_move: bool  # the flip kernel draws whether the other class wins, and nothing else
    seated: bool  # the bit-sliced kernel seats participants anew for each input


class Results(NamedTuple):
    """Results, filled by a kernel."""

    decisions: Array  # (job, honest) int8
    played: Array  # (job,) int64: rounds
    asked: Array  # (job,) int64: requests to single peers; if shared, of the whole batch while it is open
    converged: Array  # (job,) bool
    history: Array  # (job, round, class) int32: honest holders; empty unless recorded


class Notebook(NamedTuple):
    """The turns of one input, as far as there is room: who asked whom, and what came of it."""

    rows: Array  # (turn, 5 + class) float64: round, node, class that won, before, after, tally
    asked: Array  # (turn, most) int32: the nodes that were asked, then -1
    answers: Array  # (turn, most) int8: what they answered


def notebook(turns: int, most: int, classes: int) -> Notebook:
    """An empty notebook with room for so many turns, of at most so many answers; none: nothing is noted."""
    return Notebook(
        rows=np.zeros((turns, 5 + classes)),
        asked=np.full((turns, most), -1, dtype=np.int32),
        answers=np.full((turns, most), -1, dtype=np.int8),
    )


def filled(play: Callable[[Notebook], int], most: int, classes: int) -> Notebook:
    """The notebook of a run that ``play`` notes, as large as the number of turns that it returns."""
    happened, room = 1024, 0
    while happened > room:
        room = happened
        notes = notebook(room, most, classes)
        happened = play(notes)
    return Notebook(*(each[:happened] for each in notes))


# Whom each honest node may ask, and what answers weigh. Nodes are named by position, honest ones first.
# ``asking.py`` draws.

_NO_INDEX = np.empty(0, dtype=np.int64)


class PeerLists(NamedTuple):
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
) -> PeerLists:
    """The peers of the honest participants under a sampling law."""
    n = len(order)
    askers, place = order[:honest], np.argsort(order)
    starts = peers = _NO_INDEX
    if isinstance(sampling, Neighbours):
        lists = [sampling.peers[sampling.starts[i] : sampling.starts[i + 1]] for i in askers]
        starts, peers = _flat([place[each] for each in lists])
    size, alpha = protocol.reaching(np.full(n, protocol.k))
    return PeerLists(
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
