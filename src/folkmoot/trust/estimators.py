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
    """A number (or a matrix) per participant, and how uncertain it is; nan where two never voted together."""

    value: Floats
    standard_error: Floats
    """From the sampling of inputs and from the own anchor."""
    sampling_error: Floats
    """From the sampling of inputs alone: what the anchor adds is common to all and ranks nobody."""


def peer_accuracies(packed: PackedVotes, own: int, anchor: Anchor) -> Estimate:
    """Accuracy of every participant by the first formula, as it comes: errors in common can put it above 1.

    The own entry is the anchor itself. The anchor must be off chance: at p_i = 1/C agreement tells nothing.
    """
    colours, p = anchor.classes, anchor.accuracy
    slope = colours * p - 1
    if slope == 0:
        raise ValueError(
            f"the anchor's accuracy must differ from chance, where agreement tells nothing: got 1/{colours}"
        )
    both = both_voted(packed, own)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = agreement_counts(packed, own) / both
        value = ((colours - 1) * share - (1 - p)) / slope
        sampling = ((colours - 1) / slope) ** 2 * share * (1 - share) / both
    anchored = ((1 - colours * value) / slope * anchor.standard_error) ** 2
    error = np.sqrt(sampling + anchored)
    value[own], error[own] = p, anchor.standard_error
    return Estimate(value, error, np.sqrt(sampling))


def peer_confusions(packed: PackedVotes, own: int, anchor: Anchor) -> Estimate:
    """Confusion matrix (true colour, vote) of every participant by the linear solve, as it comes.

    For two colours the diagonal is specificity and sensitivity. Cells can leave [0, 1] by their error. A
    colour that the own votes say never occurs has no row (nan).
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
