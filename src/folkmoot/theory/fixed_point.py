"""Fixed points of linear maps too large for a matrix: Anderson acceleration of a sweep.

The next iterate is the combination of the last few that would have had the smallest residual, which
for a linear map is a restarted GMRES (Walker and Ni, 2011). Only differences are kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from folkmoot.arrays import Floats

# History worth keeping: more than this many steps does not help, more than this memory is not ours.
_MOST_STEPS = 20
_MOST_BYTES = 140_000_000
_LARGE = 1_000_000


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
    gram = np.zeros((window, window))
    used = 0
    previous = None
    for step in range(most_sweeps):
        residual = x.copy()
        change = sweep(x)
        if change <= tolerance:
            return
        if np.isnan(change):
            raise ArithmeticError("a sweep left the range of double precision")
        np.subtract(x, residual, out=residual)
        now = residual.astype(kind)
        slot = (step - 1) % window
        if previous is not None:
            np.subtract(now, previous, out=turns[slot])
            used = min(used + 1, window)
            gram[slot, :used] = gram[:used, slot] = turns[:used] @ turns[slot]
        previous = now
        if used:
            share = np.linalg.lstsq(gram[:used, :used], turns[:used] @ now, rcond=1e-12)[0]
            back = share.astype(kind) @ moves[:used]
            back += share.astype(kind) @ turns[:used]
            x -= back
            residual -= back
        moves[step % window] = residual
    raise RuntimeError(
        f"no convergence in {most_sweeps} sweeps: the last one still changed a value by "
        f"{change:.1e}, more than the tolerance {tolerance:.1e}; try a larger tolerance=, or simulate"
    )
