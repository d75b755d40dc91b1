"""How long a session waits, and for whom: deadlines, reminders, and a bench for those who do not answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

COMMIT_SHARE: Final = 0.35  # of the time until the deadline, for votes and commitments
REVEAL_SHARE: Final = 0.5  # for revealing, where there is trust
TALK_SHARE: Final = 0.85  # then the talk ends, whatever has been reached
LEAST_AGAIN: Final = 1.0  # seconds for those who have not committed when n - f have
MOST_AGAIN: Final = 0.1  # of the time until the deadline, for the same
GRACE: Final = 0.5  # seconds in which those who seem to be gone may still commit
TRIES: Final = 2  # times that a peer is asked for what it owes, before it is benched
LONGEST: Final = 60.0  # seconds on the bench
_NEWEST: Final = 0.25  # weight of the newest latency beside the earlier ones


class Health:
    """What one node knows of how its peers answer, over all motions.

    Silent peers are benched and tried again with back-off, so that a query goes to live ones.
    """

    def __init__(self, n: int) -> None:
        self.failing: set[int] = set()  # who has not answered in time, and has not said anything since
        self._failures = [0] * n
        self._until = [0.0] * n  # on the bench until then
        self._latency: dict[int, float] = {}  # seconds from a question to the reply, smoothed

    def live(self, place: int, now: float) -> bool:
        """Whether to ask this peer: it has not failed, or its time on the bench is over."""
        return self._failures[place] == 0 or now >= self._until[place]

    def failed(self, place: int, now: float, patience: float) -> None:
        """It did not answer in time: twice as long on the bench as the last time."""
        if self._failures[place] and now < self._until[place]:
            return  # another motion has benched it already
        self._failures[place] += 1
        self.failing.add(place)
        self._until[place] = now + min(LONGEST, patience * 2.0 ** min(30, self._failures[place]))

    def alive(self, place: int) -> None:
        """It has said something."""
        self._failures[place] = 0
        self.failing.discard(place)

    def benched(self, now: float) -> list[int]:
        """Who is not asked at present."""
        return [place for place in range(len(self._until)) if not self.live(place, now)]

    def measured(self, place: int, seconds: float) -> None:
        """It took so long to reply."""
        latency = self._latency
        before = latency.get(place, seconds)
        latency[place] = before + _NEWEST * (seconds - before)

    def latency(self, waiting: Collection[int] = ()) -> float:
        """The median over peers of how long they take: of all that have replied, and of those waited for.

        Infinite until more than half of these have replied once: the first to reply are the fast ones.
        """
        times = sorted(self._latency.values())
        never = 0 if self.knows(waiting) else sum(place not in self._latency for place in waiting)
        middle = (len(times) + never) // 2  # the higher one of two
        return times[middle] if middle < len(times) else float("inf")

    def knows(self, places: Collection[int]) -> bool:
        """Whether the latency of all of these is known."""
        return self._latency.keys() >= set(places)


class Patience:
    """How long one session waits: for each phase, for an answer, and before it reminds those who owe one."""

    def __init__(self, seconds: float, health: Health, n: int, now: float, end: float) -> None:
        """For a motion of this many seconds, which ends at ``end``."""
        self.answer = min(3.0, max(0.25, seconds / 15))  # seconds for one answer
        self.end = end
        self.commit_by = end - (1.0 - COMMIT_SHARE) * seconds
        self.reveal_by = end - (1.0 - REVEAL_SHARE) * seconds
        self.talk_by = end - (1.0 - TALK_SHARE) * seconds
        self.next_try = now
        self._seconds, self.began = seconds, now
        self._health = health
        self._tries = [0] * n
        self._most_since: float | None = None  # when all but f had given what they owe

    def prolong(self, end: float) -> None:
        """There is more time than was said at first."""
        more, self.end = end - self.end, end
        self.commit_by += more
        self.reveal_by += more
        self.talk_by += more

    def last_by(self, by: float, now: float, *, most: bool) -> float:
        """Until when those who owe something are waited for.

        Until ``by`` as long as more than f owe it. Once ``most`` have given it, each of the rest may be one
        that only says that it is not as far yet: they have as long again as the others took.
        """
        if self._most_since is None:
            if not most:
                return by
            self._most_since = now
            half = (self.others_by(now) - now) / 2  # what they said may be lost: they are reminded in time
            self.next_try = min(self.next_try, now + half)
        return min(by, self.others_by(self._most_since))

    def others_by(self, since: float) -> float:
        """Until when the last are waited for, if most had come by then: as long again as these took.

        A second at the least, a tenth of the motion at the most.
        """
        return since + min(max(since - self.began, LEAST_AGAIN), MOST_AGAIN * self._seconds)

    @property
    def grace(self) -> float:
        """Seconds for those on the bench, who may be about to come back: all may have just been started."""
        return min(GRACE, self.answer)

    @property
    def pause(self) -> float:
        """Seconds until a node that finds nobody to ask looks again."""
        return self.answer / 4

    @property
    def close(self) -> float:
        """Seconds for those who say that they are still talking; not for ever, since they may be liars."""
        return 3 * self.answer

    def begin(self, first: float) -> None:
        """Nobody has been reminded yet; the first to be are so at this time."""
        self.next_try = first
        self._most_since = None
        self._tries = [0] * len(self._tries)

    @property
    def untried(self) -> bool:
        """Whether nobody has been asked since the beginning."""
        return not any(self._tries)

    def remind(self, owing: Iterable[int], now: float) -> list[int]:
        """Those of them to be asked (again) now; a peer that was asked often enough in vain is benched."""
        asked = []
        for peer in owing:
            if self._tries[peer] >= TRIES:
                self.give_up(peer, now)
            else:
                self._tries[peer] += 1
                asked.append(peer)
        self.next_try = now + self.answer
        return asked

    def still_there(self, peer: int) -> None:
        """It says that it needs more time."""
        self._tries[peer] = 0

    def give_up(self, peer: int, now: float) -> None:
        """It did not answer: to the bench."""
        self._health.failed(peer, now, self.answer)
