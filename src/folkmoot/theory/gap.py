"""Slush against the (super)majority: the control ratio, the sign of the gap, and where it changes.

With r the votes the majority needs and P(b) the law of the right first votes,

    P_Maj - P_S = sum_{b >= r} P(b) (1 - B_b)  -  sum_{b < r} P(b) B_b,

where for even n a tie, b = n/2, adds P(b) (1/2 - B_b) instead. The coefficients of the binomial terms
change sign once, from minus to plus. So for equal accuracies the difference has at most one zero in
0 < p < 1. (The Bernstein basis diminishes variation; the paper leaves this open.) That zero is p_th.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from folkmoot import checks
from folkmoot.arrays import Floats
from folkmoot.protocols.sampling import Everyone, Others
from folkmoot.theory.chain import SlushChain
from folkmoot.theory.logsum import logsum
from folkmoot.theory.votes_law import Accuracies, log_choose, log_votes_law


class Gap(NamedTuple):
    """A difference, also one too small for a double: ``sign * exp(log_magnitude)``.

    Parameters
    ----------
    sign : {-1, 0, 1}
        The sign of the difference; 0 if there is none.
    log_magnitude : float
        The logarithm of its absolute value; -inf if there is no difference.

    Examples
    --------
    >>> from folkmoot.theory.gap import Gap
    >>> Gap(sign=-1, log_magnitude=0.0).value
    -1.0
    >>> Gap(sign=1, log_magnitude=-1000.0).value
    0.0
    """

    sign: int
    log_magnitude: float

    @property
    def value(self) -> float:
        """The difference as a double; 0.0 where it is smaller than those."""
        return self.sign * math.exp(self.log_magnitude)


def log_control_ratio(chain: SlushChain, p: Accuracies) -> Floats:
    """log kappa_b for b = 0..n-byzantine; nan where kappa_b would be 0/0 (see ``control_ratio``).

    ``p`` (honest,): The accuracy of every honest participant, or one value for each.
    """
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
    less if all are above 1. It is nan where it is 0/0: for b > n - alpha, in frozen states, and for b < f.

    ``p`` (honest,): The accuracy of every honest participant, or one value for each.
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(log_control_ratio(chain, p)), dtype=np.float64)


def accuracy_gap(
    chain: SlushChain, p: Accuracies, *, delta: int = 0, q: float | Fraction | None = None
) -> Gap:
    """P_Maj - P_S as sign and log-magnitude, right where both are 1 to double precision.

    The term of b right votes is paired with that of n - b. So does the proof of theorem "Slush vs
    Majority hom": P(n-b) B_{n-b} (kappa_b - 1). The unpaired rest has one sign. For unequal p the
    ratios carry the rounding of the law of the votes: a gap below 1e-13 of its terms is noise. A tie
    is its own partner and counts half: P(n/2) B_{n/2} (kappa_{n/2} - 1) / 2.

    Parameters
    ----------
    chain : SlushChain
        The network.
    p : float or array-like of float, shape (honest,)
        The accuracy of every honest participant, or one value for each.
    delta : int, default 0
        Votes needed beyond a bare majority.
    q : float or Fraction, optional
        The share of the votes that it needs instead, 1/2 < q <= 1.

    Returns
    -------
    Gap
        The difference: sign 1 if the majority is more accurate, -1 if Slush is.

    Examples
    --------
    >>> from folkmoot.theory import SlushChain, accuracy_gap
    >>> print(f"{accuracy_gap(SlushChain(101, k=10, alpha=8), 0.6).value:.4f}")
    0.0089
    >>> gap = accuracy_gap(SlushChain(2001, k=10, alpha=6), 0.9)
    >>> print(gap.sign, f"{gap.log_magnitude:.1f}")
    1 -669.4
    """
    needed = checks.required_votes(chain.n, delta, q)
    c, n = chain.honest, chain.n
    law = log_votes_law(p, c)
    lost = law + chain.log_not_blue  # b >= needed: the majority is right and Slush is not
    won = law + chain.log_blue  # b < needed: Slush is right and the majority is not
    b = np.arange(c + 1)
    above = b >= needed
    tied = checks.tied_votes(n, delta, q)
    if tied is not None and tied <= c:
        above[tied] = True
        for terms in (lost, won):
            terms[tied] -= math.log(2)
    paired = above & (n - b < needed) & np.isfinite(lost)
    paired[paired] = np.isfinite(won[n - b[paired]])
    partner = n - b[paired]
    kappa = log_control_ratio(chain, p)[paired]
    alone_lost = above & ~paired
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

    Below p_th Slush is the more accurate, above it the majority; the crossing is unique.

    Parameters
    ----------
    n : int
        Participants in all.
    k : int
        Participants asked per query.
    alpha : int
        Equal answers that make a colour win, k/2 < alpha <= k.
    delta : int, optional
        Votes needed beyond a bare majority. Default: 0, where a tie counts as one half.
    q : float or Fraction, optional
        The share of the votes that it needs instead, 1/2 < q <= 1.
    byzantine : int, default 0
        Participants that always answer red (wrong).
    sampling : Everyone or Others, default Everyone()
        The sampling law: k of all n, the paper's law, or k of the others.

    Returns
    -------
    float
        p_th; 1.0 if Slush is ahead for every p in (0, 1), 0.0 if the majority is, nan if they never differ.

    Warns
    -----
    ByzantineThresholdWarning
        If ``byzantine`` >= ``alpha``.

    Examples
    --------
    >>> from folkmoot.theory import threshold_accuracy
    >>> threshold_accuracy(101, k=20, alpha=14)
    0.5
    >>> print(f"{threshold_accuracy(101, k=20, alpha=14, delta=4):.6f}")
    0.966457
    """
    chain = SlushChain(n, k, alpha, byzantine=byzantine, sampling=sampling)
    needed = checks.required_votes(chain.n, delta, q)
    b = np.arange(chain.honest + 1, dtype=np.float64)
    choose = log_choose(chain.honest)
    lost, won = choose + chain.log_not_blue, choose + chain.log_blue
    lost[:needed] = won[needed:] = -np.inf
    tied = checks.tied_votes(chain.n, delta, q)
    if tied is not None and tied <= chain.honest:
        # 1/2 - B = (1 - B - B) / 2 is of one sign: what it is belongs to one of the two sums, not to both.
        log_more = float(chain.log_not_blue[tied] - chain.log_blue[tied])
        net = math.log(-math.expm1(-abs(log_more))) - math.log(2) if log_more else -math.inf
        won[tied] = won[tied] + net if log_more < 0 else -np.inf
        lost[tied] = choose[tied] + chain.log_not_blue[tied] + net if log_more > 0 else -np.inf
    behind, ahead = np.isfinite(lost), np.isfinite(won)
    if not (ahead.any() and behind.any()):
        return 1.0 if ahead.any() else 0.0 if behind.any() else math.nan
    lost, more, won, fewer = lost[behind], b[behind], won[ahead], b[ahead]

    def balance(theta: float) -> float:
        """log of what the majority gains over what it loses; its slope in theta = logit p is >= 1."""
        return logsum(lost + more * theta) - logsum(won + fewer * theta)

    from scipy.optimize import brentq  # here, as it doubles the time of ``import folkmoot.theory``

    # Slope >= 1 brackets the zero at once: it is no farther from 0 than the value there.
    start = balance(0.0)
    if start == 0:
        return 0.5
    low, high = (-start - 1.0, 0.0) if start > 0 else (0.0, -start + 1.0)
    theta = brentq(balance, low, high, xtol=1e-15, rtol=8.9e-16)
    return min(float(expit(theta)), math.nextafter(1.0, 0.0))  # 1.0 means that there is no crossing
