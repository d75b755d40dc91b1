"""From a protocol's rule to the chance that one query turns a node: the only place theory meets a rule.

The rule is applied to every possible tally of two colours; the sampling law weighs the tallies.
"""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Bools, Floats
from folkmoot.protocols.sampling import Everyone, Others, SamplingLaw, log_tail
from folkmoot.protocols.slush import Slush
from folkmoot.votes import BLUE, RED


def tabulated(sampling: object) -> Everyone | Others:
    """``sampling``, if it is one of the two laws under which participants are alike; else one clear line."""
    if not isinstance(sampling, (Everyone, Others)):
        raise TypeError(f"sampling must be Everyone() or Others(): got {sampling!r}")
    return sampling


def turning_tallies(rule: Slush, colour: int) -> Bools:
    """Entry j: does a node of this colour change it when j of its k answers name the other one?"""
    other = BLUE if colour == RED else RED
    turns = np.zeros(rule.k + 1, dtype=np.bool_)
    for j in range(rule.k + 1):
        tally = [0, 0]
        tally[other], tally[colour] = j, rule.k - j
        turns[j] = rule.update(colour, tally) == other
    return turns


def log_turn(rule: Slush, law: SamplingLaw, n: int, colour: int) -> Floats:
    """log P(a query turns a node of this colour), for x = 0..n nodes of the other colour.

    The asker is not one of those x, so x counts the same whether it may ask itself or not. Only
    the size of the population differs.
    """
    population = law.peer_count(n, rule.k)
    x = np.arange(n + 1)
    result = np.full(n + 1, -np.inf)
    possible = x <= population  # x = n leaves no node of this colour to ask
    result[possible] = log_tail(population, rule.k, turning_tallies(rule, colour), x[possible])
    return result
