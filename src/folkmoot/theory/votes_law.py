"""The law of right first votes, in logs: scipy's Poisson binomial has -inf in the tails of 400 voters.

S_n is binomial for equal accuracies, else Poisson binomial.

Equations "hom Condorcet probability" and "2 PBN" of the paper. Logs throughout, so that tails far
below the smallest double keep their relative accuracy.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py, xlogy

from folkmoot import checks
from folkmoot.arrays import Floats
from folkmoot.theory.logsum import running_sum

# A number: every participant has this accuracy. A sequence: one accuracy per honest participant.
Accuracies: TypeAlias = float | npt.ArrayLike


def poisson_binomial(p: npt.ArrayLike) -> Floats:
    """P(S = b) for b = 0..len(p), where S counts the successes of independent trials with chances p.

    By direct convolution. Every term is positive, so each entry keeps a relative error of about
    len(p) rounding errors. (The error of the FFT is relative to the largest entry.) Quadratic
    in len(p): about 0.1 s for 10,000. Entries below 1e-308 vanish; see ``log_poisson_binomial``.

    ``p`` (trial,): The chance of success of each trial: the accuracies of the participants.
    """
    values = checks.accuracies(p)
    return _convolve(1.0 - values, values, one=1.0, zero=0.0, add=np.add, times=np.multiply)


def log_poisson_binomial(p: npt.ArrayLike) -> Floats:
    """log P(S = b), b = 0..len(p): ``poisson_binomial`` without a smallest number, ten times slower.

    ``p`` (trial,): The chance of success of each trial: the accuracies of the participants.
    """
    values = checks.accuracies(p)
    with np.errstate(divide="ignore"):
        wrong, right = np.log1p(-values), np.log(values)
    return _convolve(wrong, right, one=0.0, zero=-np.inf, add=np.logaddexp, times=np.add)


def _convolve(
    wrong: Floats, right: Floats, *, one: float, zero: float, add: np.ufunc, times: np.ufunc
) -> Floats:
    """The law of the count, one participant after another, in the number system given."""
    size = wrong.size
    law = np.full(size + 1, zero)
    law[0] = one
    shifted = np.empty(size + 1)
    for i in range(size):
        top = i + 2
        shifted[0] = zero
        times(law[: top - 1], right[i], out=shifted[1:top])
        times(law[:top], wrong[i], out=law[:top])
        add(law[:top], shifted[:top], out=law[:top])
    return law


def log_choose(n: int) -> Floats:
    """log C(n, b) for b = 0..n, exactly symmetric in b and n - b."""
    b = np.arange(1, n + 1, dtype=np.float64)
    logs = np.concatenate(([0.0], running_sum(np.log((n + 1 - b) / b))))
    return np.asarray((logs + logs[::-1]) / 2, dtype=np.float64)


def log_votes_law(p: Accuracies, honest: int) -> Floats:
    """log P(S = b), b = 0..honest, for a number p or one value per honest participant."""
    if np.ndim(p) == 0:
        chance = checks.probability("p", p)
        b = np.arange(honest + 1, dtype=np.float64)
        law = log_choose(honest) + xlogy(b, chance) + xlog1py(honest - b, -chance)
        return np.asarray(law, dtype=np.float64)
    return log_poisson_binomial(checks.accuracies(p, honest))
