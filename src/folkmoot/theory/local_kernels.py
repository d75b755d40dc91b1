"""Compiled sweeps over the states of ``LocalSlushChain``. Imported only when a chain is solved.

A state is a mixed-radix number: digit g is the number of blue participants in group g, the last
digit running fastest. ``rates[2g, B]`` is proportional to the chance that a query turns a red member
of group g blue when B participants are blue in all, ``rates[2g+1, B]`` that it turns a blue one red. The
first and the last state (all red, all blue) are the ends of the chain and are never changed.
"""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Bools, Floats, Ints
from folkmoot.machine import compiled


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


@compiled(nogil=True)
def sweep(
    h: Floats,
    sizes: Ints,
    strides: Ints,
    rates: Floats,
    lines: Ints,  # the first of each block of lines, in ascending order
    block: int,  # how many lines a block has
    forward: bool,
    update: bool,
) -> float:
    """One Gauss-Seidel pass of h(x) = sum_y P(x, y) h(y) over some lines; returns the largest |sum - h| met.

    Forward passes carry what is known of all-red upwards, backward passes what is known of
    all-blue downwards. The drift of the chain points the same way, so few passes are needed.
    With ``update`` false nothing is changed and the result is the residual of h.
    """
    groups = sizes.size - 1
    last = sizes[groups]
    width = last + 1
    weights = np.zeros(2 * groups)
    offsets = np.zeros(2 * groups, dtype=np.int64)
    known = np.empty(width)  # the change of a state, but for the neighbour that the pass has just left
    pull = np.empty(width)  # and the weight of that neighbour
    worst = 0.0
    finite = True
    for count in range(lines.size * block):
        turn = count if forward else lines.size * block - 1 - count
        line = lines[turn // block] + turn % block
        blue = read_line(line, sizes, strides, weights, offsets)
        first = line * width
        here = h[first : first + width]
        # What does not hang on the neighbour just left is summed for the whole line at once.
        known[:] = 0.0
        pull[:] = 0.0
        for g in range(groups):
            more, fewer = weights[2 * g], weights[2 * g + 1]
            rate_up = rates[2 * g, blue : blue + width]
            rate_down = rates[2 * g + 1, blue : blue + width]
            above, below = first + offsets[2 * g], first + offsets[2 * g + 1]
            h_above, h_below = h[above : above + width], h[below : below + width]
            for digit in range(width):
                up, down = more * rate_up[digit], fewer * rate_down[digit]
                pull[digit] = (pull[digit] + up) + down
                known[digit] = (known[digit] + up * h_above[digit]) + down * h_below[digit]
        rate_up = rates[2 * groups, blue : blue + width]
        rate_down = rates[2 * groups + 1, blue : blue + width]
        for digit in range(width):
            up, down = (last - digit) * rate_up[digit], digit * rate_down[digit]
            total = pull[digit] + (up + down)
            moves = total > 0.0  # else frozen: no query can turn anybody
            inverse = 1.0 / total if moves else 0.0
            if forward:
                ahead = up * here[digit + 1] if digit < last else 0.0
                behind = down
            else:
                ahead = down * here[digit - 1] if digit > 0 else 0.0
                behind = up
            known[digit] = (known[digit] + ahead) * inverse - (here[digit] if moves else 0.0)
            pull[digit] = behind * inverse
        if first == 0:
            known[0] = pull[0] = 0.0
        if first + width == h.size:
            known[last] = pull[last] = 0.0
        value = 0.0
        for step in range(width):
            digit = step if forward else last - step
            change = known[digit] + pull[digit] * value
            finite &= abs(change) <= 1e300  # a comparison with nan would lose it
            worst = max(worst, abs(change))
            value = here[digit]
            if update:
                value += change
                here[digit] = value
    return worst if finite else np.nan


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
            rate = rates[:, blue + digit]
            found = digit < last and rate[2 * groups] > 0 and reached[i + 1]
            found = found or (digit > 0 and rate[2 * groups + 1] > 0 and reached[i - 1])
            for e in range(2 * groups):
                found = found or (weights[e] * rate[e] > 0 and reached[i + offsets[e]])
            if found:
                reached[i] = True
                news = True
    return news
