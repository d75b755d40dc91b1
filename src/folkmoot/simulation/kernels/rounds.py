"""Common to the kernels: what adversaries see, who wins, how a round takes effect, when a run ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot.arrays import Array
from folkmoot.machine import compiled
from folkmoot.protocols import snow, snowball
from folkmoot.simulation.kernels.streams import below

# The observations of adversaries (``folkmoot.adversaries.interface.Sees``).
NOTHING, DIE, ASKER, RUNNER_UP, TARGET = range(5)

# Rules of the protocols, compiled.
reaches: Any = compiled(nogil=True)(snow.reaches)
is_ahead: Any = compiled(nogil=True)(snowball.is_ahead)


@compiled(nogil=True)
def runner_up(held: Array) -> int:
    """The second most common honest class, or -1 if the first two are tied."""
    first, second = -1, -1
    for c in range(held.size):
        if first < 0 or held[c] > held[first]:
            first, second = c, first
        elif second < 0 or held[c] > held[second]:
            second = c
    return -1 if held[first] == held[second] else second


@compiled(nogil=True)
def observation(sees: int, die: np.uint64, asker: int, held: Array, followed: int) -> int:
    """The observation of an adversary: a throw of the die, the asker's number, or classes of others."""
    if sees == DIE:
        return np.int64(below(die, np.uint64(held.size))[0])  # type: ignore[return-value]
    if sees == ASKER:
        return asker
    if sees == RUNNER_UP:
        return runner_up(held)
    return followed if sees == TARGET else 0


@compiled(nogil=True)
def which_rows(offset: Array) -> np.uint64:
    """A mask for indices into ``offset``: 0 where all have the first row of chances, else all ones.

    In a large network every look-up of a node's own row is a cache miss. (With a million nodes a query
    takes three times as long.) So where all ask alike the first one's is looked up for all.
    """
    for row in offset:
        if row != offset[0]:
            return ~np.uint64(0)
    return np.uint64(0)


@compiled(nogil=True)
def take_effect(node: Array, fresh: Array, class_of: Array, asking: Array, held: Array) -> int:
    """All nodes move to their fresh states at once; returns how many have decided by that."""
    decided = 0
    for i in range(node.size):
        s, new = node[i], fresh[i]
        decided += asking[s] - asking[new]
        if class_of[s] >= 0:
            held[class_of[s]] -= 1
        if class_of[new] >= 0:
            held[class_of[new]] += 1
        node[i] = new
    return decided


@compiled(nogil=True)
def is_over(held: Array, honest: int, closed: Array, decides: bool, undecided: int) -> bool:
    """All have decided; or, for protocols that never do, all hold a class that no query can change."""
    if decides:
        return bool(undecided == 0)
    over = False
    for c in range(held.size):
        over = over or bool(held[c] == honest and closed[c])
    return over


@compiled(nogil=True)
def wins_ahead(wins: Array, i: Any, won: int, held: int) -> int:
    """Count one more win for node i; 1 if the winner now has more than the class held."""
    if won < 0:
        return 0
    wins[i, won] += 1
    return 1 if is_ahead(wins[i, won], held, wins[i, held]) else 0


@compiled(nogil=True)
def first_states(votes: Array, start: Array, class_of: Array, asking: Array, node: Array, held: Array) -> int:
    """Set every node to the state of its first vote; returns how many have not decided."""
    held[:] = 0
    undecided = 0
    for i in range(votes.size):
        s = start[votes[i] + 1]
        node[i] = s
        if class_of[s] >= 0:
            held[class_of[s]] += 1
        undecided += asking[s]
    return undecided
