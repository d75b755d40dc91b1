"""What the kernels have in common: how a round of lockstep takes effect, and when a talk is over."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True)
def take_effect(node: Array, fresh: Array, colour: Array, asking: Array, held: Array) -> int:
    """All nodes move to their fresh states at once; returns how many have decided by that."""
    decided = 0
    for i in range(node.size):
        s, new = node[i], fresh[i]
        decided += asking[s] - asking[new]
        if colour[s] >= 0:
            held[colour[s]] -= 1
        if colour[new] >= 0:
            held[colour[new]] += 1
        node[i] = new
    return decided


@njit(cache=True, nogil=True)
def is_over(held: Array, honest: int, closed: Array, decides: bool, undecided: int) -> bool:
    """All have decided; or, for protocols that never do, all hold a colour that cannot be left again."""
    if decides:
        return bool(undecided == 0)
    over = False
    for c in range(held.size):
        over = over or bool(held[c] == honest and closed[c])
    return over


@njit(cache=True, nogil=True)
def wins_ahead(wins: Array, i: Any, won: int, held: int) -> int:
    """Count one more win for node i; 1 if the winner now has more than the colour held."""
    if won < 0:
        return 0
    wins[i, won] += 1
    return 1 if held < 0 or wins[i, won] > wins[i, held] else 0


@njit(cache=True, nogil=True)
def first_states(votes: Array, start: Array, colour: Array, asking: Array, node: Array, held: Array) -> int:
    """Everybody as its first vote has it; returns how many have not decided."""
    held[:] = 0
    undecided = 0
    for i in range(votes.size):
        s = start[votes[i] + 1]
        node[i] = s
        if colour[s] >= 0:
            held[colour[s]] += 1
        undecided += asking[s]
    return undecided
