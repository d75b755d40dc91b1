"""How often participants agree, counted in bits: a vote on 64 inputs is one word per colour.

Two participants agree on an input when the bit of the same colour is set in both: AND and a population
count do 64 inputs at once, exactly, and a missing vote (-1) has no bit and agrees with nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Ints, Words
from folkmoot.votes import Votes, check_votes, class_count


@dataclass(frozen=True, eq=False)
class PackedVotes:
    """Votes as bits: ``words[j, c]`` has a bit for every input on which participant j named colour c."""

    words: Words  # (participant, colour, word)
    inputs: int

    @property
    def cast(self) -> Ints:
        """(participant, colour): how often each named each colour."""
        return _bits(self.words, 2)


def pack_votes(votes: npt.ArrayLike, classes: int | None = None) -> PackedVotes:
    """Pack votes into bits, one per vote and colour, padded with zeros to whole words.

    Parameters
    ----------
    votes : array-like of int, shape (participant, input)
        The colour that each participant names, -1 for none.
    classes : int, optional
        The number of colours. Default: one more than the largest vote, and at least 2.

    Returns
    -------
    PackedVotes
        The bits (``words``), the number of ``inputs``, and how often each colour was named (``cast``).

    Examples
    --------
    >>> from folkmoot.trust import pack_votes
    >>> packed = pack_votes([[0, 1, -1], [1, 1, 0]])
    >>> packed.cast
    array([[1, 1],
           [1, 2]])
    """
    cast = check_votes(votes, classes)
    return PackedVotes(_words(cast, class_count(cast, classes)), cast.shape[1])


def agreement_counts(packed: PackedVotes, own: int | None = None) -> Ints:
    """Count on how many inputs two participants named the same colour.

    Parameters
    ----------
    packed : PackedVotes
        Votes from ``pack_votes``.
    own : int, optional
        Compare this participant with everybody. Default: compare all pairs.

    Returns
    -------
    ndarray of int, shape (participant, participant) or (participant,)
        The counts; with ``own``, one row of them. The diagonal (or entry ``own``) counts the votes cast.

    Examples
    --------
    >>> from folkmoot.trust import agreement_counts, pack_votes
    >>> packed = pack_votes([[0, 1, -1], [1, 1, 0]])
    >>> agreement_counts(packed)
    array([[2, 1],
           [1, 3]])
    >>> agreement_counts(packed, own=0)
    array([2, 1])
    """
    words = packed.words
    if own is not None:
        return _bits(words & words[own], (1, 2))
    n = len(words)
    flat = words.reshape(n, -1)
    table = np.zeros((n, n), dtype=np.int64)
    for j in range(n):
        table[j, j:] = _bits(flat[j:] & flat[j], 1)
    return np.maximum(table, table.T)


def both_voted(packed: PackedVotes, own: int) -> Ints:
    """On how many inputs ``own`` and each participant both voted at all."""
    any_colour = np.bitwise_or.reduce(packed.words, axis=1)
    return _bits(any_colour & any_colour[own], 1)


def joint_counts(packed: PackedVotes, own: int) -> Ints:
    """(participant, own colour, its colour): on how many inputs each pair of colours was named."""
    mine = packed.words[own]
    return _bits(mine[None, :, None, :] & packed.words[:, None, :, :], 3)


def _bits(words: Words, axis: int | tuple[int, ...]) -> Ints:
    return np.asarray(np.bitwise_count(words).sum(axis=axis, dtype=np.int64))


def _words(votes: Votes, classes: int) -> Words:
    n, inputs = votes.shape
    padded = -(-inputs // 64) * 64
    bits = np.zeros((n, classes, padded), dtype=np.bool_)
    np.equal(votes[:, None, :], np.arange(classes)[None, :, None], out=bits[:, :, :inputs])
    return np.packbits(bits, axis=2).view(np.uint64)
