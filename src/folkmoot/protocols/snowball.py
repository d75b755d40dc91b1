"""Snowball: Snowflake whose node prefers the colour that has won most queries so far.

Team Rocket et al. (2020), figure 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from folkmoot.protocols.snowflake import Deciding, Flake, count
from folkmoot.votes import UNCOLOURED, Colour


class Ball(NamedTuple):
    """The preferred colour, the Snowflake below it, and the queries that colours 0, 1, ... have won."""

    preferred: Colour
    flake: Flake
    wins: tuple[int, ...] = ()


@dataclass(frozen=True)
class Snowball(Deciding[Ball]):
    """Snowball(k, alpha, beta): answers with the colour of most wins, decides like Snowflake."""

    def start(self, colour: Colour) -> Ball:
        """Prefers the first vote; no wins yet."""
        return Ball(colour, Flake(colour))

    def react(self, state: Ball, won: Colour) -> Ball:
        """One more win for the winner, preferred once it has more wins than the preferred colour."""
        if state.flake.decided:
            return state
        flake = count(state.flake, won, self.beta)
        if won == UNCOLOURED:
            return state._replace(flake=flake)
        wins = [*state.wins, *[0] * (max(won, state.preferred) + 1 - len(state.wins))]
        wins[won] += 1
        unseated = state.preferred == UNCOLOURED or wins[won] > wins[state.preferred]
        return Ball(won if unseated else state.preferred, flake, tuple(wins))

    def colour(self, state: Ball) -> Colour:
        """The preferred colour."""
        return state.preferred

    def decided(self, state: Ball) -> bool:
        """Whether the Snowflake below has decided."""
        return state.flake.decided

    def canonical(self, state: Ball, colours: int) -> Ball:
        """Only differences of wins matter, and none once decided."""
        if state.flake.decided:
            return state._replace(wins=())
        wins = [*state.wins, *[0] * (colours - len(state.wins))]
        return state._replace(wins=tuple(win - min(wins) for win in wins))
