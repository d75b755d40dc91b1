"""Hierarchies of Slush, exactly: the probability that teams, and then their delegates, end right.

A level is a group of voters, each right, wrong or without a vote with given probabilities. It runs Slush
until all agree (``SlushChain`` with ``Others()``). Its verdict is a voter of the next level. Voters are
independent of each other. So the law of a level is the law of how many are right and wrong, and the chain's
absorption from there. Delegates are honest, and rounds enough for absorption.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Floats
from folkmoot.protocols.sampling import Others
from folkmoot.protocols.slush import Slush
from folkmoot.theory.chain import SlushChain


class Teams(Protocol):
    """A hierarchy, as theory needs it (``folkmoot.outlook.Hierarchy``)."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the teams."""

    @property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The members of each by number."""

    @property
    def outer(self) -> Any:
        """The protocol of the delegates."""

    def within(self, team: str) -> Any:
        """The protocol of a team."""

    def named(self, names: Sequence[str]) -> Teams:
        """The same with members by number, looked up among these names."""

    def check(self, participants: int) -> None:
        """ValueError unless everybody of so many is in one team."""


class Verdict(NamedTuple):
    """The chances that a group decides right, decides wrong, or not at all."""

    right: float  # all that vote hold the right label in the end
    wrong: float  # they hold the wrong one
    none: float  # neither: nobody can be turned, and there is no majority; or nobody has a vote


def hierarchy_verdict(protocol: Teams, p: float | npt.ArrayLike) -> Verdict:
    """Compute the exact probabilities of a hierarchy of Slush with two labels, without Byzantine nodes.

    ``p`` (participant,): The accuracy of everybody, or of each.
    """
    n = sum(len(members) for members in protocol.members)
    protocol.check(n)
    values = checks.accuracies(np.full(n, p) if np.ndim(p) == 0 else p)
    if values.size != n:
        raise ValueError(f"p must be a number, or one per participant ({n}): got {values.size}")
    voters = [Verdict(float(each), 1.0 - float(each), 0.0) for each in values]
    return _of_teams(protocol, voters)


def _of_teams(protocol: Teams, voters: Sequence[Verdict]) -> Verdict:
    teams = [
        _verdict(protocol.within(name), [voters[i] for i in members])
        for name, members in zip(protocol.names, protocol.members, strict=True)
    ]
    outer = protocol.outer
    return _verdict(outer.named(protocol.names) if _is_teams(outer) else outer, teams)


def _is_teams(level: Any) -> TypeGuard[Teams]:
    return hasattr(level, "within")


def _verdict(level: Any, voters: Sequence[Verdict]) -> Verdict:
    if len(voters) == 1:
        return voters[0]
    if _is_teams(level):
        return _of_teams(level, voters)
    if type(level) is not Slush or not isinstance(level.alpha, int) or level.weights is not None:
        raise ValueError(f"theory has hierarchies of Slush with one alpha and no weights: got {level!r}")
    chances = _counts(voters)
    right = wrong = 0.0
    for voting in range(1, len(voters) + 1):
        ends = _ends(voting, level.k, level.alpha)
        for blue in range(voting + 1):
            right += float(chances[blue, voting - blue] * ends[0, blue])
            wrong += float(chances[blue, voting - blue] * ends[1, blue])
    return Verdict(right, wrong, max(0.0, 1.0 - right - wrong))


def _counts(voters: Sequence[Verdict]) -> Floats:
    """(right, wrong): the chance of so many of each, by direct convolution."""
    chances = np.zeros((len(voters) + 1, len(voters) + 1))
    chances[0, 0] = 1.0
    for right, wrong, none in voters:
        longer = chances * none
        longer[1:] += chances[:-1] * right
        longer[:, 1:] += chances[:, :-1] * wrong
        chances = longer
    return chances


@lru_cache(maxsize=4096)
def _ends(voting: int, k: int, alpha: int) -> Floats:
    """(2, blue): the chances that so many voters end up blue and red, from so many blue ones at first.

    Where nobody can be turned, what more than half of them hold is the verdict, as in ``deliberate``.
    """
    blue = np.arange(voting + 1)
    if voting == 1:
        return np.array([[0.0, 1.0], [1.0, 0.0]])
    rule = Slush(k, alpha).scaled(voting)
    chain = SlushChain(voting, rule.k, int(rule.thresholds(1)[0]), sampling=Others())
    stuck = (chain.blue == 0) & (chain.red == 0)
    return np.stack(
        [
            np.where(stuck, 2 * blue > voting, chain.blue),
            np.where(stuck, 2 * blue < voting, chain.red),
        ]
    )
