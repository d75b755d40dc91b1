"""Fixed points of linear maps too large for a matrix: Anderson acceleration of a sweep.

The next iterate is the combination of the last few that would have had the smallest residual. For
a linear map this is a restarted GMRES (Walker and Ni, 2011). Only differences are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from folkmoot.arrays import Array, Floats
from folkmoot.machine import cores

# History worth keeping: more than this many steps does not help, more than this memory is not ours.
_MOST_STEPS = 20
_MOST_BYTES = 140_000_000
_LARGE = 1_000_000
_PIECE = 2**18


def solve(sweep: Callable[[Floats], float], x: Floats, *, tolerance: float, most_sweeps: int = 5000) -> None:
    """Bring x, in place, to the fixed point of ``sweep``.

    ``sweep`` advances its argument in place and returns the largest change it made; the search ends
    when that is at most ``tolerance``.
    """
    # Differences steer the search and do not limit its accuracy, so large ones are kept in single.
    kind = np.float32 if x.size > _LARGE else np.float64
    window = int(np.clip(_MOST_BYTES // (2 * x.size * np.dtype(kind).itemsize), 1, _MOST_STEPS))
    moves = np.zeros((window, x.size), dtype=kind)  # x_{i+1} - x_i
    turns = np.zeros((window, x.size), dtype=kind)  # f_{i+1} - f_i, with f = sweep(x) - x
    now = np.zeros(x.size, dtype=kind)  # f
    old = np.empty_like(x)
    gram = np.zeros((window, window))
    used = 0
    with ThreadPoolExecutor(cores()) as pool:
        for step in range(most_sweeps):
            np.copyto(old, x)
            change = sweep(x)
            if change <= tolerance:
                return
            if np.isnan(change):
                raise ArithmeticError("a sweep left the range of double precision")
            slot = (step - 1) % window
            used = min(step, window)
            with_turn, with_change = _compare(pool, x, old, now, turns, slot, used)
            gram[slot, :used] = gram[:used, slot] = with_turn
            shares = np.linalg.lstsq(gram[:used, :used], with_change, rcond=1e-12)[0] if used else with_change
            _advance(pool, x, old, moves, turns, shares.astype(kind), step % window)
    raise RuntimeError(
        f"no convergence in {most_sweeps} sweeps: the last one still changed a value by "
        f"{change:.1e}, more than the tolerance {tolerance:.1e}; try a larger tolerance=, or simulate"
    )


def _pieces(states: int) -> list[tuple[int, int]]:
    """The cuts of the work of a step: by its size alone, so that sums are the same on any machine."""
    return [(first, min(first + _PIECE, states)) for first in range(0, states, _PIECE)]


def _compare(
    pool: ThreadPoolExecutor, x: Floats, old: Floats, now: Array, turns: Array, slot: int, used: int
) -> Floats:
    """Note the change; returns the products of the latest turn, and of the change, with every turn."""
    from folkmoot.theory.fixed_point_kernels import compare

    def piece(bounds: tuple[int, int]) -> Floats:
        products = np.zeros((2, used))
        compare(x, old, now, turns, slot, used, *bounds, products)
        return products

    products: Floats = np.sum(list(pool.map(piece, _pieces(x.size))), axis=0)
    return products


def _advance(
    pool: ThreadPoolExecutor, x: Floats, old: Floats, moves: Array, turns: Array, shares: Array, slot: int
) -> None:
    """Take back these shares of the steps before."""
    from folkmoot.theory.fixed_point_kernels import advance

    def piece(bounds: tuple[int, int]) -> None:
        advance(x, old, moves, turns, shares, slot, *bounds)

    list(pool.map(piece, _pieces(x.size)))
