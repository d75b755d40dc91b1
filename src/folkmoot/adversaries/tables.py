"""What Byzantine participants answer: every adversary's rule applied once to all it can see.

Nodes are named by position: the honest ones first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.adversaries.adversary import Adversary, Knows, Sees
from folkmoot.arrays import Array, Ints
from folkmoot.votes import UNCOLOURED, Votes, check_truth

Liar = TypeVar("Liar")


class Liars(NamedTuple):
    """The Byzantine participants, in the order of their positions."""

    sees: Array  # (byzantine,) int64: what it is shown
    target: (
        Array  # (byzantine,) int64: position of the honest participant it follows (0 where it follows none)
    )
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
) -> Liars:
    """The tables of all adversaries."""
    honest = len(order) - len(adversaries)
    numbers = order[honest:].tolist()
    liars = [adversaries[i] for i in numbers]
    return Liars(
        sees=np.array([liar.sees.value for liar in liars], dtype=np.int64),
        target=np.array([_followed(liar, order[:honest]) for liar in liars], dtype=np.int64),
        answers=_answers(liars, votes[numbers], truth, classes, len(order)),
        number=order[:honest],
    )


def _followed(liar: Adversary, honest: Ints) -> int:
    """The position of whom it follows; ``honest`` is in ascending order."""
    if liar.sees is not Sees.TARGET:
        return 0
    followed = checks.integer("target", liar.follows)
    position = int(np.searchsorted(honest, followed))
    if position == len(honest) or honest[position] != followed:
        name = type(liar).__name__
        raise ValueError(f"{name} must follow an honest participant: target={followed} is not one")
    return position


def _answers(liars: list[Adversary], votes: Votes, truth: Array | None, classes: int, n: int) -> Array:
    inputs = votes.shape[1]
    known = range(-1, classes)
    shown = [_observations(liar.sees, classes, n) for liar in liars]
    width = max((seen.stop for seen in shown), default=1) + 1
    table = np.full((len(liars), inputs, width), UNCOLOURED, dtype=np.int8)
    right = np.full(inputs, UNCOLOURED) if truth is None else truth
    for row, liar in enumerate(liars):
        knows_vote, knows_truth = Knows.OWN_VOTE in liar.knows, Knows.TRUTH in liar.knows
        lies = liar.lies_on(inputs)
        for vote in known if knows_vote else (UNCOLOURED,):
            for truly in known if knows_truth else (UNCOLOURED,):
                where = np.ones(inputs, dtype=np.bool_)
                if knows_vote:
                    where &= votes[row] == vote
                if knows_truth:
                    where &= right == truly
                for seen in shown[row] if where.any() else ():
                    for say, there in ((liar.answer, where & lies), (liar.candid, where & ~lies)):
                        said = say(seen, vote=vote, truth=truly, classes=classes)
                        if said not in known:
                            raise ValueError(
                                f"{liar!r} must answer a colour in -1..{classes - 1}: got {said!r}"
                            )
                        table[row, there, seen + 1] = said
    return table


def _observations(sees: Sees, classes: int, participants: int) -> range:
    if sees is Sees.NOTHING:
        return range(1)
    if sees is Sees.ASKER:
        return range(participants)
    return range(classes) if sees is Sees.DIE else range(-1, classes)


def check_adversaries(adversaries: Mapping[int, Liar] | None, n: int, kind: type) -> dict[int, Liar]:
    """Byzantine participants by number, each of this kind, and not all of them."""
    if not isinstance(adversaries, Mapping | None):
        raise TypeError(f"adversaries must map participants to {kind.__name__}: got {adversaries!r}")
    liars = dict(adversaries or {})
    for participant, adversary in liars.items():
        if not isinstance(adversary, kind):
            raise TypeError(f"adversaries must map participants to {kind.__name__}: got {adversary!r}")
        if not 0 <= checks.integer("a Byzantine participant", participant) < n:
            raise ValueError(f"adversaries must name participants 0..{n - 1}: got {participant}")
    if len(liars) >= n:
        raise ValueError(f"at least one participant must be honest: got {len(liars)} adversaries of {n}")
    return liars


def check_told_truth(
    truth: npt.ArrayLike | None, inputs: int, classes: int, liars: dict[int, Adversary]
) -> Array | None:
    """The truth, if it is given; it must be where a liar has to know it."""
    if truth is None:
        for participant, adversary in liars.items():
            if Knows.TRUTH in adversary.knows:
                name = type(adversary).__name__
                raise ValueError(
                    f"participant {participant} is {name}, which must know the truth: give truth="
                )
        return None
    return check_truth(truth, inputs, classes)
