"""Slush against the (super)majority: the control ratio, the sign of the gap, and where it changes.

With r the votes the majority needs and P(b) the law of the right first votes,

    P_Maj - P_S = sum_{b >= r} P(b) (1 - B_b)  -  sum_{b < r} P(b) B_b.

The coefficients of the binomial terms change sign once, from minus to plus, so for equal accuracies
the difference has at most one zero in 0 < p < 1 (variation diminishing of the Bernstein basis; the
paper leaves this open). That zero is p_th.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from folkmoot import checks
from folkmoot.arrays import Floats
from folkmoot.sampling import Everyone, Others
from folkmoot.theory.chain import SlushChain
from folkmoot.theory.logsum import logsum
from folkmoot.theory.votes_law import Accuracies, log_choose, log_votes_law


class Gap(NamedTuple):
    """A difference too small for a double: ``sign * exp(log_magnitude)``; sign 0 with -inf for none."""

    sign: int
    log_magnitude: float

    @property
    def value(self) -> float:
        """The difference as a double; 0.0 where it is smaller than those."""
        return self.sign * math.exp(self.log_magnitude)


def log_control_ratio(chain: SlushChain, p: Accuracies) -> Floats:
    """log kappa_b for b = 0..n-byzantine; nan where kappa_b would be 0/0 (see ``control_ratio``)."""
    c, n = chain.honest, chain.n
    b = np.arange(c + 1)
    mirror = n - b
    inside = mirror <= c  # S = n - b right votes are possible only up to c
    ratio = np.full(c + 1, np.nan)
    here, there = b[inside], mirror[inside]
    with np.errstate(invalid="ignore"):
        protocol = chain.log_red[here] - chain.log_blue[there]
        if np.ndim(p) == 0:
            # From logit p itself: exact for p near 1/2, where a difference of log-laws is not.
            choose = log_choose(c)
            chance = checks.probability("p", p)
            learners = choose[here] - choose[there] + (here - there) * logit(chance)
        else:
            law = log_votes_law(p, c)
            learners = law[here] - law[there]
        ratio[inside] = protocol + learners
    return ratio


def control_ratio(chain: SlushChain, p: Accuracies) -> Floats:
    """kappa_b = (R_b / B_{n-b}) (P(S=b) / P(S=n-b)), equation "def: control ratio", for b = 0..n-byzantine.

    Slush is more accurate than the majority if kappa_b < 1 for every b in ceil(n/2)..n-alpha, and
    less if all are above 1. nan where it is 0/0: for b > n - alpha, in frozen states, and for b < f.
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(log_control_ratio(chain, p)), dtype=np.float64)


def accuracy_gap(
    chain: SlushChain, p: Accuracies, *, delta: int = 0, q: float | Fraction | None = None
) -> Gap:
    """P_Maj - P_S as sign and log-magnitude, right where both are 1 to double precision.

    The term of b right votes is paired with that of n - b, as in the proof of theorem "Slush vs
    Majority hom": P(n-b) B_{n-b} (kappa_b - 1). What is left unpaired has one sign. For unequal p the
    ratios carry the rounding of the law of the votes: a gap below 1e-13 of its terms is noise.
    """
    needed = checks.required_votes(chain.n, delta, q)
    c, n = chain.honest, chain.n
    law = log_votes_law(p, c)
    lost = law + chain.log_not_blue  # b >= needed: the majority is right and Slush is not
    won = law + chain.log_blue  # b < needed: Slush is right and the majority is not
    b = np.arange(c + 1)
    paired = (b >= needed) & (n - b < needed) & np.isfinite(lost)
    paired[paired] = np.isfinite(won[n - b[paired]])
    partner = n - b[paired]
    kappa = log_control_ratio(chain, p)[paired]
    alone_lost = (b >= needed) & ~paired
    alone_won = b < needed
    alone_won[partner] = False

    # exp(x) - exp(y) = exp(y) (kappa - 1); for kappa > 1 as exp(x) (1 - 1/kappa), which cannot overflow.
    with np.errstate(divide="ignore"):
        sizes = np.maximum(lost[paired], won[partner]) + np.log(-np.expm1(-np.abs(kappa)))
    logs = np.concatenate((sizes, lost[alone_lost], won[alone_won]))
    signs = np.concatenate((np.sign(kappa), np.ones(alone_lost.sum()), -np.ones(alone_won.sum())))
    top = float(logs.max(initial=-math.inf))
    if math.isinf(top):
        return Gap(0, -math.inf)
    total = math.fsum((signs * np.exp(logs - top)).tolist())
    if total == 0:
        return Gap(0, -math.inf)
    return Gap(1 if total > 0 else -1, top + math.log(abs(total)))


def threshold_accuracy(
    n: int,
    k: int,
    alpha: int,
    *,
    delta: int | None = None,
    q: float | Fraction | None = None,
    byzantine: int = 0,
    sampling: Everyone | Others = Everyone(),
) -> float:
    """p_th, the accuracy at which Slush and the (super)majority are equally good (tables 1 to 3).

    Below p_th Slush is the more accurate, above it the majority; the crossing is unique. 1.0 if
    Slush is ahead for every p in (0, 1), 0.0 if the majority is, nan if the two never differ. ``sampling`` is
    the paper's ``Everyone()`` unless it is ``Others()``.
    """
    chain = SlushChain(n, k, alpha, byzantine=byzantine, sampling=sampling)
    needed = checks.required_votes(chain.n, delta, q)
    b = np.arange(chain.honest + 1, dtype=np.float64)
    choose = log_choose(chain.honest)
    lost = (choose + chain.log_not_blue)[needed:]
    won = (choose + chain.log_blue)[:needed]
    ahead, behind = bool(np.isfinite(won).any()), bool(np.isfinite(lost).any())
    if not (ahead and behind):
        return 1.0 if ahead else 0.0 if behind else math.nan

    def balance(theta: float) -> float:
        """log of what the majority gains over what it loses; its slope in theta = logit p is >= 1."""
        return logsum(lost + b[needed:] * theta) - logsum(won + b[:needed] * theta)

    from scipy.optimize import brentq  # here, as it doubles the time of ``import folkmoot.theory``

    # Slope >= 1 brackets the zero at once: it is no farther from 0 than the value there.
    start = balance(0.0)
    if start == 0:
        return 0.5
    low, high = (-start - 1.0, 0.0) if start > 0 else (0.0, -start + 1.0)
    theta = brentq(balance, low, high, xtol=1e-15, rtol=8.9e-16)
    return min(float(expit(theta)), math.nextafter(1.0, 0.0))  # 1.0 means that there is no crossing
