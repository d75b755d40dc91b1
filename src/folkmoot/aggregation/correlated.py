"""Groups of participants that count once: copies, and groups whose members err together.

Ten participants that always say the same are one witness, not ten. Groups are subtler: honest models agree
because they are often right, or wrong on the same hard inputs. So votes are compared among inputs that are
alike in difficulty. Inputs are sorted by a score and cut into bins, and what counts is the agreement beyond
that of two who vote at random within each bin,

    R_jk = sum over bins b and classes c of n_jk(b, c) - n_j(b, c) n_k(b, c) / n(b),

scaled by sqrt(R_jj R_kk). Average linkage joins those that correlate. If m members correlate by rho, they are
worth m / (1 + (m - 1) rho) independent ones (Kish's design effect), which they share alike.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from folkmoot.arrays import Floats, Ints, Singles

# Correlation from which participants are one group. Less joins honest models of like data, more leaves liars
# that agree on a quarter of the inputs (stealthy ones) as many voices.
_CORRELATED: Final = 0.1
# Standard errors of a correlation of independent votes by which it must differ from 0.
_SURE: Final = 3.0
# Bins of difficulty, and inputs in each at the least: fewer bins mix easy inputs with hard ones, on which
# honest models seem to err together; smaller ones compare votes with themselves.
_BINS: Final = 32
_PER_BIN: Final = 50


def groups(one_hot: Singles, copies: Ints, alike: Floats, score: Floats, side: Ints) -> tuple[Ints, Floats]:
    """(participant,): the group of each, and its share of a voice.

    ``one_hot`` (participant, class, input) are the votes, ``copies`` numbers those whose votes are the same.
    ``alike`` (participant, participant) says on how many inputs two agree, ``score`` (class, input) how much
    speaks for each class. ``side`` is 1 for those that are believed,
    -1 for those read backwards, 0 for the others. Both sides explain the score, which makes them look alike,
    so nobody is in a group with the other side.
    """
    _, first, place, sharing = np.unique(copies, return_index=True, return_inverse=True, return_counts=True)
    different = one_hot if len(first) == len(one_hot) else one_hot[first]
    correlation = residual_correlation(different, alike[np.ix_(first, first)], score)
    correlation[side[first][:, None] != side[first][None, :]] = -1.0
    least = max(_CORRELATED, _SURE / np.sqrt(one_hot.shape[2]))
    group = _linked(correlation, least)
    voice = np.ones(len(first))
    for number in np.flatnonzero(np.bincount(group) > 1):
        members = np.flatnonzero(group == number)
        size = len(members)
        rho = (correlation[np.ix_(members, members)].sum() - size) / (size * (size - 1))
        voice[members] = 1 / (1 + (size - 1) * max(rho, 0.0))
    return group[place], (voice / sharing)[place]


def _linked(similarity: Floats, least: float) -> Ints:
    """(participant,): average linkage, while the mean similarity of two groups is at least that."""
    if len(similarity) < 2:
        return np.zeros(len(similarity), dtype=np.int64)
    from scipy.cluster.hierarchy import fcluster, linkage  # heavy, and few aggregations look for groups
    from scipy.spatial.distance import squareform

    apart = squareform(1 - similarity, checks=False)
    return np.asarray(fcluster(linkage(apart, "average"), 1 - least, "distance"), dtype=np.int64)


def residual_correlation(one_hot: Singles, alike: Floats, score: Floats) -> Floats:
    """R scaled to 1 on the diagonal; 0 for one that always votes alike on inputs of one bin."""
    n, classes, inputs = one_hot.shape
    bins = _bins(score, inputs)
    counts = (one_hot.reshape(n * classes, inputs) @ bins).reshape(n, -1).astype(np.float64)
    scaled = counts / np.sqrt(np.tile(bins.sum(axis=0), classes))
    covariance = alike - scaled @ scaled.T
    spread = np.diag(covariance).copy()
    silent = spread < 1e-3 * inputs
    spread[silent] = 1.0
    correlation: Floats = covariance / np.sqrt(np.outer(spread, spread))
    correlation[silent] = correlation[:, silent] = 0.0
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _bins(score: Floats, inputs: int) -> Singles:
    """(input, bin): 1 for the bin of each input; by the class ahead, then by how far it is ahead.

    With many classes and few inputs a bin must not mix classes: those that are right would seem to err
    together. Of two classes the lead tells which is ahead.
    """
    if len(score) == 2:
        ahead = np.zeros(inputs, dtype=np.int64)
        lead = score[1] - score[0]
    else:
        ahead = score.argmax(axis=0)
        lead = np.subtract(*np.sort(score, axis=0)[:-3:-1])
    order = np.lexsort((lead, ahead))
    sizes = np.bincount(ahead, minlength=len(score))
    cuts = np.clip(sizes // _PER_BIN, 1, max(1, _BINS // len(np.unique(ahead))))
    place = [
        start + np.arange(size) * each // max(size, 1)
        for start, size, each in zip(np.cumsum(cuts) - cuts, sizes, cuts, strict=True)
    ]
    bins = np.zeros((inputs, int(cuts.sum())), dtype=np.float32)
    bins[order, np.concatenate(place)] = 1.0
    return bins[:, bins.any(axis=0)]
