"""A node that lies in a federated motion, for drills.

What an adversary would answer to a query it says here of every ballot and in all phases at once, to whom it
would answer it, as in the simulation (``simulation/federated_hearing.py``). It shows the quorum set that
helps it most, which it satisfies by itself. One that tells each something else signs ballots that exclude
each other, and may be found out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.federated.agreement import MOST_COUNTERS, Statement
from folkmoot.federated.ballots import PHASES
from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.network.session.federated_stance import FederatedStance
from folkmoot.network.session.federating import Federating, Federation
from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.phases import Event
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.ballots import pack_statement

Lie = Callable[[int], Colours | None]  # what a peer is told; None is silence


class LyingFederatedStance(FederatedStance):
    """What a liar tells whom."""

    def __init__(self, minutes: Minutes, lie: Lie) -> None:
        super().__init__(minutes)
        self._lie = lie

    def lie_to(self, peer: int) -> Colours | None:
        """What it tells a peer, given what its model said; None is silence."""
        return self._lie(peer)


class LyingFederating(Federating):
    """Tells each peer its lie, at every counter that is spoken of; hears nobody."""

    _stance: LyingFederatedStance

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._number = 0
        self._highest = 1  # counter that was heard of
        federation = self._federation
        if federation is not None:
            own = federation.names[self._minutes.seat.place]
            self._federation = Federation(federation.names, QuorumSet(1, [own]))

    def begin(self, now: float) -> None:
        """Say by which quorum set it decides: one that it satisfies alone."""
        self._began = self._next_turn = now
        choice = self._own_choice()
        if choice is not None:
            self._minutes.tell_all(choice)

    def tick(self, now: float) -> Event | float:
        """Lie again now and then; it leaves when others do."""
        closed = len(self._minutes.closes) > self._minutes.seat.n // 4
        if now >= self._patience.talk_by or closed:
            return Event.TALKED
        if now >= self._next_turn:
            self._next_turn = now + 6 * self._unit
            for peer in self._minutes.others():
                self._tell(peer)
        return min(self._next_turn, self._patience.talk_by)

    def receive(self, now: float, peer: int, message: m.Choice | m.Ballot | m.Lacking) -> bool:
        """Note how far the others are; answer nobody who lacks something."""
        if isinstance(message, m.Lacking):
            return False
        super().receive(now, peer, message)
        if isinstance(message, m.Ballot) and message.node in self._minutes.ballots:
            heard = self.box.read(self._minutes.ballots[message.node]).counter.max(initial=1)
            self._highest = min(max(self._highest, int(heard)), MOST_COUNTERS)
        return False

    def _tell(self, peer: int) -> None:
        minutes = self._minutes
        lie = self._stance.lie_to(peer)
        choice = minutes.choices.get(minutes.seat.place)
        if lie is None or choice is None:
            return
        said = np.broadcast_to(lie, (len(PHASES), self._highest, lie.size))
        statement = Statement(statements.set_of(choice).hex(), said, np.full(lie.size, self._highest), lie)
        self._number += 1
        self.queries += 1
        packed = pack_statement(statement, minutes.motion.classes)
        place, digest = minutes.seat.place, statements.set_of(choice)
        number = minutes.seat.incarnation % (1 << 16) * (1 << 15) + self._number
        bare = m.Ballot(minutes.name, place, number, digest, packed, bytes(64))
        signature = minutes.seat.key.sign(statements.balloted(bare))
        minutes.tell(peer, m.Ballot(minutes.name, place, number, digest, packed, signature))
