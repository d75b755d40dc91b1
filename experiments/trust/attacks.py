"""What liars tell the experiment ``trust``: a story in their first votes, and what they say in the talk.

Trust is learnt from first votes, so a story is heard once for all attacks that tell it. Those who vote
honestly and lie in the talk only cannot be told from the honest by listening.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.adversaries import (
    Adversary,
    Equivocating,
    PerfectlyFaulty,
    PerfectlyMalicious,
    Silent,
    Stalling,
    Steadfast,
    colluding_votes,
    handed_in,
    stealthy_votes,
)
from folkmoot.arrays import Ints
from folkmoot.votes import Votes

# Stories: what first votes say.
HONEST, WRONG, CLIQUE, NOISY = "honest", "always wrong", "clique", "noisy clique"
CONSTANT, RANDOM, COPIES, STEALTHY = "constant", "random", "copycats", "stealthy"
NOBODY, SLEEPERS = "nobody lies", "sleepers"  # attacks that are not named as their story
NOISE: Final = 0.2  # of the votes of a noisy clique
STRUCK: Final = 0.1  # of the inputs, by stealthy liars


@dataclass(frozen=True)
class Attack:
    """A story, and what those who told it say in the talk."""

    name: str
    story: str
    talk: Adversary
    about: str


# In the order of the report. Who tells a false story stands by it; those of ``folkmoot.adversaries.ATTACKS``
# that vote honestly first come last, and a liar that then plays dice is heard as a random one here.
ATTACKS: Final = (
    Attack(WRONG, WRONG, Steadfast(), "always the same wrong answer"),
    Attack("faulty", WRONG, PerfectlyFaulty(), "wrong first votes, then silence"),
    Attack(CLIQUE, CLIQUE, Steadfast(), "one story, unrelated to the truth"),
    Attack(NOISY, NOISY, Steadfast(), f"the same with noise on {NOISE:.0%} of the votes"),
    Attack(CONSTANT, CONSTANT, Steadfast(), "one colour, whatever the input"),
    Attack(RANDOM, RANDOM, Steadfast(), "dice, each its own"),
    Attack(COPIES, COPIES, Steadfast(), "all repeat the votes of one honest participant"),
    Attack(STEALTHY, STEALTHY, Steadfast(), f"honest, but wrong together on {STRUCK:.0%} of the inputs"),
    Attack("silent", HONEST, Silent(), "honest first votes, then silence"),
    Attack("equivocating", HONEST, Equivocating(), "honest first votes, then to each asker another answer"),
    Attack("stalling", HONEST, Stalling(), "honest first votes, then the colour that is behind"),
    Attack(SLEEPERS, HONEST, PerfectlyMalicious(), "honest first votes, then always wrong"),
)


def attacks_of(story: str) -> list[Attack]:
    """The attacks that tell this story."""
    return [each for each in ATTACKS if each.story == story]


def liars_order(participants: int, seed: int) -> Ints:
    """In which order participants turn, drawn by the seed: more liars include the fewer."""
    return np.random.default_rng([seed, 4]).permutation(participants)


def first_votes(
    story: str, votes: Votes, truth: Votes, classes: int, order: Ints, count: int, seed: int
) -> Votes:
    """First votes if the first ``count`` of ``order`` tell this story; the last of the order never does."""
    liars, shape = order[:count], (count, truth.size)
    rng = np.random.default_rng([seed, count, 5])
    told = votes.copy()
    if story == WRONG:
        told[liars] = handed_in(votes, {int(i): PerfectlyMalicious() for i in liars}, truth, classes)[liars]
    elif story in (CLIQUE, NOISY):
        told[liars] = colluding_votes(truth.size, classes, seed=seed)
        if story == NOISY:
            dice = rng.integers(0, classes, shape)
            told[liars] = np.where(rng.random(shape) < NOISE, dice, told[liars])
    elif story == CONSTANT:
        told[liars] = 0
    elif story == RANDOM:
        told[liars] = rng.integers(0, classes, shape)
    elif story == COPIES:
        told[liars] = votes[order[-1]]
    elif story == STEALTHY:
        told[liars] = stealthy_votes(votes[liars], truth, classes, share=STRUCK, seed=seed)
    elif story != HONEST:
        raise ValueError(f"there is no story {story!r}")
    return told
