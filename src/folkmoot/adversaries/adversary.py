"""What a Byzantine participant is: a pure answer to what it sees, and what it must know to give it.

An adversary never draws random numbers, keeps time or looks at the population itself. Whoever runs it
(simulation, network) shows it one observation a query; so a simulator can tabulate it, and a
network can refuse one that needs to know what no real node could.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum, Flag, auto
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from folkmoot.votes import UNCOLOURED, Colour, Votes


class Knows(Flag):
    """What an adversary must know beyond the query itself."""

    NOTHING = 0
    OWN_VOTE = auto()  # what its own model answers
    TRUTH = auto()  # the right answer, which no real node has
    POPULATION = auto()  # the current colours of others, without having asked


class Sees(Enum):
    """The one observation an adversary is shown when it is asked."""

    NOTHING = 0  # always 0
    DIE = 1  # a colour drawn uniformly
    ASKER = 2  # the number of the asking participant
    RUNNER_UP = 3  # the second most common honest colour, or -1 if the first two are level
    TARGET = 4  # the current colour of the participant it follows


class Adversary(ABC):
    """A Byzantine behaviour. Subclasses say what they know and see, and give a pure answer."""

    knows: ClassVar[Knows] = Knows.NOTHING
    sees: ClassVar[Sees] = Sees.NOTHING

    @abstractmethod
    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:
        """What it says to a query; -1 is silence. ``vote`` and ``truth`` are -1 when not known."""

    def first_vote(self, *, vote: Colour, truth: Colour, classes: int) -> Colour:
        """What it hands in to a centralised vote; what it says to a query, unless it then hides that."""
        if self.sees is Sees.NOTHING:
            return self.answer(0, vote=vote, truth=truth, classes=classes)
        return vote

    @classmethod
    def against(cls, honest: int) -> Self:  # noqa: ARG003
        """An adversary of this kind in a moot in which participant ``honest`` follows the protocol."""
        return cls()

    @property
    def follows(self) -> int | None:
        """The participant whose colour it is shown, for one that sees its target; else None."""
        return None

    def renumbered(self, place: Mapping[int, int]) -> Self:  # noqa: ARG002
        """The same behaviour where participant i is called ``place[i]``."""
        if self.follows is not None:
            raise TypeError(f"{type(self).__name__} follows a participant, so it must define renumbered")
        return self


def wrong(truth: Colour, classes: int) -> Colour:
    """The wrong colour that all who lie agree on, which is the strongest choice."""
    return (truth + 1) % classes


def handed_in(
    votes: Votes, adversaries: Mapping[int, Adversary], truth: npt.ArrayLike | None, classes: int
) -> Votes:
    """The first votes that a centralised rule would see: the adversaries' rows as they choose them."""
    result = votes.copy()
    inputs = votes.shape[1]
    right = np.full(inputs, UNCOLOURED) if truth is None else np.asarray(truth)
    for participant, adversary in adversaries.items():
        for vote, known in set(zip(votes[participant].tolist(), right.tolist(), strict=True)):
            where = (votes[participant] == vote) & (right == known)
            result[participant, where] = adversary.first_vote(vote=vote, truth=known, classes=classes)
    return result
