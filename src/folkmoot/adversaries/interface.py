"""Malicious participants, for classes and for numbers: pure functions of one observation.

An adversary draws no random numbers, keeps no time and does not look at the population. The caller gives it
one observation per query (``Sees``) or table of numbers (``NumbersSeen``). So a simulator can tabulate it
(``tabulated``), and a network can refuse one that must know what no real node could.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.votes import NO_VOTE, Missing, Vote, Votes, check_truth


class Knows(Flag):
    """The knowledge that an adversary needs beyond the query."""

    NOTHING = 0
    OWN_VOTE = auto()
    TRUTH = auto()
    POPULATION = auto()


class Sees(Enum):
    """The one observation an adversary is shown when it is asked."""

    NOTHING = 0
    DIE = 1
    ASKER = 2
    RUNNER_UP = 3
    TARGET = 4


class Adversary(ABC):
    """A malicious behaviour. Subclasses say what they know and see, and give a pure answer.

    ``ATTACKS`` has those of the command line by name.
    """

    knows: ClassVar[Knows] = Knows.NOTHING
    sees: ClassVar[Sees] = Sees.NOTHING
    misstates: ClassVar[bool] = False  # of ballots, does it say something else to each in every part?

    @abstractmethod
    def answer(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:
        """The answer to a query; -1 is silence. ``vote`` and ``truth`` are -1 when not known."""

    def first_vote(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:
        """The first vote that it hands in. ``seen`` is a class drawn at random if it sees a die, else 0.

        Default: its answer to a query; its model's answer if that depends on others.
        """
        if self.sees in (Sees.NOTHING, Sees.DIE):
            return self.answer(seen, vote=vote, truth=truth, classes=classes)
        return vote

    def candid(self, seen: int, *, vote: Vote, truth: Vote, classes: int) -> Vote:
        """The answer where it does not lie (``lies_on``)."""
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
        """The participant whose class it is shown, for one that sees its target; else None."""
        return None

    def renumbered(self, place: Mapping[int, int]) -> Self:  # noqa: ARG002
        """The same behaviour where participant i is called ``place[i]``."""
        if self.follows is not None:
            raise TypeError(f"{type(self).__name__} follows a participant, so it must define renumbered")
        return self


def wrong(truth: Vote, classes: int) -> Vote:
    """The wrong class that all malicious participants agree on, which is the strongest choice."""
    return (truth + 1) % classes


def handed_in(
    votes: Votes,
    adversaries: Mapping[int, Adversary],
    truth: npt.ArrayLike | None,
    classes: int,
    *,
    missing: Missing = "present",
    seed: int = 0,
    keys: Ints | None = None,
) -> Votes:
    """The first votes that everybody receives, with the rows of the adversaries as they choose them.

    ``votes`` (participant, input): The answers of all models: classes, -1 for none. ``truth`` (input,): The
    right classes, for adversaries that must know them. ``keys`` (input,): The draws of an input depend on
    its key instead of its place.
    """
    result = votes.copy()
    inputs = votes.shape[1]
    right = np.full(inputs, NO_VOTE) if truth is None else np.asarray(truth)
    for participant, adversary in adversaries.items():
        die: Ints = np.zeros(inputs, dtype=np.int64)
        if adversary.sees is Sees.DIE:
            drawn = _draws(seed, participant, np.arange(inputs) if keys is None else keys)
            die = (drawn * classes).astype(np.int64)
        cases, which = np.unique(np.stack([die, votes[participant], right]), axis=1, return_inverse=True)
        said = [
            adversary.first_vote(seen, vote=vote, truth=known, classes=classes)
            for seen, vote, known in cases.T.tolist()
        ]
        result[participant] = np.array(said, dtype=result.dtype)[which.ravel()]
    if missing == "absent":
        result[votes == NO_VOTE] = NO_VOTE
    return result


def _draws(seed: int, participant: int, keys: Ints) -> Floats:
    """A number in [0, 1) for each key: the same whoever lies beside it, and whatever else is drawn.

    SplitMix64 (Steele, Lea and Flood, 2014), with the key as its counter.
    """
    start = np.random.SeedSequence([seed, 0xD1E, participant]).generate_state(1, np.uint64)
    z = start + (keys.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53)


@dataclass(frozen=True, eq=False)
class NumbersSeen:
    """The observation of an adversary where numbers are aggregated, for all inputs at once.

    It is omniscient, the worst case of Dolev et al. (1986): it knows all honest numbers before it chooses its
    own. All participants hold one table, so it gives everybody the same number.
    """

    honest: Floats  # (honest, input, output): the numbers of all honest participants, NaN for none
    own: Floats  # (input, output): what its own model answers
    draw: Floats  # (input, output): uniform over [0, 1), drawn by the seed for this adversary alone

    @property
    def low(self) -> Floats:
        """(input, output): the lowest honest number; NaN where there is none."""
        return np.asarray(np.fmin.reduce(self.honest, axis=0))

    @property
    def high(self) -> Floats:
        """(input, output): the highest honest number; NaN where there is none."""
        return np.asarray(np.fmax.reduce(self.honest, axis=0))


class NumberAdversary(ABC):
    """A malicious behaviour in numbers. Subclasses say what they know, and give a pure answer.

    ``NUMBER_ATTACKS`` has them by name.
    """

    knows: ClassVar[Knows] = Knows.NOTHING

    @abstractmethod
    def answer_number(self, seen: NumbersSeen) -> npt.ArrayLike:
        """The numbers that it gives, an array that broadcasts to (input, output).

        NaN is silence. So is any number that no honest node would send (infinite, or beyond ``LARGEST``): it
        is left out.
        """


def numbers_handed_in(values: Floats, adversaries: Mapping[int, NumberAdversary], *, seed: int = 0) -> Floats:
    """The numbers that everybody receives, adversaries' rows as they choose; NaN for none.

    ``values`` (participant, input, output): The answers of all models.
    """
    honest = np.delete(values, list(adversaries), axis=0)
    sent = values.copy()
    for participant, adversary in adversaries.items():
        draw = _draws(seed, participant, np.arange(values[0].size)).reshape(values.shape[1:])
        seen = NumbersSeen(honest, own=values[participant], draw=draw)
        sent[participant] = np.asarray(adversary.answer_number(seen))
    return sent


Behaviour = TypeVar("Behaviour")


class MaliciousAnswers(NamedTuple):
    """The malicious participants, in the order of their positions."""

    sees: Array  # (byzantine,) int64: its kind of observation
    target: Array  # (byzantine,) int64: position of the honest participant it follows (0 if it follows none)
    answers: Array  # (byzantine, input, observation + 1) int8
    number: (
        Array  # (honest,) int64: the participant's number in the caller's order, for those who see the asker
    )


def tabulated(
    adversaries: Mapping[int, Adversary],
    votes: Votes,
    truth: Array | None,
    classes: int,
    order: Ints,  # participants by position
) -> MaliciousAnswers:
    """The tables of all adversaries."""
    honest = len(order) - len(adversaries)
    numbers = order[honest:].tolist()
    malicious = [adversaries[i] for i in numbers]
    return MaliciousAnswers(
        sees=np.array([adversary.sees.value for adversary in malicious], dtype=np.int64),
        target=np.array([_followed(adversary, order[:honest]) for adversary in malicious], dtype=np.int64),
        answers=_answers(malicious, votes[numbers], truth, classes, len(order)),
        number=order[:honest],
    )


def _followed(adversary: Adversary, honest: Ints) -> int:
    """The position of whom it follows; ``honest`` is in ascending order."""
    if adversary.sees is not Sees.TARGET:
        return 0
    followed = checks.integer("target", adversary.follows)
    position = int(np.searchsorted(honest, followed))
    if position == len(honest) or honest[position] != followed:
        name = type(adversary).__name__
        raise ValueError(f"{name} must follow an honest participant: target={followed} is not one")
    return position


def _answers(malicious: list[Adversary], votes: Votes, truth: Array | None, classes: int, n: int) -> Array:
    inputs = votes.shape[1]
    known = range(-1, classes)
    shown = [_observations(adversary.sees, classes, n) for adversary in malicious]
    width = max((seen.stop for seen in shown), default=1) + 1
    table = np.full((len(malicious), inputs, width), NO_VOTE, dtype=np.int8)
    right = np.full(inputs, NO_VOTE) if truth is None else truth
    for row, adversary in enumerate(malicious):
        knows_vote, knows_truth = Knows.OWN_VOTE in adversary.knows, Knows.TRUTH in adversary.knows
        lies = adversary.lies_on(inputs)
        for vote in known if knows_vote else (NO_VOTE,):
            for truly in known if knows_truth else (NO_VOTE,):
                where = np.ones(inputs, dtype=np.bool_)
                if knows_vote:
                    where &= votes[row] == vote
                if knows_truth:
                    where &= right == truly
                for seen in shown[row] if where.any() else ():
                    for say, there in ((adversary.answer, where & lies), (adversary.candid, where & ~lies)):
                        said = say(seen, vote=vote, truth=truly, classes=classes)
                        if said not in known:
                            raise ValueError(
                                f"{adversary!r} must answer a class in -1..{classes - 1}: got {said!r}"
                            )
                        table[row, there, seen + 1] = said
    return table


def _observations(sees: Sees, classes: int, participants: int) -> range:
    if sees is Sees.NOTHING:
        return range(1)
    if sees is Sees.ASKER:
        return range(participants)
    return range(classes) if sees is Sees.DIE else range(-1, classes)


def check_adversaries(
    adversaries: Mapping[int, Behaviour] | None, n: int, kind: type
) -> dict[int, Behaviour]:
    """Malicious participants by number, each of this kind, and not all of them."""
    if not isinstance(adversaries, Mapping | None):
        example = "ConstantNumber(0)" if kind.__name__ == "NumberAdversary" else "PerfectlyMalicious()"
        raise TypeError(
            f"adversaries must map participants to {kind.__name__}, such as {{0: {example}}}: "
            f"got {adversaries!r}"
        )
    malicious = dict(adversaries or {})
    for participant, adversary in malicious.items():
        if not isinstance(adversary, kind):
            raise TypeError(f"adversaries must map participants to {kind.__name__}: got {adversary!r}")
        if not 0 <= checks.integer("a malicious participant", participant) < n:
            raise ValueError(f"adversaries must name participants 0..{n - 1}: got {participant}")
    if len(malicious) >= n:
        raise ValueError(f"at least one participant must be honest: got {len(malicious)} adversaries of {n}")
    return malicious


def check_known_truth(
    truth: npt.ArrayLike | None, inputs: int, classes: int, malicious: dict[int, Adversary]
) -> Array | None:
    """The truth, if it is given; required if an adversary must know it."""
    if truth is None:
        for participant, adversary in malicious.items():
            if Knows.TRUTH in adversary.knows:
                name = type(adversary).__name__
                raise ValueError(
                    f"participant {participant} is {name}, which must know the truth: give truth="
                )
        return None
    return check_truth(truth, inputs, classes)
