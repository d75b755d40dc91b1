"""Snowball: Snowflake whose node prefers the class that has won most queries so far.

Team Rocket et al. (2020), figure 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from folkmoot.protocols.snowflake import Deciding, Flake, count
from folkmoot.votes import NO_VOTE, Vote


def is_ahead(wins: Any, held: Any, wins_of_held: Any) -> Any:
    """Whether a class with so many wins is preferred to the class held; for numbers, arrays and kernels.

    A node that holds none prefers whatever wins; ``wins_of_held`` can then be anything.
    """
    return (held == NO_VOTE) | (wins > wins_of_held)


class Ball(NamedTuple):
    """The preferred class, the Snowflake below it, and the queries that classes 0, 1, ... have won."""

    preferred: Vote
    flake: Flake
    wins: tuple[int, ...] = ()


@dataclass(frozen=True)
class Snowball(Deciding[Ball]):
    """Snowball: Snowflake whose node answers with the class that has won most queries so far.

    It decides like Snowflake, after ``beta`` queries in a row that one class has won.

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
    After two wins of class 0, two of class 1 are a tie, and a tie changes nothing. The third does.

    >>> from folkmoot import Snowball
    >>> rule = Snowball(k=10, alpha=7, beta=20)
    >>> state = rule.start(0)
    >>> for tally in ([7, 3], [7, 3], [3, 7], [3, 7], [3, 7]):
    ...     state = rule.update(state, tally)
    ...     print(rule.class_of(state), state.wins)
    0 (1,)
    0 (2,)
    0 (2, 1)
    0 (2, 2)
    1 (2, 3)
    """

    counts_wins: ClassVar[bool] = True

    def start(self, vote: Vote) -> Ball:
        """Prefers the first vote; no wins yet."""
        return Ball(vote, Flake(vote))

    def react(self, state: Ball, won: Vote) -> Ball:
        """One more win for the winner, and what follows from it."""
        if won == NO_VOTE or state.flake.decided:
            return self.finite(state, won, ahead=False)
        wins = [*state.wins, *[0] * (max(won, state.preferred) + 1 - len(state.wins))]
        wins[won] += 1
        ahead = is_ahead(wins[won], state.preferred, wins[state.preferred])
        return self.finite(state, won, ahead)._replace(wins=tuple(wins))

    def finite(self, state: Ball, won: Vote, ahead: bool) -> Ball:
        """Prefer the winner if it has more wins than the preferred class; count like Snowflake."""
        if state.flake.decided:
            return state
        return Ball(won if ahead else state.preferred, count(state.flake, won, self.beta), state.wins)

    def class_of(self, state: Ball) -> Vote:
        """The preferred class."""
        return state.preferred

    def decided(self, state: Ball) -> bool:
        """Whether the Snowflake below has decided."""
        return state.flake.decided
