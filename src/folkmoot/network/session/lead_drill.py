"""A node that lies in a motion with leaders, for drills.

It answers leaders with its lie. When it leads it cannot show anything but what others signed for it, so it
shows that to those peers to whom it would have named these labels on most inputs, as in the simulation
(``simulation/kernels``), where it decides so for every input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.network.session.leading import LeadTalking
from folkmoot.network.session.phases import Event
from folkmoot.network.session.revealing import Revealing
from folkmoot.network.wire import messages as m
from folkmoot.protocols.many import winners
from folkmoot.votes import UNCOLOURED

Lie = Callable[[int], Colours | None]  # what a peer is told; None is silence


class LyingLeadTalking(LeadTalking):
    """Is asked and does not ask, but for the rounds that it leads; it leaves when others do."""

    def __init__(self, lie: Lie, revealing: Revealing, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._lie, self._revealing = lie, revealing
        self._leads: set[int] = set()  # rounds that it has led

    def begin(self, now: float) -> None:
        """Its own salt counts, too, though it did not wait for those of others."""
        self._revealing.show_own()
        super().begin(now)

    def tick(self, now: float) -> Event | float:
        """Show what it was told, if it leads; it leaves when others do."""
        if self.has_ended(now) or len(self._minutes.closes) > self._minutes.seat.n // 4:
            return Event.TALKED
        if self._told_as_leader is not None:
            if now < self._show_by:
                return self._show_by
            self._show()
        return self._patience.talk_by

    def may_tell(self) -> bool:
        """It does not wait for the talk."""
        return self._minutes.voted is not None

    def on_ask(self, now: float, peer: int, message: m.Ask) -> m.Message | None:
        """Lie; and lead the round that the others have come to, if it is its own."""
        reply, number = super().on_ask(now, peer, message), message.round
        fresh = number not in self._leads and number <= self._last_number
        if fresh and self.salts.leader(number) == self._minutes.seat.place:
            self._leads.add(number)
            self.number = number
            self._lead(now)
            self._minutes.due = True
        return reply

    def on_lead(self, peer: int, message: m.Lead) -> None:
        """Lie to the leader of a round, which is the present one to it, whatever it is."""
        if message.round <= self._last_number:
            self._tell_leader(peer, message.round)

    def _send(self, show: m.Show) -> None:
        form, classes = self._minutes.motion.form, self._minutes.motion.classes
        rule = self._stance.rule.scaled(len(self.salts.places))
        assert isinstance(rule.alpha, int)  # noqa: S101 (a session has one threshold, its own)
        answers = [form.unpack(each.votes) for each in show.answers]
        won = winners(answers, rule.alpha, classes, asked=rule.k)
        for peer in self._minutes.others():
            lie = self._lie(peer)
            if lie is None:
                continue
            helps = int(np.count_nonzero((won != UNCOLOURED) & (won == lie)))
            if helps > np.count_nonzero((won != UNCOLOURED) & (won != lie)):
                self._minutes.tell(peer, show)
