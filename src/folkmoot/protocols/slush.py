"""Slush: take the colour that wins the query, else keep your own.

Section 2.3.1 and appendix A.1 of the paper; Team Rocket et al. (2020), figure 4. The state of a node
is its colour.
"""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.protocols.snow import SnowProtocol
from folkmoot.votes import NO_VOTE, Colour


def take(colour: Colour, won: Colour) -> Colour:
    """The winner's colour, or the old one if no colour won."""
    return colour if won == NO_VOTE else won


@dataclass(frozen=True)
class Slush(SnowProtocol[Colour]):
    """Slush: take the colour that wins the query, else keep your own.

    A node has no memory but its colour and never decides by itself. An uncoloured node (-1) takes the first
    colour that wins.

    Parameters
    ----------
    k : int
        How many peers are asked in a query.
    alpha : int, sequence of int, or StrongConfidence
        How many equal answers make a colour win, k/2 < alpha <= k: one threshold for all, one for each
        participant, or ``StrongConfidence(p)``.
    weights : sequence of float, optional
        One for each participant: its answer counts so much, and the tally is rescaled to k.

    Examples
    --------
    Seven of ten answers turn a red node (0) blue (1); six do not.

    >>> from folkmoot import Slush
    >>> rule = Slush(k=10, alpha=7)
    >>> rule.update(0, [3, 7])
    1
    >>> rule.update(0, [4, 6])
    0
    """

    def start(self, colour: Colour) -> Colour:
        """The first vote is the state."""
        return colour

    def react(self, state: Colour, won: Colour) -> Colour:
        """Take the winner's colour."""
        return take(state, won)

    def colour(self, state: Colour) -> Colour:
        """The state itself."""
        return state
