"""The randomness of approximate agreement, by key: whom each node asks in a round, and the dice of the liars.

The keys are (seed, round, node) and no input: one query carries all inputs, and an input's outcome does not
depend on the rest of the batch.
"""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Array
from folkmoot.compiling import compiled
from folkmoot.simulation.kernels.streams import below, mix, stream

# Purposes of the streams; the kernels of ``deliberate`` use 0 to 3.
PEERS, DICE = 4, 5


@compiled(nogil=True)
def draw_peers(seed: int, round_: int, nodes: int, askers: Array, k: int) -> Array:
    """(asker, 1 + k): the asker, then k of the others, uniformly and without replacement."""
    who = np.empty((askers.size, 1 + k), dtype=np.int64)
    urn = np.arange(nodes - 1)
    picks = np.empty(k, dtype=np.int64)
    for row in range(askers.size):
        asker = askers[row]
        who[row, 0] = asker
        word, step = stream(seed, round_, asker, PEERS)
        for j in range(k):
            word += step
            pick = j + np.int64(below(mix(word), np.uint64(nodes - 1 - j))[0])
            picks[j] = pick
            urn[j], urn[pick] = urn[pick], urn[j]
            who[row, 1 + j] = urn[j] + 1 if urn[j] >= asker else urn[j]  # the urn leaves out the asker
        for j in range(k - 1, -1, -1):  # and is put in order again, as a draw depends on its stream alone
            urn[j], urn[picks[j]] = urn[picks[j]], urn[j]
    return who


@compiled(nogil=True)
def throw_dice(seed: int, round_: int, askers: Array, liar: int, outputs: int) -> Array:
    """(asker, output): uniform over [0, 1), for what one liar tells each asker."""
    dice = np.empty((askers.size, outputs))
    for row in range(askers.size):
        word, step = stream(seed, round_, askers[row], DICE)
        for c in range(outputs):
            place = np.uint64(liar * outputs + c + 1)
            dice[row, c] = np.float64(mix(word + place * step) >> np.uint64(11)) * 2.0**-53
    return dice
