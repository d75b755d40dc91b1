"""A setting laid out for ``deliberation.cu``: packed states, counts beside them, and tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array, Ints, Words
from folkmoot.simulation.kernels.gpu.runner import Form
from folkmoot.simulation.setting import Setting

WIDTHS = (2, 4, 8, 32)  # of a packed state, in bits; two-class Slush has one
MOST_TURNS = 2**31  # of a run by the flip walk, which counts them in 32 bits

Packed = npt.NDArray[np.uint32]


class GpuLayout(NamedTuple):
    """The arrays of a setting: what a job starts with, and by what it is played."""

    form: Form
    first: Packed  # (input, word): packed first states
    held: Array  # (input, class) int32: honest participants that hold it at first
    asking: Array  # (input,) int32: how many have not decided
    fixed: Array  # (input, class) int32
    closed: Array  # (input, class) uint8
    chance: Array  # uint64
    offset: Array  # (honest,) uint32
    after: Array  # int32
    class_of: Array  # (state,) int32
    asks: Array  # (state,) int32


def layout_of(setting: Setting) -> GpuLayout:
    """The arrays of a setting."""
    machine, chances = setting.machine, setting.chances
    votes, classes = setting.honest_votes, setting.classes
    honest = votes.shape[1]
    flips = is_flip(setting)
    chance, offset, width = chances.chance, chances.offset, 0
    if flips:
        named = int(chances.fixed[0].sum()) if len(votes) else 0
        rows = len(np.unique(offset))
        chance, offset, width = paired(chance, offset, len(chance) // rows, honest + named)
    states = votes.astype(np.uint32) if flips else machine.start[votes.astype(np.int64) + 1].astype(np.uint32)
    bits = 1 if flips else next(width for width in WIDTHS if len(machine.class_of) <= 2**width)
    first = packed(states, bits)
    form = Form(
        walk="flip" if flips else "table",
        bits=bits,
        words=first.shape[1],
        chances=len(chance),
        width=width,
        counts=0 if flips else classes * (2 if setting.lockstep else 1),
        local=bool((offset != 0).any()),
        lockstep=setting.lockstep,
        wins=honest * classes if machine.counts_wins else 0,
    )
    asking = np.full(len(votes), honest) if flips else machine.asking[states].sum(axis=1)
    return GpuLayout(
        form=form,
        first=first,
        held=np.stack([(votes == c).sum(axis=1) for c in range(classes)], axis=-1).astype(np.int32),
        asking=asking.astype(np.int32),
        fixed=np.ascontiguousarray(chances.fixed, dtype=np.int32),
        closed=np.ascontiguousarray(setting.closed, dtype=np.uint8),
        chance=chance,
        offset=offset.astype(np.uint32),
        after=machine.after.astype(np.int32).ravel(),
        class_of=np.array([0, 1], dtype=np.int32) if flips else machine.class_of.astype(np.int32),
        asks=machine.asking.astype(np.int32),
    )


def is_flip(setting: Setting) -> bool:
    """Whether the flip walk plays it.

    It looks only now and then if all agree, so that must be for good. From how many say blue it must know
    how many say red, so as many adversaries must answer on each input.
    """
    if not setting.plain or setting.lockstep:
        return False
    if setting.rounds * setting.honest_votes.shape[1] >= MOST_TURNS:
        return False
    chances = setting.chances
    if len(np.unique(chances.fixed.sum(axis=1))) > 1:
        return False
    rows = np.unique(chances.offset).astype(np.int64)
    against = chances.fixed[:, ::-1]  # of those who hold a class, how many always say the other
    turned = chances.chance[rows[:, None, None] + against].max(axis=0) > 0
    return not bool((turned & setting.closed).any())


def paired(chance: Words, offset: Words, row: int, says: int) -> tuple[Words, Words, int]:
    """Each row of chances twice: by how many say blue, for those who are red, and for those who are blue.

    ``says`` is how many say red or blue. Returns the table, offsets in it and its width, which is even.
    """
    rows = chance.reshape(-1, row)
    width = row + row % 2
    pairs = np.zeros((len(rows), 2, width), dtype=np.uint64)
    pairs[:, 0, : says + 1] = rows[:, : says + 1]
    pairs[:, 1, : says + 1] = rows[:, says::-1]
    return pairs.ravel(), offset // np.uint64(row) * np.uint64(2 * width), width


def packed(states: Array, bits: int) -> Packed:
    """(row, word): states (row, participant) in words of 32 bits, the first in the lowest bits."""
    rows, many = states.shape
    per = 32 // bits
    words = -(-many // per)
    if bits == 1:
        whole = np.zeros((rows, 4 * words), dtype=np.uint8)
        some = np.packbits(states.astype(np.uint8), axis=1, bitorder="little")
        whole[:, : some.shape[1]] = some
        return whole.view("<u4").astype(np.uint32)
    padded = np.zeros((rows, words * per), dtype=np.uint32)
    padded[:, :many] = states
    shifts = np.arange(per, dtype=np.uint32) * np.uint32(bits)
    return np.asarray(np.bitwise_or.reduce(padded.reshape(rows, words, per) << shifts, axis=2))


def rounds_of(asks: Ints, honest: int) -> Ints:
    """Rounds that so many turns of a flip walk began."""
    return -(-asks // honest)
