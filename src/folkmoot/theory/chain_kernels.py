"""Compiled steps of ``SlushChain`` for many participants. Imported only when their rounds are asked for."""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.machine import compiled


@compiled()
def stepped(laws: Floats, down: Floats, stay: Floats, up: Floats, steps: int) -> Floats:
    """(law, b): each law after so many steps, by the chances that one leads from b to b - 1, b and b + 1."""
    last = stay.size - 1
    result = np.empty_like(laws)
    for row in range(len(laws)):
        old, new = laws[row].copy(), np.empty(stay.size)
        for _ in range(steps):
            new[0] = old[0] * stay[0] + old[1] * down[1]
            for b in range(1, last):
                new[b] = old[b - 1] * up[b - 1] + old[b] * stay[b] + old[b + 1] * down[b + 1]
            new[last] = old[last - 1] * up[last - 1] + old[last] * stay[last]
            old, new = new, old
        result[row] = old
    return result
