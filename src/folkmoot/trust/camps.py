"""Who speaks with one voice: copies of one vote vector, and camps whose members err together.

Ten participants who always say the same are one witness, not ten. Copies (a clique) are found by agreement.
Camps are subtler: honest models agree because they are often right, or wrong on the same hard inputs. So
votes are compared among inputs that are alike in difficulty: inputs are sorted by a score and cut into bins,
and what counts is the agreement beyond that of two who vote at random within each bin,

    R_jk = sum over bins b and colours c of n_jk(b, c) - n_j(b, c) n_k(b, c) / n(b),

scaled by sqrt(R_jj R_kk).

Average linkage joins those who correlate by more than a tenth. m members who correlate by rho are worth
m / (1 + (m - 1) rho) independent ones (Kish's design effect), which is each member's share of a voice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.arrays import Floats, Ints, Singles

COPY: Final = 0.97  # who agrees on this share of the inputs is a copy
CORRELATED: Final = 0.1  # residual correlation from which participants are one camp
_BINS: Final = 32
_PER_BIN: Final = 50  # inputs, at the least


@dataclass(frozen=True, eq=False)
class Camps:
    """The participants grouped into camps that err together, and how much of a voice each one has.

    Parameters
    ----------
    label : ndarray of int, shape (participant,)
        The number of each participant's camp; copies are in the same camp.
    cliques : tuple of tuple of int
        Participants whose votes are the same, up to 3%: groups of two and more.
    voice : ndarray of float, shape (participant,)
        1 for a participant that stands alone, less for members of camps; copies share one voice.

    See Also
    --------
    find_camps : Finds them in the votes.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.trust import Camps
    >>> camps = Camps(label=np.array([0, 1, 1]), cliques=((1, 2),), voice=np.array([1.0, 0.5, 0.5]))
    >>> float(camps.voice.sum())  # three participants, of which two are copies: two independent voices
    2.0
    """

    label: Ints
    cliques: tuple[tuple[int, ...], ...]
    voice: Floats


def copies(agreements: Ints) -> Ints:
    """(participant,): the first participant whose votes each repeats; itself if it repeats nobody's.

    ``agreements`` are those of ``agreement_counts``: measured against the one who voted more often.
    """
    cast = np.diag(agreements)
    n = len(cast)
    original = np.full(n, -1)
    for j in range(n):
        if original[j] < 0:
            alike = agreements[j] >= COPY * np.maximum(np.maximum(cast, cast[j]), 1)
            original[alike & (original < 0)] = j
            original[j] = j
    return original


def find_camps(one_hot: Singles, agreements: Ints, score: Floats, side: Ints | None = None) -> Camps:
    """Find who errs together, and how much of a voice each participant has.

    Participants are in one camp if they agree on inputs of the same difficulty more often than two that vote
    at random there. The top of ``folkmoot/trust/camps.py`` has the formula.

    Parameters
    ----------
    one_hot : ndarray of float32, shape (participant, colour, input)
        The votes: 1 where the participant named the colour, else 0.
    agreements : ndarray of int, shape (participant, participant)
        The same votes as ``agreement_counts`` counts them.
    score : ndarray of float, shape (colour, input)
        How much speaks for each colour of each input. It tells how clear an input is, and for which colour.
    side : ndarray of int, shape (participant,), optional
        1 for those that are trusted, -1 for the distrusted, 0 for the others. Two on different sides are in
        different camps: both explain the score, which would make them look alike. Default: all on one side.

    Returns
    -------
    Camps
        The camp of each participant, the groups of copies, and each one's voice.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.datasets import homogeneous_votes
    >>> from folkmoot.trust import agreement_counts, find_camps, pack_votes
    >>> votes = homogeneous_votes(5, p=0.7, inputs=1000).votes
    >>> votes[4] = votes[3]
    >>> one_hot = (votes[:, None] == np.arange(2)[:, None]).astype(np.float32)
    >>> camps = find_camps(one_hot, agreement_counts(pack_votes(votes)), one_hot.sum(axis=0, dtype=float))
    >>> camps.cliques
    ((3, 4),)
    >>> camps.voice
    array([1. , 1. , 1. , 0.5, 0.5])
    """
    original = copies(agreements)
    first, place = np.unique(original, return_inverse=True)
    correlation = residual_correlation(one_hot[first], agreements[np.ix_(first, first)], score)
    if side is not None:
        apart = side[first][:, None] != side[first][None, :]
        correlation[apart] = -1.0
    inputs = one_hot.shape[2]
    group = link(correlation, max(CORRELATED, 3 / np.sqrt(inputs)))

    voice = np.ones(len(first))
    for camp in range(group.max() + 1):
        members = np.flatnonzero(group == camp)
        size = len(members)
        if size > 1:
            rho = (correlation[np.ix_(members, members)].sum() - size) / (size * (size - 1))
            voice[members] = 1 / (1 + (size - 1) * max(rho, 0.0))
    sharing = np.bincount(place, minlength=len(first))
    cliques = [tuple(np.flatnonzero(place == k).tolist()) for k in np.flatnonzero(sharing > 1)]
    return Camps(group[place], tuple(cliques), (voice / sharing)[place])


def residual_correlation(one_hot: Singles, agreements: Ints, score: Floats) -> Floats:
    """R scaled to 1 on the diagonal; 0 for who always votes alike on inputs of one bin."""
    n, classes, inputs = one_hot.shape
    bins = _bins(score, inputs)
    sizes = bins.sum(axis=0)
    counts = (one_hot.reshape(n * classes, inputs) @ bins).reshape(n, -1).astype(np.float64)
    scaled = counts / np.sqrt(np.tile(sizes, classes))
    covariance = agreements - scaled @ scaled.T
    spread = np.diag(covariance).copy()
    silent = spread < 1e-3 * inputs
    spread[silent] = 1.0
    correlation: Floats = covariance / np.sqrt(np.outer(spread, spread))
    correlation[silent] = correlation[:, silent] = 0.0
    np.fill_diagonal(correlation, 1.0)
    return correlation


def link(similarity: Floats, least: float) -> Ints:
    """Average linkage: the two most similar groups are joined while their mean similarity is ``least``."""
    n = len(similarity)
    pairs = similarity.copy()
    np.fill_diagonal(pairs, -np.inf)
    size = np.ones(n)
    group = np.arange(n)
    while True:
        i, j = divmod(int(pairs.argmax()), n)
        if not pairs[i, j] >= least:
            break
        joined = (size[i] * pairs[i] + size[j] * pairs[j]) / (size[i] + size[j])
        pairs[i] = pairs[:, i] = joined
        pairs[i, i] = -np.inf
        pairs[j] = pairs[:, j] = -np.inf
        size[i] += size[j]
        group[group == j] = i
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _bins(score: Floats, inputs: int) -> Singles:
    """(input, bin): 1 for the bin of each input; by the colour ahead, then by how far it is ahead.

    With many colours and few inputs a bin must not mix colours: those who are right would seem to err
    together.
    """
    if len(score) == 2:
        order = np.argsort(score[1] - score[0], kind="stable")
        number = max(1, min(_BINS, inputs // _PER_BIN))
        place = np.arange(inputs) * number // inputs
    else:
        ahead = np.sort(score, axis=0)
        colour = score.argmax(axis=0)
        order = np.lexsort((ahead[-1] - ahead[-2], colour))
        sizes = np.bincount(colour, minlength=len(score))
        each = np.clip(sizes // _PER_BIN, 1, max(1, _BINS // len(score)))
        within = np.concatenate(
            [np.arange(size) * cuts // max(size, 1) for size, cuts in zip(sizes, each, strict=True)]
        )
        place = within + np.repeat(np.cumsum(each) - each, sizes)
        number = int(each.sum())
    bins = np.zeros((inputs, number), dtype=np.float32)
    bins[order, place] = 1.0
    return bins[:, bins.any(axis=0)]
