"""First votes of sweeps: 64 coins at a time, from separate streams, as in ``gpu/deliberation.cu``.

A participant is right if a uniform word of 64 bits is below its threshold. A random word is one more bit of
64 such words, from the highest on, until every comparison is made. That takes seven or eight words for 64
coins.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot.arrays import Array, Words
from folkmoot.machine import compiled
from folkmoot.simulation.kernels.streams import mix, stream

VOTING, SWEEPING = 11, 12  # what streams are for, beside those of deliberations
_ZERO, _ONE, _ALL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)


@compiled(nogil=True)
def planes_of(thresholds: Words) -> Words:
    """(set, group of 64, bit): thresholds (set, participant) by bits, the highest first."""
    sets, many = thresholds.shape
    groups = -(-many // 64)
    planes = np.zeros((sets, groups, 64), dtype=np.uint64)
    for which in range(sets):
        for i in range(many):
            for bit in range(64):
                one = thresholds[which, i] >> np.uint64(63 - bit) & _ONE
                planes[which, i // 64, bit] |= one << np.uint64(i % 64)
    return planes


@compiled(nogil=True)
def seeds_of(seed: int, many: int) -> Array:
    """(set,) uint64: the seed of each setting of a sweep, below 2^63 so that ``deliberate`` takes it."""
    seeds = np.empty(many, dtype=np.uint64)
    for each in range(many):
        seeds[each] = stream(seed, each, 0, SWEEPING)[0] >> _ONE
    return seeds


@compiled(nogil=True)
def toss(seed: Any, first: int, planes: Array, votes: Array) -> None:
    """Fills ``votes`` (run, participant) of the runs from ``first`` on: 1 where a participant is right."""
    runs, honest = votes.shape
    for run in range(runs):
        word, step = stream(seed, 0, first + run, VOTING)
        for group in range(planes.shape[0]):
            left = min(honest - 64 * group, 64)
            undecided = _ALL if left == 64 else (_ONE << np.uint64(left)) - _ONE
            right = _ZERO
            bit = 0
            while bit < 64 and undecided != _ZERO:
                word += step
                drawn = mix(word)
                wanted = planes[group, bit]
                right |= undecided & wanted & ~drawn
                undecided &= ~(drawn ^ wanted)
                bit += 1
            for i in range(left):
                votes[run, 64 * group + i] = (right >> np.uint64(i)) & _ONE
