"""Votes: classes, tables and their checks, for every layer (section 2.3.1 of the paper).

A class is an integer ``0..C-1``. In the two-class theory blue is the right answer and red the
wrong one. So the state of the network is the number of blue participants.

Probabilities are rounded to 256 levels of 8 bits. A level is one of 256 equal cells and stands for its
middle, so no probability is 0 or 1, and every logarithm is finite.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Bools, Bytes, Floats, Ints

NO_VOTE: Final = -1  # abstains, or has no answer yet
RED: Final = 0
BLUE: Final = 1

Vote: TypeAlias = int
# How many of the k answers to one query named each class; silence is not counted.
Tally: TypeAlias = Sequence[int]
# Whether a participant without a vote on an input takes part there and may adopt a class.
Missing: TypeAlias = Literal["present", "absent"]
# One row per participant, one column per input.
Votes: TypeAlias = Ints


def check_votes(votes: npt.ArrayLike, classes: int | None = None) -> Votes:
    """``votes`` as a (participant, input) array of classes; the first entry that is none is named."""
    try:
        array = np.asarray(votes)
    except ValueError:
        raise ValueError(
            "votes must hold one row of equal length per participant: got unequal rows"
        ) from None
    if array.ndim != 2:
        raise ValueError(f"votes must have the shape (participant, input): got the shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"votes must hold at least one vote: got the shape {array.shape}")
    if array.dtype.kind not in "iu":
        way = (
            "; of words or a frame make them with read_votes(...).votes" if array.dtype.kind in "OUS" else ""
        )
        raise TypeError(f"votes must be integers: got an array of {array.dtype}{way}")
    limit = class_count(array, classes)
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise ValueError("votes must be classes, small numbers: got one above 2^63")
    if array.min() < NO_VOTE or array.max() >= limit:
        row, column = (int(i) for i in np.argwhere((array < NO_VOTE) | (array >= limit))[0])
        rule = "-1 <= class" if classes is None else f"-1 <= class < {limit}"
        raise ValueError(f"votes[{row}, {column}] must satisfy {rule}: got {array[row, column]}")
    return array.astype(np.int64, copy=False)


def check_truth(
    truth: npt.ArrayLike, inputs: int, classes: int | None = None, *, complete: bool = True
) -> Ints:
    """The right class of every input; if not ``complete``, -1 where unknown. A wrong one is named."""
    values = np.asarray(truth)
    if values.shape != (inputs,):
        raise ValueError(f"truth must hold one class per input ({inputs}): got shape {values.shape}")
    if values.dtype.kind == "f" and (np.abs(values) < 2.0**53).all() and (values == np.rint(values)).all():
        values = values.astype(np.int64)  # np.ones(inputs) is a truth
    if values.dtype.kind not in "iu":
        raise TypeError(f"truth must be integers: got an array of {values.dtype}")
    least = 0 if complete else NO_VOTE
    bad = np.flatnonzero((values < least) | (False if classes is None else values >= classes))
    if bad.size:
        limit = "" if classes is None else f" < {classes}"
        raise ValueError(f"truth[{bad[0]}] must satisfy {least} <= class{limit}: got {values[bad[0]]}")
    return values.astype(np.int64)


def check_true_numbers(truth: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    """The right numbers, NaN where not known."""
    right = np.asarray(truth, dtype=np.float64)
    if right.shape != shape:
        raise ValueError(f"truth must have the shape {shape}: got {right.shape}")
    return right


def known_inputs(truth: Ints) -> Bools:
    """(input,): where the truth is known; ValueError if it is nowhere."""
    there: Bools = truth != NO_VOTE
    if not there.any():
        raise ValueError("truth must be known (not -1) for at least one input")
    return there


def numbered(rows: Ints) -> Ints:
    """Each row with its classes, or clusters, numbered in the order in which they first appear; -1 stays."""
    result = np.full(rows.shape, NO_VOTE, dtype=np.int64)
    for row, out in zip(rows, result, strict=True):
        seen = row >= 0
        _, first, place = np.unique(row[seen], return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        out[seen] = rank[place]
    return result


def vote_keys(votes: Votes) -> Ints:
    """A number in 0..2^63-1 for each input, the same for the same column of votes and for no other (almost).

    The first 63 bits of BLAKE2b: among a million columns two share a number with a chance below 1 in 10^7.
    """
    columns = np.ascontiguousarray(votes.T, dtype="<i8")
    digests = b"".join(hashlib.blake2b(column.tobytes(), digest_size=8).digest() for column in columns)
    return (np.frombuffer(digests, dtype="<u8") >> np.uint64(1)).astype(np.int64)


def check_keys(keys: npt.ArrayLike, inputs: int) -> Ints:
    """The keys of so many inputs, or an error that names what is wrong with them."""
    values = np.asarray(keys)
    if values.shape != (inputs,):
        raise ValueError(f"keys must hold one number per input ({inputs}): got shape {values.shape}")
    if values.dtype.kind not in "iu":
        raise TypeError(f"keys must be integers: got an array of {values.dtype}")
    if (values < 0).any() or (values > np.iinfo(np.int64).max).any():
        raise ValueError("keys must satisfy 0 <= key < 2^63")
    return values.astype(np.int64)


def check_missing(missing: Missing) -> Missing:
    """``missing``, or ValueError if it is neither "present" nor "absent"."""
    if missing not in get_args(Missing):
        raise ValueError(f"missing must be 'present' or 'absent': got {missing!r}")
    return missing


def class_count(
    votes: npt.NDArray[np.integer], classes: int | None = None, truth: npt.ArrayLike | None = None
) -> int:
    """The number of classes C: what the caller says, or else one more than the largest vote; at least 2.

    A class that is right somewhere is one, although nobody voted for it.
    """
    if classes is not None:
        return checks.integer("classes", classes, least=2)
    right = np.asarray(NO_VOTE if truth is None else truth)
    top = int(right.max(initial=NO_VOTE)) if right.dtype.kind in "iu" else NO_VOTE
    return max(2, int(votes.max()) + 1, top + 1)


LEVELS: Final = 256


def to_levels(chances: Array) -> Bytes:
    """The cell of each probability, 0 to 255."""
    return np.asarray(np.minimum(np.floor(chances * LEVELS), LEVELS - 1)).astype(np.uint8)


def from_levels(levels: Array) -> Floats:
    """The middles of the cells (..., class), scaled to add up to 1."""
    middles = (levels + 0.5) / LEVELS
    return np.asarray(middles / middles.sum(axis=-1, keepdims=True))


def in_levels(chances: Floats) -> Floats:
    """Probabilities (..., class) rounded to the middles of 256 equal cells, and scaled to add up to 1."""
    return from_levels(to_levels(chances))
