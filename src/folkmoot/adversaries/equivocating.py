"""Equivocating: tells each asker something else, and the same asker always the same (two-faced).

Lamport, Shostak and Pease (1982) call such a traitor the heart of the Byzantine generals problem.
"""

from __future__ import annotations

from dataclasses import dataclass

from folkmoot.adversaries.adversary import Adversary, Sees
from folkmoot.votes import Colour


@dataclass(frozen=True)
class Equivocating(Adversary):
    """Tells each asker something else, the same asker always the same: participant i hears colour i mod C.

    Examples
    --------
    >>> from folkmoot.adversaries import Equivocating
    >>> [Equivocating().answer(asker, vote=1, truth=1, classes=2) for asker in range(4)]
    [0, 1, 0, 1]
    """

    sees = Sees.ASKER

    def answer(self, seen: int, *, vote: Colour, truth: Colour, classes: int) -> Colour:  # noqa: ARG002
        """A colour by the number of the asker."""
        return seen % classes
