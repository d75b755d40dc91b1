"""Who answers: silent peers are benched and tried again with back-off, so that a query goes to live ones."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 60.0  # seconds on the bench


class Health:
    """What one node knows of how its peers answer, over all motions."""

    def __init__(self, n: int) -> None:
        self._failures = [0] * n
        self._until = [0.0] * n  # on the bench until then

    def live(self, place: int, now: float) -> bool:
        """Whether to ask this peer: it has not failed, or its time on the bench is over."""
        return self._failures[place] == 0 or now >= self._until[place]

    def failed(self, place: int, now: float, patience: float) -> None:
        """It did not answer in time: twice as long on the bench as the last time."""
        if self._failures[place] and now < self._until[place]:
            return  # another motion has benched it already
        self._failures[place] += 1
        self._until[place] = now + min(LONGEST, patience * 2.0 ** min(30, self._failures[place]))

    def alive(self, place: int) -> None:
        """It has said something."""
        self._failures[place] = 0

    def benched(self, now: float) -> list[int]:
        """Who is not asked at present."""
        return [place for place in range(len(self._until)) if not self.live(place, now)]
