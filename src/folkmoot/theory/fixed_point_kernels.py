"""Compiled passes over the history of ``fixed_point``: each reads every array once, piece by piece.

A piece is so small that what is computed of it is still in the cache when it is multiplied.
"""

from __future__ import annotations

from folkmoot.arrays import Array, Floats
from folkmoot.machine import compiled

PIECE = 4096


@compiled(nogil=True, fastmath={"reassoc"})
def compare(
    x: Floats,  # (state,): after the sweep
    old: Floats,  # (state,): before it
    now: Array,  # (state,): in, the change of the sweep before; out, of this one
    turns: Array,  # (step, state): how the change has changed
    slot: int,  # where this turn goes
    used: int,  # how many turns there are with this one; 0: none yet
    first: int,
    stop: int,
    products: Floats,  # out (2, step): this turn, and the change, times every turn
) -> None:
    """Notes the change that a sweep made of states first to stop - 1, and its products."""
    products[:] = 0.0
    for start in range(first, stop, PIECE):
        end = min(start + PIECE, stop)
        if used == 0:
            for i in range(start, end):
                now[i] = x[i] - old[i]
            continue
        for i in range(start, end):
            change = now.dtype.type(x[i] - old[i])
            turns[slot, i] = change - now[i]
            now[i] = change
        for j in range(used):
            with_turn = with_change = 0.0
            for i in range(start, end):
                with_turn += turns[j, i] * turns[slot, i]
                with_change += turns[j, i] * now[i]
            products[0, j] += with_turn
            products[1, j] += with_change


@compiled(nogil=True)
def advance(
    x: Floats,
    old: Floats,
    moves: Array,  # (step, state): how x has moved
    turns: Array,
    shares: Array,  # (step,): what to take back of every step
    slot: int,  # where this move goes
    first: int,
    stop: int,
) -> None:
    """Takes back the given shares of the steps before, and notes how x has moved in all."""
    for start in range(first, stop, PIECE):
        end = min(start + PIECE, stop)
        for j in range(shares.size):
            share = shares[j]
            for i in range(start, end):
                x[i] -= share * (moves[j, i] + turns[j, i])
        for i in range(start, end):
            moves[slot, i] = x[i] - old[i]
