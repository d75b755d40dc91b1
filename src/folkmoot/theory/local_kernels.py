"""Compiled sweeps over the states of ``LocalSlushChain``. Imported only when a chain is solved.

A state is a mixed-radix number: digit g is the number of blue participants in group g, the last
digit running fastest. ``rates[B, 2g]`` is proportional to the chance that a query turns a red member
of group g blue when B participants are blue in all, ``rates[B, 2g+1]`` that it turns a blue one red. The
first and the last state (all red, all blue) are the ends of the chain and are never changed.
"""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.compiling import compiled


@compiled()
def read_line(line: int, sizes: Ints, strides: Ints, weights: Floats, offsets: Ints) -> int:
    """Decode all digits but the last: who could turn, and where that leads. Returns their blue count."""
    blue = 0
    for g in range(sizes.size - 2, -1, -1):
        digit = line % (sizes[g] + 1)
        line //= sizes[g] + 1
        blue += digit
        weights[2 * g] = sizes[g] - digit
        weights[2 * g + 1] = digit
        # A neighbour that does not exist has weight 0; it is read from the state itself.
        offsets[2 * g] = strides[g] if digit < sizes[g] else 0
        offsets[2 * g + 1] = -strides[g] if digit > 0 else 0
    return blue


@compiled()
def sweep(h: Floats, sizes: Ints, strides: Ints, rates: Floats, forward: bool, update: bool) -> float:
    """One Gauss-Seidel pass of h(x) = sum_y P(x, y) h(y); returns the largest |sum - h| met.

    Forward passes carry what is known of all-red upwards, backward passes what is known of
    all-blue downwards: the drift of the chain points the same way, so few passes are needed.
    With ``update`` false nothing is changed and the result is the residual of h.
    """
    groups = sizes.size - 1
    last = sizes[groups]
    lines = h.size // (last + 1)
    weights = np.zeros(2 * groups)
    offsets = np.zeros(2 * groups, dtype=np.int64)
    worst = 0.0
    for count in range(lines):
        line = count if forward else lines - 1 - count
        blue = read_line(line, sizes, strides, weights, offsets)
        for step in range(last + 1):
            digit = step if forward else last - step
            i = line * (last + 1) + digit
            if i == 0 or i == h.size - 1:
                continue
            rate = rates[blue + digit]
            total = 0.0
            inflow = 0.0
            for e in range(2 * groups):
                flow = weights[e] * rate[e]
                total += flow
                inflow += flow * h[i + offsets[e]]
            up = (last - digit) * rate[2 * groups]
            down = digit * rate[2 * groups + 1]
            total += up + down
            if total <= 0.0:
                continue  # frozen: no query can turn anybody
            # The value just written is multiplied in last, so that the division is off the path
            # from one state to the next.
            inverse = 1.0 / total
            if forward:
                if digit < last:
                    inflow += up * h[i + 1]
                change = inflow * inverse - h[i]
                if digit > 0:
                    change += (down * inverse) * h[i - 1]
            else:
                if digit > 0:
                    inflow += down * h[i - 1]
                change = inflow * inverse - h[i]
                if digit < last:
                    change += (up * inverse) * h[i + 1]
            if not abs(change) <= 1e300:
                return np.nan  # seen by the caller; a comparison with nan would lose it
            worst = max(worst, abs(change))
            if update:
                h[i] += change
    return worst


@compiled()
def spread(reached: Bools, sizes: Ints, strides: Ints, rates: Floats, forward: bool) -> bool:
    """Mark every state from which one change leads to a marked one; returns whether any was new."""
    groups = sizes.size - 1
    last = sizes[groups]
    lines = reached.size // (last + 1)
    weights = np.zeros(2 * groups)
    offsets = np.zeros(2 * groups, dtype=np.int64)
    news = False
    for count in range(lines):
        line = count if forward else lines - 1 - count
        blue = read_line(line, sizes, strides, weights, offsets)
        for step in range(last + 1):
            digit = step if forward else last - step
            i = line * (last + 1) + digit
            if reached[i] or i == 0 or i == reached.size - 1:
                continue
            rate = rates[blue + digit]
            found = digit < last and rate[2 * groups] > 0 and reached[i + 1]
            found = found or (digit > 0 and rate[2 * groups + 1] > 0 and reached[i - 1])
            for e in range(2 * groups):
                found = found or (weights[e] * rate[e] > 0 and reached[i + offsets[e]])
            if found:
                reached[i] = True
                news = True
    return news
