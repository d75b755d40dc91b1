"""Slush: take the colour that wins the query, else keep your own.

Section 2.3.1 and appendix A.1 of the paper; Team Rocket et al. (2020), figure 4. The state of a node
is its colour.
"""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.protocols.snow import SnowProtocol
from folkmoot.votes import UNCOLOURED, Colour


def take(colour: Colour, won: Colour) -> Colour:
    """The winner's colour, or the old one if no colour won."""
    return colour if won == UNCOLOURED else won


@dataclass(frozen=True)
class Slush(SnowProtocol[Colour]):
    """Slush(k, alpha): no memory but the colour; an uncoloured node takes the first colour that wins."""

    def start(self, colour: Colour) -> Colour:
        """The first vote is the state."""
        return colour

    def react(self, state: Colour, won: Colour) -> Colour:
        """Take the winner's colour."""
        return take(state, won)

    def colour(self, state: Colour) -> Colour:
        """The state itself."""
        return state
