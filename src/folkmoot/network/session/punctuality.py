"""Who answers in time, in one motion, and how long a round waits: no minority makes all the others slow.

A round waits for 4 times the median over peers of their measured latency. Fewer than half of them cannot
move a median, so a peer that answers at the last moment costs a round no more than that. A peer late in 3 of
its last 10 rounds is not asked again in this motion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from folkmoot.network.session.patience import Health, Patience
from folkmoot.node.membership.roster import faults, quorum

MEDIANS: Final = 4.0  # latencies that a round waits
SHORTEST: Final = 0.05  # seconds that it waits at least
MOST_LATE: Final = 3  # rounds of the last ten, and a peer is not asked any more
_LAST_TEN: Final = (1 << 10) - 1


class Punctuality:
    """What one session knows of how fast its peers answer."""

    def __init__(self, patience: Patience, health: Health, n: int) -> None:
        self.slow: set[int] = set()  # not asked any more in this motion
        self._patience, self._health = patience, health
        self._faults, self._quorum = faults(n), quorum(n)
        self._asked: list[dict[int, float]] = [{} for _ in range(n)]  # rounds that each owes, asked when
        self.word = [float("-inf")] * n  # when each last asked us: it is there, and what it owes may be lost
        self._late: set[int] = set()  # of those asked last
        self._history = [0] * n  # a bit for each of the last ten rounds in which it was asked: 1 is late

    def seconds(self, waiting: Collection[int]) -> float:
        """How long a round that waits for these peers lasts, as far as one can tell at present."""
        usual = MEDIANS * self._health.latency(waiting)
        return min(max(usual, SHORTEST), self._patience.answer)

    def asked(self, peers: Iterable[int], number: int, now: float) -> None:
        """They were asked in this round."""
        for peer in peers:
            self._asked[peer][number] = now
        self._late.difference_update(peers)

    def replied(self, peer: int, number: int, now: float) -> None:
        """It has replied in this round, or to one that is over: latency is that of late ones too.

        Else a network that has become slower for all would never be seen to be so.
        """
        owed = self._asked[peer]
        when = owed.pop(number, None)
        if when is None:
            return
        if self._history[peer] and peer not in self._late and not (owed and max(owed) > number):
            self._history[peer] = self._history[peer] << 1 & _LAST_TEN
        if owed:
            for earlier in [each for each in owed if each < number]:
                del owed[earlier]
        took = now - when
        self._health.measured(peer, took if took < self._patience.answer else self._patience.answer)

    def late(self, peers: Iterable[int]) -> None:
        """The round has waited for these long enough.

        No more than ``faults(n)`` are left out for it. If more are late, it is bad weather and not an attack
        that is promised to be borne, and honest peers would be lost.
        """
        for peer in peers:
            if peer in self._late:
                continue
            self._late.add(peer)
            self._history[peer] = (self._history[peer] << 1 | 1) & _LAST_TEN
            if self._history[peer].bit_count() >= MOST_LATE and len(self.slow) < self._faults:
                self.slow.add(peer)

    def give_up(self, now: float) -> None:
        """Bench, in all motions, whoever has been silent for as long as any answer may take."""
        for peer in sorted(self._late):
            owed = self._asked[peer]
            if owed and now - max(min(owed.values()), self.word[peer]) >= self._patience.answer:
                owed.clear()
                self._patience.give_up(peer, now)

    def usable(self, live: Sequence[int]) -> list[int]:
        """Those of the live peers to be asked: not the slow ones, unless too few are left for a quorum."""
        punctual = [peer for peer in live if peer not in self.slow]
        return punctual if len(punctual) + 1 >= self._quorum else list(live)
