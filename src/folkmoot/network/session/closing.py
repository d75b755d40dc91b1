"""CLOSING: this node signs what it holds, and collects what the others have signed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Final

from folkmoot.arrays import Array
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.phases import BEFORE_THE_TALK, Event, Phase
from folkmoot.network.session.stance import Holding
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.node.membership.roster import quorum

RELAYED_BYTES: Final = 1 << 19  # of closes, in reply to one Want


class Closing:
    """The signed closes of all; ends when nobody live owes one, or a quorum has closed in good time."""

    def __init__(self, minutes: Minutes, patience: Patience, stance: Holding, rng: random.Random) -> None:
        self._minutes, self._patience, self._stance, self._rng = minutes, patience, stance, rng
        self._since = 0.0
        self._marks: dict[int, bytes] = {}

    def begin(self, now: float) -> None:
        """Sign once; if an earlier start of this node has, say that again."""
        minutes = self._minutes
        own = minutes.closes.get(minutes.seat.place)
        if own is None:
            self.sign(now, self._stance.conclusion())
            return
        self.wait(now)
        self._stance.repeat(minutes.motion.form.unpack(own.decisions))
        minutes.tell_all(own)
        self._patience.begin(now)

    def wait(self, now: float) -> None:
        """From now on the others are waited for."""
        self._since = now

    def sign(self, now: float, decisions: Array) -> None:
        """Sign these decisions and tell everybody."""
        minutes = self._minutes
        close = self._close(decisions)
        minutes.closes[minutes.seat.place] = close
        self._stance.change_to(decisions)
        minutes.saves.append(close)
        minutes.tell_all(close)
        self.wait(now)
        self._patience.begin(now + self._patience.answer)

    def tick(self, now: float) -> Event | float:
        """Collect closes, from whoever has them."""
        minutes, patience = self._minutes, self._patience
        owed = [peer for peer in minutes.live_peers(now) if peer not in minutes.closes]
        enough = not minutes.motion.by_quorum or len(minutes.closes) >= quorum(minutes.seat.n)
        enough = enough or minutes.too_few_are_left()
        if not owed or (now - self._since > patience.close and enough):
            # A last look at what two others hold: who signed two closes cannot give the same one to all.
            self._want(self._two_of(minutes.live_peers(now)))
            return Event.CLOSED
        if now >= patience.next_try:
            owed = patience.remind(owed, now)
            others = self._two_of(minutes.live_peers(now))  # they may have closes of those who are gone
            self._want(sorted({*owed, *others}))
            if not owed:
                return Event.CLOSED
        return min(patience.next_try, patience.end)

    def on_close(self, message: m.Close) -> bool:
        """What a participant has signed, from whoever relays it; whether it is new and as it should be."""
        minutes, node = self._minutes, message.node
        known = minutes.closes.get(node)
        if node >= minutes.seat.n or node == minutes.seat.place or message == known:
            return False
        if not statements.holds(minutes.seat.keys[node], message.signature, statements.closing(message)):
            return False
        if known is not None:
            minutes.accuse(node, statements.TwoCloses(known, message))
            return False
        try:
            minutes.motion.form.unpack(message.decisions)
            minutes.motion.form.unpack_first(message.first)
        except ValueError:
            return False
        minutes.closes[node] = message
        minutes.saves.append(message)
        minutes.compare_with_commitment(node)
        return True

    def on_want(self, peer: int, message: m.Want) -> None:
        """A peer wants the closes that it does not have, by their marks."""
        minutes = self._minutes
        if minutes.phase in (*BEFORE_THE_TALK, Phase.TALKING):
            minutes.tell(peer, m.Pending(minutes.name))
        have = message.have
        lacking = [place for place in minutes.closes if have[8 * place : 8 * place + 8] != self._mark(place)]
        self._rng.shuffle(lacking)  # who asks again gets others
        room = RELAYED_BYTES
        for place in lacking:
            close = minutes.closes[place]
            room -= len(close.decisions) + len(close.first) + 200
            if room < 0:
                break
            minutes.tell(peer, close)

    def _close(self, decisions: Array) -> m.Close:
        minutes, own = self._minutes, self._minutes.own
        packed, place = minutes.motion.form.pack(decisions), minutes.seat.place
        bare = m.Close(minutes.name, place, packed, own.salt, own.first, own.reason, bytes(64))
        signature = minutes.seat.key.sign(statements.closing(bare))
        return m.Close(minutes.name, place, packed, own.salt, own.first, own.reason, signature)

    def _two_of(self, live: list[int]) -> list[int]:
        return self._rng.sample(live, min(2, len(live)))

    def _want(self, peers: Sequence[int]) -> None:
        marks = [self._mark(place) for place in range(self._minutes.seat.n)]
        want = m.Want(self._minutes.name, b"".join(marks))
        for peer in peers:
            self._minutes.tell(peer, want)

    def _mark(self, place: int) -> bytes:
        """Eight bytes that tell one close of a participant from another, and from none."""
        if place not in self._minutes.closes:
            return bytes(8)
        if place not in self._marks:
            said = statements.closing(self._minutes.closes[place])
            self._marks[place] = hashlib.sha256(said).digest()[:8]
        return self._marks[place]
