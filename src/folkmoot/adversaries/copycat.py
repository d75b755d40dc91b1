"""Copycat: has no model and repeats what another participant says.

It adds weight to one participant's errors; commitments to first votes are the known remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from folkmoot.adversaries.adversary import Adversary, Knows, Sees
from folkmoot.votes import Colour


@dataclass(frozen=True)
class Copycat(Adversary):
    """Repeats the current colour of another participant.

    Parameters
    ----------
    target : int, default 0
        The participant that it repeats.

    Examples
    --------
    >>> from folkmoot.adversaries import Copycat
    >>> Copycat(target=4).answer(1, vote=0, truth=0, classes=2)
    1
    >>> Copycat(target=4).renumbered({4: 2})
    Copycat(target=2)
    """

    target: int = 0

    knows = Knows.POPULATION
    sees = Sees.TARGET

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """What the target holds now."""
        return seen

    @classmethod
    def against(cls, honest: int) -> Self:
        """One that repeats this participant."""
        return cls(target=honest)

    @property
    def follows(self) -> int:
        """The target."""
        return self.target

    def renumbered(self, place: Mapping[int, int]) -> Self:
        """One that repeats the same participant by its new number."""
        return replace(self, target=place[self.target])
