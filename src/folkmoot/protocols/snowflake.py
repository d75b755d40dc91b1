"""Snowflake: Slush that counts how often in a row a class has won, and decides at beta.

Team Rocket et al. (2020), figure 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from folkmoot import checks
from folkmoot.protocols.slush import take
from folkmoot.protocols.snow import SnowProtocol, State
from folkmoot.votes import NO_VOTE, Vote


class Flake(NamedTuple):
    """The preferred class, how many queries in a row it has won, and whether that was enough."""

    preferred: Vote
    streak: int = 0
    decided: bool = False


def count(state: Flake, won: Vote, beta: int) -> Flake:
    """Slush with a streak: a query without a winner ends it; a decided node never changes."""
    if state.decided:
        return state
    streak = 0 if won == NO_VOTE else state.streak + 1 if won == state.preferred else 1
    return Flake(take(state.preferred, won), streak, decided=streak >= beta)


@dataclass(frozen=True)
class Deciding(SnowProtocol[State]):
    """A protocol whose nodes stop asking after ``beta`` queries in a row won by one class."""

    beta: int = 20

    decides: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", checks.integer("beta", self.beta, least=1))


@dataclass(frozen=True)
class Snowflake(Deciding[Flake]):
    """Snowflake: Slush that counts how often in a row a class has won, and decides at beta.

    A query without a winner ends the streak. A node that has decided stops asking and never changes.

    Parameters
    ----------
    k : int
        Peers asked per query.
    alpha : int, sequence of int, or StrongConfidence
        Equal answers that make a class win, k/2 < alpha <= k: one threshold for all, one for each
        participant, or ``StrongConfidence(p)``.
    beta : int, default 20
        Queries in a row that one class must win before the node decides.
    weights : sequence of float, optional
        One for each participant: its answer counts so much, and the tally is rescaled to k.

    Examples
    --------
    A tie ends the streak. Then two wins, one after the other, decide.

    >>> from folkmoot import Snowflake
    >>> rule = Snowflake(k=10, alpha=7, beta=2)
    >>> state = rule.start(0)
    >>> for tally in ([3, 7], [5, 5], [2, 8], [0, 10]):
    ...     state = rule.update(state, tally)
    ...     print(state)
    Flake(preferred=1, streak=1, decided=False)
    Flake(preferred=1, streak=0, decided=False)
    Flake(preferred=1, streak=1, decided=False)
    Flake(preferred=1, streak=2, decided=True)
    """

    def start(self, vote: Vote) -> Flake:
        """Undecided, no query won yet."""
        return Flake(vote)

    def react(self, state: Flake, won: Vote) -> Flake:
        """Take the winner's class and count."""
        return count(state, won, self.beta)

    def class_of(self, state: Flake) -> Vote:
        """The class held now."""
        return state.preferred

    def decided(self, state: Flake) -> bool:
        """Whether the streak reached beta."""
        return state.decided
