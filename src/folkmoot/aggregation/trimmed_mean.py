"""Trimmed mean: in every coordinate drop the ``trim`` lowest and highest values, average the rest.

Dolev et al. (1986) for approximate agreement, Yin, Chen, Ramchandran and Bartlett, "Byzantine-robust
distributed learning: towards optimal statistical rates" (2018) for learning.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot import checks
from folkmoot.aggregation.rule import Trimming, added
from folkmoot.arrays import Floats


@dataclass(frozen=True)
class TrimmedMean(Trimming):
    """The mean of what is left when the lowest and highest values are dropped, in every coordinate.

    This is the rule to take: the only one here that both stays in the honest range and always draws honest
    nodes nearer to each other.

    **Validity.** With at most ``trim`` liars among the m values, the result lies in the range of the honest
    ones, coordinate by coordinate: whatever is kept has at least trim + 1 values on either side of it, itself
    included, and one of these is honest. This holds to the last bit, on every processor.

    **Contraction.** The method ``contraction`` says by how much the honest nodes draw nearer in a round, and
    proves it.

    Parameters
    ----------
    trim : int, optional
        How many of the lowest and how many of the highest values to drop; 2 trim < m. Without it,
        floor((m - 1) / 3).

    Examples
    --------
    >>> from folkmoot.aggregation import TrimmedMean
    >>> TrimmedMean().combine([[0.0], [1.0], [2.0], [99.0]])
    array([1.5])
    >>> TrimmedMean().contraction(n=10, byzantine=2)
    0.5
    """

    def _combine(self, block: Floats) -> Floats:
        return mean_of_the_middle(block, self.trimmed(block.shape[1]))

    def contraction(self, n: int, byzantine: int) -> float:
        """c with diameter(next round) <= c diameter(this round), among n nodes of which all ask all others.

        c = f / (n - 2 trim) for f liars, f <= trim; below 1 for the default trim, as n > 3 trim.

        Proof, in one coordinate. Two honest nodes hold a_1 <= ... <= a_n and b_1 <= ... <= b_n, which have
        the n - f honest numbers in common. At least s + f of the b's are at most b_(s+f), at least s of these
        are among the a's, so a_s <= b_(s+f). The first node averages a_s over trim < s <= n - trim. Set each
        a_s off against b_(s+f): what remains of the a's are the last f kept, of the b's the first f kept.
        All of them lie in the honest range (validity), so each of the f pairs differs by at most the
        diameter, and the means by at most f / (n - 2 trim) of it. (If f > n - 2 trim, c is 1: validity.)

        The bound is attained when f honest numbers stand at either end and the liars tell each node the
        end on its own side (``Stalling``).
        """
        f = checks.integer("byzantine", byzantine, least=0)
        trim = self.trimmed(checks.integer("n", n, least=1))
        if f > trim:
            raise ValueError(f"byzantine must satisfy byzantine <= trim: got byzantine={f}, trim={trim}")
        return min(1.0, f / (n - 2 * trim))


def mean_of_the_middle(block: Floats, trim: int) -> Floats:
    """The mean over axis 1 without the ``trim`` lowest and highest, coordinate by coordinate."""
    kept = np.sort(block, axis=1)[:, trim : block.shape[1] - trim]
    # Rounding must not carry the mean out of the range: a third of 0.1 + 0.1 + 0.1 is above 0.1.
    return np.asarray(np.clip(added(kept) / kept.shape[1], kept[:, 0], kept[:, -1]))
