"""Slush: take the class that wins the query, else keep your own.

Section 2.3.1 and appendix A.1 of the paper; Team Rocket et al. (2020), figure 4. The state of a node
is its class.
"""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.protocols.snow import SnowProtocol
from folkmoot.votes import NO_VOTE, Vote


def take(held: Vote, won: Vote) -> Vote:
    """The winner's class, or the old one if no class won."""
    return held if won == NO_VOTE else won


@dataclass(frozen=True)
class Slush(SnowProtocol[Vote]):
    """Slush: take the class that wins the query, else keep your own.

    A node has no memory but its class and never decides by itself. A node without a vote (-1) takes the first
    class that wins.

    Parameters
    ----------
    k : int
        Peers asked per query.
    alpha : int, sequence of int, or StrongConfidence
        Equal answers that make a class win, k/2 < alpha <= k: one threshold for all, one for each
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

    def start(self, vote: Vote) -> Vote:
        """The first vote is the state."""
        return vote

    def react(self, state: Vote, won: Vote) -> Vote:
        """Take the winner's class."""
        return take(state, won)

    def class_of(self, state: Vote) -> Vote:
        """The state itself."""
        return state
