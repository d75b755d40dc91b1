"""Who leads which round and whom it asks, for the kernels; empty for protocols without leaders.

Salts are made from the seed, one for each participant and repetition: honest ones are random, so every order
and every sample is as likely as any other. All inputs of a repetition share them, as those of a motion do.

What a leader shows is the same for all, but each counts it for itself: in a talk by trust the answers of
peers that a participant does not trust are silence to it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from folkmoot.arrays import Array, Ints
from folkmoot.protocols.leaders import leaders_and_samples
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.sampling import Everyone, Sampling, Trusting


class Leading(NamedTuple):
    """Leaders and their samples, by position; both without rows if nobody leads."""

    order: Array  # (repetition, node) int64: who leads round 0, 1, ...; then again from the first
    sample: Array  # (repetition, node, k) int64: whom each asks when it leads
    number: Array  # (node,) int64: each one's number in the caller's order
    alpha: Array  # (honest,) int64: how many of the answers shown must agree
    believed: Array  # (honest, node) bool: whose answers, if shown, count for whom; all do if it is empty


def lay_out_leaders(
    protocol: SnowProtocol[Any], sampling: Sampling, order: Ints, honest: int, seed: int, repeats: int
) -> Leading:
    """The leaders of so many repetitions; ``order`` has the participants by position, the honest first."""
    n = len(order)
    everybody = np.empty((0, 0), dtype=np.bool_)
    if not protocol.led:
        return Leading(
            np.empty((0, 0), dtype=np.int64),
            np.empty((0, 0, 0), dtype=np.int64),
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            everybody,
        )
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    leaders = np.empty((repeats, n), dtype=np.int64)
    samples = np.empty((repeats, n, protocol.k), dtype=np.int64)
    for repetition in range(repeats):
        turns, asked = leaders_and_samples(
            simulated_salts(seed, repetition, n),
            protocol.k,
            protocol.weights,
            itself=isinstance(sampling, Everyone),
        )
        leaders[repetition] = position[np.array(turns)]
        samples[repetition] = position[np.array(asked)][order]
    askers = order[:honest]
    believed = everybody
    if isinstance(sampling, Trusting):
        believed = sampling.weights[np.ix_(askers, order)] > 0
        believed[np.arange(honest), np.arange(honest)] = True  # itself
    alpha = np.ascontiguousarray(protocol.thresholds(n)[askers])
    return Leading(leaders, samples, order.astype(np.int64), alpha, believed)


def simulated_salts(seed: int, repetition: int, participants: int) -> list[bytes]:
    """The salts of a repetition: a different one for each participant."""
    return [f"{seed} {repetition} {i}".encode() for i in range(participants)]
