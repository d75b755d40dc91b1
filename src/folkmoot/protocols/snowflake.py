"""Snowflake: Slush that counts how often in a row a colour has won, and decides at beta.

Team Rocket et al. (2020), figure 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from folkmoot import checks
from folkmoot.protocols.slush import take
from folkmoot.protocols.snow import SnowProtocol, State
from folkmoot.votes import UNCOLOURED, Colour


class Flake(NamedTuple):
    """Colour, how many queries in a row it has won, and whether that was enough."""

    colour: Colour
    streak: int = 0
    decided: bool = False


def count(state: Flake, won: Colour, beta: int) -> Flake:
    """Slush with a streak: a query without a winner ends it; a decided node never changes."""
    if state.decided:
        return state
    streak = 0 if won == UNCOLOURED else state.streak + 1 if won == state.colour else 1
    return Flake(take(state.colour, won), streak, decided=streak >= beta)


@dataclass(frozen=True)
class Deciding(SnowProtocol[State]):
    """A protocol whose nodes stop asking after ``beta`` queries in a row won by one colour."""

    beta: int = 20

    decides: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", checks.integer("beta", self.beta, least=1))


@dataclass(frozen=True)
class Snowflake(Deciding[Flake]):
    """Snowflake(k, alpha, beta)."""

    def start(self, colour: Colour) -> Flake:
        """Undecided, no query won yet."""
        return Flake(colour)

    def react(self, state: Flake, won: Colour) -> Flake:
        """Take the winner's colour and count."""
        return count(state, won, self.beta)

    def colour(self, state: Flake) -> Colour:
        """The colour held now."""
        return state.colour

    def decided(self, state: Flake) -> bool:
        """Whether the streak reached beta."""
        return state.decided
