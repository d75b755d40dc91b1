"""REVEALING: first votes are shown and listened to, so that a node knows whom to trust in the talk."""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.network.session.judgement import Judgement
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.phases import Event, Phase
from folkmoot.network.session.stance import Stance
from folkmoot.network.wire import messages as m
from folkmoot.network.wire.packing import unpack
from folkmoot.votes import UNCOLOURED


class Revealing:
    """The first votes of all; ends when this node has made up its mind about them."""

    def __init__(self, minutes: Minutes, patience: Patience, stance: Stance) -> None:
        self._minutes, self._patience, self._stance = minutes, patience, stance
        self._revealed: dict[int, Colours] = {}
        self._listening = False

    def begin(self, now: float) -> None:
        """Everybody is to be shown our first votes at once."""
        self._patience.begin(now)
        self._revealed[self._minutes.seat.place] = self._stance.colours

    def tick(self, now: float) -> Event | float:
        """Show ours, remind those who owe us theirs, then have them all listened to."""
        minutes, patience = self._minutes, self._patience
        if self._listening:
            if now < patience.talk_by:
                return patience.talk_by
            return self.judged(None)
        live = minutes.live_peers(now)
        owed = [peer for peer in live if peer not in self._revealed and peer not in minutes.late]
        if now >= patience.next_try:
            asked = patience.remind(live if patience.untried else owed, now)
            for peer in asked:
                minutes.tell(peer, self._reveal(want=peer not in self._revealed))
            owed = [peer for peer in owed if peer in asked]
        if owed and now < patience.reveal_by:
            return min(patience.next_try, patience.reveal_by)
        self._listening = True
        minutes.study = np.full((minutes.seat.n, minutes.motion.inputs), UNCOLOURED, dtype=np.int8)
        for place, votes in self._revealed.items():
            if place not in minutes.cheats:
                minutes.study[place] = votes
        peers = [votes for place, votes in enumerate(minutes.study) if place != minutes.seat.place]
        self._stance.settle_threshold(peers)
        return patience.talk_by

    def judged(self, judgement: Judgement | None) -> Event:
        """What was made of the first votes; None if nothing could be."""
        minutes, stance = self._minutes, self._stance
        if judgement is None:
            nothing = np.full(minutes.motion.inputs, UNCOLOURED, dtype=np.int8)
            sure = np.zeros(minutes.motion.inputs, dtype=np.float32)
            why = "there was no time to listen"
            judgement = Judgement(np.zeros(minutes.seat.n), nothing, sure, False, why)
        minutes.judgement = judgement
        stance.begin_with(judgement.start)
        stance.change_to(stance.colours)
        return Event.JUDGED

    def on_reveal(self, peer: int, message: m.Reveal) -> bool:
        """A peer shows its first votes, at any time; whether that may be."""
        minutes = self._minutes
        if peer not in minutes.commits or not minutes.motion.trust:
            return False
        wanted = peer not in self._revealed and peer not in minutes.late and not self._listening
        if wanted and minutes.opens(peer, message.salt, message.first):
            try:
                votes = unpack(message.first, minutes.motion.inputs, minutes.motion.classes)
            except ValueError:
                return False
            self._revealed[peer] = votes
        if message.want:
            # Only who has all commitments it will wait for shows its votes.
            early = minutes.phase in (Phase.VOTING, Phase.GATHERING)
            minutes.tell(peer, m.Pending(minutes.name) if early else self._reveal(want=False))
        return True

    def _reveal(self, *, want: bool) -> m.Reveal:
        own = self._minutes.own
        return m.Reveal(self._minutes.name, own.salt, own.first, want)
