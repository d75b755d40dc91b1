"""REVEALING: first votes are shown and listened to, so that a node knows whom to trust in the talk.

They are listened to after the commitments were compared (``comparing.py``). Those whose commitment was not
there when the gathering ended are shown them only then.
"""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Array
from folkmoot.network.session.comparing import Comparing
from folkmoot.network.session.judgement import Judgement
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.phases import Event, Phase
from folkmoot.network.session.stance import Shown
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.node.membership.roster import faults


class Revealing:
    """The first votes of all; ends when this node has made up its mind about them."""

    def __init__(self, minutes: Minutes, patience: Patience, stance: Shown, comparing: Comparing) -> None:
        self._minutes, self._patience, self._stance = minutes, patience, stance
        self._comparing = comparing
        self._revealed: dict[int, Array] = {}
        self._listening = False
        self._signature: bytes | None = None  # of our own reveal

    def begin(self, now: float) -> None:
        """Everybody is to be told our marks and shown our first votes at once."""
        self._comparing.freeze()
        self._patience.begin(now)
        self._revealed[self._minutes.seat.place] = self._own_first()

    def tick(self, now: float) -> Event | float:
        """Show ours, remind those who owe us theirs or their marks, then have them all listened to."""
        minutes, patience = self._minutes, self._patience
        if self._listening:
            if now < patience.talk_by:
                return patience.talk_by
            return self.judged(None)
        live = [peer for peer in minutes.live_peers(now) if peer not in minutes.late]
        uncompared = self._comparing.owing(live)
        unopened = self._lacking(live)
        owing = uncompared | unopened
        owed = [peer for peer in live if peer in owing or peer not in self._revealed]
        if now >= patience.next_try:
            everybody = patience.untried
            asked = patience.remind(live if everybody else owed, now)
            for peer in asked:
                if everybody or peer in uncompared:
                    self._comparing.tell(peer, want=peer in uncompared)
                if everybody or peer not in self._revealed:
                    minutes.tell(peer, self._reveal(want=peer not in self._revealed))
                if peer in unopened and not everybody:
                    self._remind(peer)
            owed = [peer for peer in owed if peer in asked]
        most = 1 + len(live) - len(owed) >= minutes.seat.n - faults(minutes.seat.n)
        by = patience.last_by(patience.reveal_by, now, most=most)
        if owed and now < by:
            return min(patience.next_try, by)
        minutes.late |= self._comparing.late_elsewhere() - minutes.refusals.keys()
        self._prepare_study()
        form = minutes.motion.form
        nothing = form.nothing(minutes.motion.inputs)
        shown = np.stack([nothing] * minutes.seat.n)
        for place, votes in self._revealed.items():
            if place not in minutes.cheats and not self._too_late(place):
                shown[place] = votes
        self._listening = True
        peers = [form.first_colours(shown[place]) for place in minutes.others()]
        self._stance.settle_threshold(peers)
        shown[sorted(minutes.late)] = nothing  # who may have copied is not learnt from
        minutes.study = shown
        return patience.talk_by

    def _own_first(self) -> Array:
        """The first votes of this node."""
        return self._stance.held

    def _lacking(self, live: list[int]) -> set[int]:  # noqa: ARG002 (nothing but votes and marks is owed)
        """Who owes something more than first votes and marks."""
        return set()

    def _remind(self, peer: int) -> None:
        """Ask a peer for that."""

    def _prepare_study(self) -> None:
        """All that came in time is there, and is going to be listened to."""

    def judged(self, judgement: Judgement | None) -> Event:
        """What was made of the first votes; None if nothing could be."""
        minutes, stance = self._minutes, self._stance
        if judgement is None:
            nothing = minutes.motion.form.opening(minutes.motion.form.nothing(minutes.motion.inputs))
            sure = np.zeros(minutes.motion.asked, dtype=np.float32)
            why = "there was no time to listen"
            judgement = Judgement(np.zeros(minutes.seat.n), nothing, sure, False, why)
        minutes.judgement = judgement
        stance.begin_with(judgement.start)
        stance.change_to(stance.held)
        return Event.JUDGED

    def on_reveal(self, peer: int, message: m.Reveal) -> bool:
        """A peer shows its first votes, at any time; whether that may be."""
        minutes = self._minutes
        if peer not in minutes.commits or not minutes.motion.reveals:
            return False
        wanted = peer not in self._revealed and not self._too_late(peer)
        if wanted:
            said = statements.revealed(message, peer)
            if not statements.holds(minutes.seat.keys[peer], message.signature, said):
                return False
            if not minutes.opens(peer, message.salt, message.first):
                commit, fingerprint = minutes.commits[peer], minutes.seat.fingerprints[peer]
                minutes.accuse(peer, statements.BrokenReveal(commit, message, fingerprint))
                return True
            try:
                votes = minutes.motion.form.unpack_first(message.first)
            except ValueError:
                return False
            self._revealed[peer] = votes
        if message.want:
            # Only who has all commitments it will wait for shows its votes. Who had not committed by then
            # waits until the others are as far, too, or it could commit to a copy elsewhere.
            waits = peer in minutes.late and minutes.phase is Phase.REVEALING and not self._listening
            early = minutes.phase in (Phase.VOTING, Phase.GATHERING) or waits
            minutes.tell(peer, m.Pending(minutes.name) if early else self._reveal(want=False))
        return True

    def _too_late(self, place: int) -> bool:
        """Whether first votes do not count any more."""
        return place in self._minutes.late or self._listening

    def _reveal(self, *, want: bool) -> m.Reveal:
        minutes, own = self._minutes, self._minutes.own
        if self._signature is None:
            bare = m.Reveal(minutes.name, own.salt, own.first, bytes(64), want)
            self._signature = minutes.seat.key.sign(statements.revealed(bare, minutes.seat.place))
        return m.Reveal(minutes.name, own.salt, own.first, self._signature, want)
