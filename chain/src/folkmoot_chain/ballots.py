"""Ballots as bit planes, the limits of a motion, and the weighted plurality that is the chain's answer.

Plane p of word w holds bit p of the labels of inputs 256 w to 256 w + 255, lowest bit first. The planes of a
word stand side by side. A code that is no label abstains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

ABSTAINED = -1
WORD = 256
MOST_LABELS = 16
MOST_WORDS = 128  # of a ballot
MOST_AT_ONCE = 2048  # seats x (words of a ballot + 2)
MOST_SEATS = 682
MOST_COUNTED = 3072  # seats x labels
BATCH = 64  # participants in one call of score or claim
BATCH_WORDS = 512  # and words of ballots in one of score
MOST_INPUTS = 32_768


def planes_of(labels: int) -> int:
    """Bits of a label: ceil(log2 labels).

    >>> [planes_of(labels) for labels in (2, 3, 4, 5, 10, 16)]
    [1, 2, 2, 3, 4, 4]
    """
    return max(1, (labels - 1).bit_length())


def words_of(inputs: int, labels: int) -> int:
    """Numbers of 256 bits that a ballot has."""
    return -(-inputs // WORD) * planes_of(labels)


def check_size(inputs: int, labels: int, seats: int) -> None:
    """ValueError for a motion that the contract would refuse, so that each later call fits a block."""
    if not 2 <= labels <= MOST_LABELS:
        raise ValueError(f"labels must satisfy 2 <= labels <= {MOST_LABELS}: got labels={labels}")
    if not 1 <= inputs <= MOST_INPUTS:
        raise ValueError(f"inputs must satisfy 1 <= inputs <= {MOST_INPUTS}: got inputs={inputs}")
    words = words_of(inputs, labels)
    if words > MOST_WORDS:
        most = MOST_WORDS // planes_of(labels) * WORD
        raise ValueError(f"inputs must satisfy inputs <= {most} with {labels} labels: got inputs={inputs}")
    most = min(MOST_SEATS, MOST_AT_ONCE // (words + 2), MOST_COUNTED // labels)
    if not 1 <= seats <= most:
        raise ValueError(
            f"seats must satisfy 1 <= seats <= {most} with {inputs} inputs of {labels} labels: "
            f"got seats={seats}"
        )


def pack(votes: Ints, labels: int) -> list[int]:
    """Labels 0 to labels - 1 (-1 abstains) as the numbers of a ballot.

    Examples
    --------
    >>> import numpy as np
    >>> [bin(word) for word in pack(np.array([0, 1, 2, -1]), 3)]
    ['0b1010', '0b1100']
    """
    votes = np.asarray(votes)
    if votes.ndim != 1 or not np.issubdtype(votes.dtype, np.integer):
        raise ValueError("votes must be a row of whole numbers")
    planes = planes_of(labels)
    if votes.size and not (votes.min() >= ABSTAINED and votes.max() < labels):
        raise ValueError(f"votes must be labels 0 to {labels - 1}, or -1 to abstain")
    if labels == 1 << planes and (votes == ABSTAINED).any():
        raise ValueError(f"no vote can abstain where there are {labels} labels: all codes are labels")
    codes = np.where(votes == ABSTAINED, (1 << planes) - 1, votes).astype(np.int64)
    return [
        sum(1 << int(place) for place in np.flatnonzero(codes[start : start + WORD] >> plane & 1))
        for start in range(0, len(codes), WORD)
        for plane in range(planes)
    ]


def unpack(ballot: Sequence[int], inputs: int, labels: int) -> Ints:
    """The labels of a ballot; -1 where its code is none."""
    planes = planes_of(labels)
    codes = np.zeros(inputs, dtype=np.int64)
    for place in range(inputs):
        word, bit = divmod(place, WORD)
        codes[place] = sum((ballot[word * planes + plane] >> bit & 1) << plane for plane in range(planes))
    return np.where(codes < labels, codes, ABSTAINED)


def pack_mask(known: Bools) -> list[int]:
    """A row of yes and no, 256 a number."""
    return pack(np.asarray(known, dtype=np.int64), 2)


def plurality(ballots: Sequence[Ints], weights: Sequence[int], labels: int) -> Ints:
    """The label with the greatest sum of weights on each input, the lowest where some are level.

    Examples
    --------
    >>> import numpy as np
    >>> rows = [np.array([0, 1, 2]), np.array([1, 1, 0]), np.array([1, 2, -1])]
    >>> plurality(rows, [3, 1, 1], 3).tolist()
    [0, 1, 2]
    """
    votes, heavy = np.stack(ballots), np.asarray(weights, dtype=np.int64)[:, None]
    sums = np.stack([((votes == label) * heavy).sum(axis=0) for label in range(labels)])
    answer: Ints = sums.argmax(axis=0).astype(np.int64)
    return answer
