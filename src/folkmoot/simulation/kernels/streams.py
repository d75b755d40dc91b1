"""Random numbers by key: a stream for every (seed, repetition, input), whatever thread plays it.

SplitMix64 (Steele, Lea and Flood, 2014) with an increment of its own per stream. State and increment
are two words that a kernel keeps in registers. A draw is three shifts and two multiplications that do
not depend on the draw before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from folkmoot.machine import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
M1 = np.uint64(0xBF58476D1CE4E5B9)
M2 = np.uint64(0x94D049BB133111EB)
S27, S30, S31 = np.uint64(27), np.uint64(30), np.uint64(31)
ONE = np.uint64(1)


@compiled(nogil=True, inline="always")
def mix(z: np.uint64) -> np.uint64:
    """A bijection of the 64-bit words that leaves no pattern."""
    z = (z ^ (z >> S30)) * M1
    z = (z ^ (z >> S27)) * M2
    return z ^ (z >> S31)


@compiled(nogil=True)
def stream(seed: int, repetition: int, index: int, purpose: int) -> tuple[np.uint64, np.uint64]:
    """State and (odd) increment of the stream with this key."""
    key = mix(np.uint64(seed) + GOLDEN)
    key = mix(key ^ (np.uint64(repetition) + GOLDEN))
    key = mix(key ^ (np.uint64(index) * GOLDEN + ONE))
    key = mix(key ^ (np.uint64(purpose) + M1))
    return key, mix(key + GOLDEN) | ONE


def _below(typingctx: Any, word: Any, n: Any) -> Any:  # noqa: ARG001
    """A number in 0..n-1 and a fresh uniform word, both from one: high and low half of word * n.

    Exact to n / 2^64. An intrinsic, as the 128-bit product is one instruction and numba has no such type.
    """
    signature = types.UniTuple(types.uint64, 2)(types.uint64, types.uint64)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide, half = ir.IntType(128), ir.IntType(64)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), half)
        return context.make_tuple(builder, signature.return_type, (high, builder.trunc(product, half)))

    return signature, generate


below: Any = intrinsic(_below)
