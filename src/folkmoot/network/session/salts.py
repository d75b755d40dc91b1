"""Who leads which round of a motion, and whom it asks: by the salts that all have revealed.

The rules are ``leader_order`` and ``leader_sample`` of ``folkmoot.protocols.leaders``. They need the same
salts everywhere, and a participant may reveal to some only, or late. So

- the salts that count are those of participants whose commitments were there in time: all but f, or one, of
  those who told their marks held them when they froze (``Comparing.late_for_all``). Who chooses its salt when
  it knows those of others is left out;
- at the beginning of the talk a node asks others for what was not revealed to it (``Unseen``);
- what it learns later it passes on to all, once (``Seen``). From then on the order is another one. It is the
  same for all again when all have heard of it: each participant can disturb it once.

Nodes that do not agree who leads lose what leaders are good for, a round long, and nothing else.
"""

from __future__ import annotations

import random
from typing import Final

from folkmoot.network.session.closing import RELAYED_BYTES
from folkmoot.network.session.comparing import Comparing
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.phases import BEFORE_THE_TALK
from folkmoot.network.wire import messages as m
from folkmoot.protocols.leaders import leaders_and_samples

_TRIES: Final = 4  # times that others are asked for what is lacking
_MOST_REPLIES: Final = 8  # to one peer that lacks something


class Salts:
    """The salts of one motion as one node knows them."""

    def __init__(self, minutes: Minutes, comparing: Comparing, rng: random.Random) -> None:
        self._minutes, self._comparing, self._rng = minutes, comparing, rng
        self._drawn_from = (-1, -1)  # reveals and marks that were known when the lots were drawn
        self.places: tuple[int, ...] = ()  # who can lead
        self._order: tuple[int, ...] = ()
        self._samples: list[tuple[int, ...]] = []
        self._tries, self._next_try = _TRIES, 0.0
        self._replies = [0] * minutes.seat.n

    def leader(self, number: int) -> int | None:
        """Who leads a round; nobody, if fewer than two have revealed."""
        self._draw()
        return self.places[self._order[number % len(self._order)]] if self._order else None

    def sample(self, leader: int) -> tuple[int, ...]:
        """Whom it asks."""
        self._draw()
        if not self._order or leader not in self.places:
            return ()
        return tuple(self.places[at] for at in self._samples[self.places.index(leader)])

    def _draw(self) -> None:
        known = self._minutes.reveals
        found = (len(known), self._comparing.told)
        if found == self._drawn_from:
            return
        self._drawn_from = found
        places = tuple(sorted(known.keys() - self._comparing.late_for_all()))
        if places == self.places:
            return
        self.places, self._order, self._samples = places, (), []
        if len(places) > 1:
            k = min(self._minutes.motion.k, len(places) - 1)
            self._order, self._samples = leaders_and_samples([known[p].salt for p in places], k)

    # ---- what was not revealed to all --------------------------------------------------------

    def ask_for_lacking(self, now: float, wait: float) -> None:
        """Ask two others, a few times, for what those have revealed of whom this node knows nothing."""
        minutes = self._minutes
        lacking = set(range(minutes.seat.n)) - minutes.reveals.keys() - minutes.refusals.keys()
        if not lacking or not self._tries or now < self._next_try:
            return
        self._tries, self._next_try = self._tries - 1, now + wait
        have = bytearray((minutes.seat.n + 7) // 8)
        for place in minutes.reveals:
            have[place // 8] |= 1 << place % 8
        live = minutes.live_peers(now)
        for peer in self._rng.sample(live, min(2, len(live))):
            minutes.tell(peer, m.Unseen(minutes.name, bytes(have)))

    def on_unseen(self, peer: int, message: m.Unseen) -> None:
        """A peer lacks what some have revealed; who has not committed is shown nothing."""
        minutes = self._minutes
        if minutes.phase in BEFORE_THE_TALK or peer not in minutes.commits:
            return
        self._replies[peer] += 1
        if self._replies[peer] > _MOST_REPLIES:
            return
        room = RELAYED_BYTES
        for place in [*minutes.reveals]:
            has = place // 8 < len(message.have) and message.have[place // 8] >> place % 8 & 1
            if not has and place in minutes.commits:
                passed = self._passed(place)
                room -= len(passed.first) + 300
                if room < 0:
                    break
                minutes.tell(peer, passed)

    def pass_on(self, place: int) -> None:
        """Tell all what has been revealed so late that others may not know it."""
        for peer in self._minutes.others():
            if peer != place and peer in self._minutes.commits:
                self._minutes.tell(peer, self._passed(place))

    def _passed(self, place: int) -> m.Seen:
        reveal, commit = self._minutes.reveals[place], self._minutes.commits[place]
        return m.Seen(reveal.motion, place, commit.signature, reveal.salt, reveal.first, reveal.signature)
