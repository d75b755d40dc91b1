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

from folkmoot.arrays import Bools
from folkmoot.votes import UNCOLOURED, Colour, Missing, Votes


class Knows(Flag):
    """What an adversary must know beyond the query itself.

    Attributes
    ----------
    NOTHING
        It needs the query alone.
    OWN_VOTE
        What its own model answers.
    TRUTH
        The right answer, which no real node has.
    POPULATION
        The current colours of others, without having asked.

    Examples
    --------
    >>> from folkmoot.adversaries import Knows, PerfectlyMalicious, Stalling
    >>> Knows.TRUTH in PerfectlyMalicious.knows
    True
    >>> Stalling.knows
    <Knows.POPULATION: 4>
    """

    NOTHING = 0
    OWN_VOTE = auto()
    TRUTH = auto()
    POPULATION = auto()


class Sees(Enum):
    """The one observation an adversary is shown when it is asked.

    Attributes
    ----------
    NOTHING
        Always 0.
    DIE
        A colour drawn uniformly.
    ASKER
        The number of the asking participant.
    RUNNER_UP
        The second most common honest colour, or -1 if the first two are level.
    TARGET
        The current colour of the participant it follows.

    Examples
    --------
    >>> from folkmoot.adversaries import Copycat, Sees
    >>> Copycat.sees
    <Sees.TARGET: 4>
    >>> Copycat.sees is Sees.TARGET
    True
    """

    NOTHING = 0
    DIE = 1
    ASKER = 2
    RUNNER_UP = 3
    TARGET = 4


class Adversary(ABC):
    """A Byzantine behaviour. Subclasses say what they know and see, and give a pure answer.

    ``ATTACKS`` has those of the command line by name.

    Examples
    --------
    A behaviour of your own: vote 0 if the asker's number is even, else be silent.

    >>> from folkmoot.adversaries import Adversary, Sees
    >>> class Picky(Adversary):
    ...     sees = Sees.ASKER
    ...
    ...     def answer(self, seen, *, vote, truth, classes):
    ...         return 0 if seen % 2 == 0 else -1
    >>> [Picky().answer(asker, vote=1, truth=1, classes=2) for asker in range(4)]
    [0, -1, 0, -1]
    """

    knows: ClassVar[Knows] = Knows.NOTHING
    sees: ClassVar[Sees] = Sees.NOTHING
    misstates: ClassVar[bool] = False  # of ballots, does it say something else to each in every part?

    @abstractmethod
    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:
        """What it says to a query; -1 is silence. ``vote`` and ``truth`` are -1 when not known."""

    def first_vote(self, *, vote: Colour, truth: Colour, classes: int) -> Colour:
        """What it hands in to a centralised vote; what it says to a query, unless it then hides that."""
        if self.sees is Sees.NOTHING:
            return self.answer(0, vote=vote, truth=truth, classes=classes)
        return vote

    def candid(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:
        """What it says where it does not lie (``lies_on``)."""
        return self.answer(seen, vote=vote, truth=truth, classes=classes)

    def lies_on(self, inputs: int) -> Bools:
        """(input,): on which inputs of a batch it gives its ``answer``; on the others it is ``candid``."""
        return np.ones(inputs, dtype=np.bool_)

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
    votes: Votes,
    adversaries: Mapping[int, Adversary],
    truth: npt.ArrayLike | None,
    classes: int,
    *,
    missing: Missing = "uncoloured",
) -> Votes:
    """The first votes that a centralised rule would see: the adversaries' rows as they choose them.

    Parameters
    ----------
    votes : ndarray of int, shape (participant, input)
        What every participant's model answers: colours, -1 for none.
    adversaries : mapping of int to Adversary
        The Byzantine participants by number.
    truth : array-like of int, shape (input,), or None
        The right colours, for adversaries that must know them.
    classes : int
        The number of colours.
    missing : {"uncoloured", "absent"}, default "uncoloured"
        Whether an adversary whose model does not answer an input may hand in a vote on it. With "absent" it
        takes no part in it.

    Returns
    -------
    ndarray of int, shape (participant, input)
        The votes with the rows of the adversaries replaced.

    Examples
    --------
    Two liars of five turn a vote that everybody else wins two to one:

    >>> import numpy as np
    >>> from folkmoot.adversaries import PerfectlyMalicious, handed_in
    >>> from folkmoot.baselines import majority
    >>> votes = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1]])
    >>> majority(votes)
    array([1, 1, 1])
    >>> liars = {3: PerfectlyMalicious(), 4: PerfectlyMalicious()}
    >>> majority(handed_in(votes, liars, truth=[1, 1, 1], classes=2))
    array([0, 0, 0])
    """
    result = votes.copy()
    inputs = votes.shape[1]
    right = np.full(inputs, UNCOLOURED) if truth is None else np.asarray(truth)
    for participant, adversary in adversaries.items():
        pairs, which = np.unique(np.stack([votes[participant], right]), axis=1, return_inverse=True)
        said = [
            adversary.first_vote(vote=vote, truth=known, classes=classes) for vote, known in pairs.T.tolist()
        ]
        result[participant] = np.array(said, dtype=result.dtype)[which.ravel()]
    if missing == "absent":
        result[votes == UNCOLOURED] = UNCOLOURED
    return result
