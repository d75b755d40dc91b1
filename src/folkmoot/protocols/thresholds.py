"""Local thresholds: how many answers a participant wants before it gives up its own (section 5).

Definition "strong confidence": a participant of accuracy p > 1/2 has strong confidence if its
threshold satisfies alpha >= k p.

Nobody knows p beforehand on inputs unlike the rows held out. So an accuracy from a holdout counts only as far
as the batch confirms it (``batch_accuracies``). Own rows tell nothing about reading another's, but
disagreement with nearly everybody does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Floats, Ints
from folkmoot.outcome import wilson_bound
from folkmoot.votes import check_votes

# Standard deviations. Each bound then holds in 80% of the cases, as for trust by holdout.
_SURE: Final = 0.8416


@dataclass(frozen=True, repr=False)
class StrongConfidence:
    """The ``alpha`` of a protocol that gives every participant the threshold that its accuracy asks for.

    The better a participant is, the more answers it wants before it gives up its own (section 5).

    Parameters
    ----------
    p : array-like of float, shape (participant,), optional
        The accuracy of each participant. Default: not known yet; an estimator fills in what its holdouts and
        the batch tell (``of_holdout``).

    Examples
    --------
    >>> from folkmoot import Slush, StrongConfidence
    >>> protocol = Slush(k=10, alpha=StrongConfidence([0.5, 0.7, 0.95]))
    >>> protocol.thresholds(3)
    array([ 6,  7, 10])
    """

    p: tuple[float, ...] | None

    def __init__(self, p: npt.ArrayLike | None = None) -> None:
        object.__setattr__(self, "p", None if p is None else tuple(checks.accuracies(p).tolist()))

    @classmethod
    def of_holdout(
        cls, right: npt.ArrayLike, held_out: npt.ArrayLike, votes: npt.ArrayLike | None = None
    ) -> StrongConfidence:
        """From rows that each participant held out and, if given, the first votes on the batch.

        The accuracies are those of ``batch_accuracies``.

        Parameters
        ----------
        right : array-like of int, shape (participant,)
            Right answers of each on its held-out rows.
        held_out : array-like of int, shape (participant,)
            Held-out rows of each; 0 gives it the least threshold.
        votes : array-like of int, shape (participant, input), optional
            The first votes on the batch, -1 for none.

        Returns
        -------
        StrongConfidence
            With an accuracy for each participant.

        Examples
        --------
        Three held out 20 rows and had all of them right, but on these inputs they seldom agree:

        >>> from folkmoot import StrongConfidence
        >>> StrongConfidence.of_holdout([20, 20, 20], [20, 20, 20]).thresholds(k=10)
        array([10, 10, 10])
        >>> votes = [[0, 1, 2, 3, 4, 5, 6, 7], [0, 2, 3, 4, 5, 6, 7, 8], [0, 3, 4, 5, 6, 7, 8, 9]]
        >>> StrongConfidence.of_holdout([20, 20, 20], [20, 20, 20], votes).thresholds(k=10)
        array([6, 6, 6])
        """
        return cls(batch_accuracies(right, held_out, votes))

    def thresholds(self, k: int) -> Ints:
        """The least threshold of strong confidence for each accuracy: max(floor(k/2)+1, ceil(k p)).

        It never exceeds k, since p <= 1. Accuracies are read as the decimals they print as: k=10,
        p=0.7 gives 7, not the 8 that binary rounding of 10 * 0.7 could give.
        """
        if self.p is None:
            raise ValueError(
                "StrongConfidence() has no accuracies: give them, StrongConfidence(p); in an estimator they "
                "come from the holdout"
            )
        return strong_thresholds(np.asarray(self.p, dtype=np.float64), checks.integer("k", k, least=1))

    def restricted(self, participants: Sequence[int]) -> StrongConfidence:
        """The same among some of the participants."""
        return self if self.p is None else StrongConfidence([self.p[i] for i in participants])

    def __repr__(self) -> str:
        return "StrongConfidence()" if self.p is None else f"StrongConfidence({list(self.p)})"


def batch_accuracies(
    right: npt.ArrayLike,
    held_out: npt.ArrayLike,
    votes: npt.ArrayLike | None = None,
    participants: Sequence[int] | None = None,
) -> Floats:
    """The accuracy on a batch that each participant can claim: what its holdout shows and its peers bear out.

    It is the smaller of two bounds. One is the lower bound of its accuracy by the rows that it held out. The
    other is the upper bound of its agreement with a typical peer. That is the median over the peers of the
    share of inputs on which both name the same. The fewer inputs there are, the less the second says: it is 1
    if there are none.

    Votes of the malicious cannot raise what a participant claims above its holdout. While fewer than half of
    its peers lie they cannot lower it below its agreement with some honest peer. However many there are, the
    threshold stays one of a majority: strong confidence is then one alpha for all.

    ``right`` and ``held_out`` (participant,): right answers of each on its held-out rows, and how many rows.
    ``votes`` (voter, input): the first votes on the batch, -1 for none. Default: only the holdouts count.
    """
    rows = np.asarray(held_out)
    good = np.asarray(right)
    if good.shape != rows.shape or good.ndim != 1:
        raise ValueError(
            f"right and held_out must hold one number per participant: got {good.shape} and {rows.shape}"
        )
    if ((good < 0) | (good > rows)).any():
        raise ValueError("right must satisfy 0 <= right <= held_out for each participant")
    shown = wilson_bound(good, rows, _SURE)
    if votes is None:
        return shown
    if participants is None and len(np.asarray(votes)) != len(rows):
        raise ValueError(f"votes must have a row per participant ({len(rows)}): got {len(np.asarray(votes))}")
    whose = range(len(rows)) if participants is None else participants
    return np.minimum(shown, _agreement_bounds(votes, whose))


def _agreement_bounds(votes: npt.ArrayLike, whose: Sequence[int]) -> Floats:
    """The upper bound of the agreement of each of these with a typical peer; 1 if it has none."""
    cast = check_votes(votes)
    bounds = np.ones(len(whose))
    for place, own in enumerate(whose):
        both = ((cast >= 0) & (cast[own] >= 0)).sum(axis=1)
        both[own] = 0
        peers = both > 0
        if peers.any():
            alike = ((cast == cast[own]) & (cast >= 0)).sum(axis=1)
            share = np.median(alike[peers] / both[peers])
            inputs = np.median(both[peers])
            bounds[place] = wilson_bound(share * inputs, inputs, -_SURE)
    return bounds


def strong_thresholds(p: Floats, k: int) -> Ints:
    """The same of accuracies in an array of any shape."""
    wanted = k * p
    alphas = np.ceil(wanted).astype(np.int64)
    # Only near a whole number can the rounding of the product, or of the decimal, change what is above it.
    for place in np.argwhere(np.abs(wanted - np.round(wanted)) < 1e-9 * k):
        alphas[tuple(place)] = math.ceil(k * Fraction(repr(float(p[tuple(place)]))))
    return np.maximum(checks.least_alpha(k), alphas)
