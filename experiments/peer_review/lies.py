"""What liars do under peer review: how they vote on inputs and on checked rows, and what they publish.

A lie is told in colours: on each input the one that all liars name, or -1 where each says what its model
says. Liars know every truth; who is a liar, and which inputs they strike, is drawn by the seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from experiments.trust.attacks import CLIQUE, HONEST, NOBODY, STEALTHY, STRUCK, WRONG
from folkmoot.adversaries import colluding_votes, stealthy_votes
from folkmoot.adversaries.interface import wrong
from folkmoot.arrays import Bools, Ints, Singles
from folkmoot.votes import UNCOLOURED

Claims = Literal["right", "wrong", "random", "story"]  # the labels of own rows; "story": as they vote there
_ROWS: Final = 1_000_000  # added to the seed of what is drawn for rows, not inputs


@dataclass(frozen=True)
class Lie:
    """A story told on inputs, what becomes of it on checked rows, and the labels that liars publish."""

    name: str
    story: str
    claims: Claims
    about: str
    spared: float = 0.0  # of the checked rows, answered as their models do
    backing: bool = False  # on rows that liars publish they vote what is published


BACKED: Final = "stealthy, backed"
LIES: Final = (
    Lie("votes", WRONG, "right", "the same wrong vote on everything, right labels"),
    Lie("labels", HONEST, "wrong", "honest votes, wrong labels"),
    Lie("both", WRONG, "wrong", "wrong votes and wrong labels"),
    Lie("random labels", HONEST, "random", "honest votes, labels by dice"),
    Lie(CLIQUE, CLIQUE, "random", "one story on everything; labels by dice, which all vote", 0.0, True),
    Lie(
        "colluding", WRONG, "wrong",
        "honest votes on rows of the honest, wrong labels that they back with their votes, wrong on inputs",
        1.0, True,
    ),
    Lie(STEALTHY, STEALTHY, "right", f"honest, but wrong together on {STRUCK:.0%} of rows and inputs"),
    Lie(BACKED, STEALTHY, "story", "the same, and they publish wrong labels of the rows that they strike"),
    Lie("sparing 50%", WRONG, "right", "wrong on inputs, honest on half of the checked rows", 0.5),
    Lie("sparing 75%", WRONG, "right", "the same on three quarters", 0.75),
    Lie("sparing 100%", WRONG, "right", "the same on all", 1.0),
)  # fmt: skip


def lie_named(name: str) -> Lie:
    """The lie of this name; that nobody lies is an honest one."""
    if name == NOBODY:
        return Lie(NOBODY, HONEST, "right", "nobody lies")
    found = next((each for each in LIES if each.name == name), None)
    if found is None:
        raise ValueError(f"there is no lie {name!r} (there are {', '.join(each.name for each in LIES)})")
    return found


def story_on(story: str, truth: Ints, classes: int, seed: int) -> Ints:
    """(input,): what all liars name, -1 where each says what its model says."""
    own = np.full(len(truth), UNCOLOURED)
    if story == HONEST:
        return own
    if story == WRONG:
        return np.array([wrong(colour, classes) for colour in truth.tolist()], dtype=np.int64)
    if story == CLIQUE:
        return colluding_votes(len(truth), classes, seed=seed)
    if story == STEALTHY:
        return stealthy_votes(own, truth, classes, share=STRUCK, seed=seed)
    raise ValueError(f"there is no story {story!r}")


def claims_of(lie: Lie, labels: Ints, of_liars: Bools, classes: int, seed: int) -> Ints:
    """(row,): the labels that are published; those of the honest are right."""
    if lie.claims == "right":
        return labels
    if lie.claims == "random":
        false = np.random.default_rng([seed, 9]).integers(0, classes, len(labels))
    else:
        told = story_on(lie.story if lie.claims == "story" else WRONG, labels, classes, _ROWS + seed)
        false = np.where(told == UNCOLOURED, labels, told)
    return np.where(of_liars, false, labels)


def told_on_rows(lie: Lie, labels: Ints, claims: Ints, of_liars: Bools, classes: int, seed: int) -> Ints:
    """(row,): what all liars name on the rows that may be checked, -1 where each says what its model says."""
    told = story_on(lie.story, labels, classes, _ROWS + seed)
    if lie.spared:
        spared = np.random.default_rng([seed, 10]).random(len(labels)) < lie.spared
        told = np.where(spared, UNCOLOURED, told)
    return np.where(of_liars, claims, told) if lie.backing else told


def spoken(ballots: Ints | Singles, liars: Ints, told: Ints) -> Ints | Singles:
    """Votes as they are heard: colours (participant, input), or probabilities with a colour each."""
    heard, where = ballots.copy(), np.flatnonzero(told != UNCOLOURED)
    sure = told[where] if ballots.ndim == 2 else np.eye(ballots.shape[2], dtype=np.float32)[told[where]]
    heard[np.ix_(liars, where)] = sure
    return heard
