"""Slush: take the colour that at least alpha of k sampled answers name, else keep your own.

Section 2.3.1 and appendix A.1 of the paper; Team Rocket et al. (2020), figure 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot import checks
from folkmoot.votes import Colour, Tally


@dataclass(frozen=True)
class Slush:
    """The rule of one query: k answers are asked for; alpha of them, k/2 < alpha <= k, turn a node."""

    k: int
    alpha: int

    def __post_init__(self) -> None:
        k, alpha = checks.query(self.k, self.alpha)
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "alpha", alpha)

    def update(self, colour: Colour, tally: Tally) -> Colour:
        """The node's colour after a query. An uncoloured node takes the first colour that reaches alpha."""
        for candidate, count in enumerate(tally):
            if count >= self.alpha:  # alpha > k/2: at most one colour can
                return candidate
        return colour
