"""From agreement to accuracy: how good a peer must be, given how good I am and how often we agree.

If i and j err independently, i is right with the chance p_i, and a wrong answer is any of the C - 1 others,

    A_ij = p_i p_j + (1 - p_i)(1 - p_j) / (C - 1)   =>   p_j = ((C - 1) A_ij - (1 - p_i)) / (C p_i - 1)

With confusion matrices, J[a, b] = P(i says a, j says b) = sum_c prior[c] K_i[c, a] K_j[c, b], so that
diag(prior) K_j = (K_i^T)^-1 J: a linear solve, whose row sums are the prior. Standard errors are by the delta
method, from the sampling of J over the inputs and from the posterior of the own anchor; they are derived in
docs/trust.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.trust.anchor import Anchor
from folkmoot.trust.counting import PackedVotes, agreement_counts, both_voted, joint_counts


@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimate for each participant, and how uncertain it is; nan where two never voted together.

    Parameters
    ----------
    value : ndarray of float, shape (participant, ...)
        A number for each participant, or a matrix.
    standard_error : ndarray of float, shape (participant, ...)
        Its error, from the sampling of inputs and from the participant's own anchor.
    sampling_error : ndarray of float, shape (participant, ...)
        Its error from the sampling of inputs alone: what the anchor adds is common to all and ranks nobody.

    See Also
    --------
    peer_accuracies : Estimates accuracies.
    peer_confusions : Estimates confusion matrices.

    Examples
    --------
    >>> from folkmoot.trust import Anchor, pack_votes, peer_accuracies
    >>> packed = pack_votes([[0, 1, 1, 0], [0, 1, 1, 1]])
    >>> estimate = peer_accuracies(packed, own=0, anchor=Anchor.of_counts(right=8, held_out=10))
    >>> estimate.value
    array([0.75, 1.  ])
    >>> estimate.sampling_error.round(2)
    array([0.  , 0.43])
    """

    value: Floats
    standard_error: Floats
    sampling_error: Floats


def peer_accuracies(packed: PackedVotes, own: int, anchor: Anchor) -> Estimate:
    """Estimate everybody's accuracy from how often it agrees with participant ``own``.

    With C colours, the accuracy p_i of the anchor and the share A_ij of equal votes,
    p_j = ((C - 1) A_ij - (1 - p_i)) / (C p_i - 1). It is not clipped: errors in common can put it above 1.

    Parameters
    ----------
    packed : PackedVotes
        Votes from ``pack_votes``.
    own : int
        The participant that listens.
    anchor : Anchor
        What it knows of its own accuracy. That must differ from chance: at 1/C agreement tells nothing.

    Returns
    -------
    Estimate
        The accuracy of every participant; that of ``own`` is the anchor's.

    Raises
    ------
    ValueError
        If the anchor's accuracy is 1/C.

    Examples
    --------
    >>> from folkmoot.datasets import group_votes
    >>> from folkmoot.trust import Anchor, pack_votes, peer_accuracies
    >>> votes = group_votes([(3, 0.9), (1, 0.6)], inputs=5000).votes
    >>> found = peer_accuracies(pack_votes(votes), own=0, anchor=Anchor.of_counts(right=90, held_out=100))
    >>> found.value.round(2)
    array([0.89, 0.91, 0.92, 0.6 ])
    """
    classes, p = anchor.classes, anchor.accuracy
    slope = classes * p - 1
    if slope == 0:
        raise ValueError(
            f"the anchor's accuracy must differ from chance, where agreement tells nothing: got 1/{classes}"
        )
    both = both_voted(packed, own)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = agreement_counts(packed, own) / both
        value = ((classes - 1) * share - (1 - p)) / slope
        sampling = ((classes - 1) / slope) ** 2 * share * (1 - share) / both
    anchored = ((1 - classes * value) / slope * anchor.standard_error) ** 2
    error = np.sqrt(sampling + anchored)
    value[own], error[own] = p, anchor.standard_error
    return Estimate(value, error, np.sqrt(sampling))


def peer_confusions(packed: PackedVotes, own: int, anchor: Anchor) -> Estimate:
    """Estimate everybody's confusion matrix from its votes and those of participant ``own``.

    It is a linear solve (the top of ``folkmoot/trust/estimators.py`` has the equation) and is not clipped:
    cells can leave [0, 1] by their error. For two colours the diagonal is specificity and sensitivity.

    Parameters
    ----------
    packed : PackedVotes
        Votes from ``pack_votes``.
    own : int
        The participant that listens.
    anchor : Anchor
        What it knows of its own confusion matrix.

    Returns
    -------
    Estimate
        Matrices of the shape (participant, true colour, vote); that of ``own`` is the anchor's. A colour that
        never occurs by the votes of ``own`` has a row of nan.

    Examples
    --------
    >>> from folkmoot.datasets import group_votes
    >>> from folkmoot.trust import Anchor, pack_votes, peer_confusions
    >>> votes = group_votes([(3, 0.9), (1, 0.6)], inputs=5000).votes
    >>> found = peer_confusions(pack_votes(votes), own=0, anchor=Anchor.of_counts(right=90, held_out=100))
    >>> found.value[3].round(2)
    array([[0.59, 0.41],
           [0.4 , 0.6 ]])
    """
    mine = anchor.confusion
    counts = joint_counts(packed, own).astype(np.float64)
    total = counts.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = counts / total[:, None, None]
        solve = np.asarray(np.linalg.inv(mine.T), dtype=np.float64)
        mass = np.einsum("ca,jab->jcb", solve, joint)
        prior = mass.sum(axis=2)
        prior = np.where(np.abs(prior) < 1e-9, np.nan, prior)
        value = mass / prior[:, :, None]

        # Sampling: value is mass / prior, both linear in J, which is a multinomial share of ``total`` inputs.
        # mass - value * prior has the mean 0, so its variance is the mean square of its coefficients.
        squares = np.einsum("ca,jab->jcb", solve**2, joint)
        rest = squares.sum(axis=2)[:, :, None] - squares
        sampling = (squares * (1 - value) ** 2 + rest * value**2) / total[:, None, None]

        # Anchor: dK_i[t, a] moves mass[c, b] by -solve[c, a] mass[t, b], prior[c] by -solve[c, a] prior[t].
        moved = _row_variances(anchor.pseudo_counts, solve)  # (c, t)
        lever = mass[:, None, :, :] - value[:, :, None, :] * prior[:, None, :, None]  # (j, c, t, b)
        anchored = np.einsum("ct,jctb->jcb", moved, lever**2)
        error = np.sqrt(sampling + anchored) / np.abs(prior)[:, :, None]
        drawn = np.sqrt(sampling) / np.abs(prior)[:, :, None]
    value[own] = mine
    strength = anchor.pseudo_counts.sum(axis=1, keepdims=True)
    error[own] = np.sqrt(mine * (1 - mine) / (strength + 1))
    return Estimate(value, error, drawn)


def _row_variances(pseudo: Floats, solve: Floats) -> Floats:
    """Variance of sum_a solve[c, a] K[t, a] when row t of K is Dirichlet: (c, t)."""
    strength = pseudo.sum(axis=1)
    mean = pseudo / strength[:, None]
    second = solve**2 @ mean.T
    variance: Floats = (second - (solve @ mean.T) ** 2) / (strength + 1)
    return variance
