"""GATHERING: everybody is sent this node's commitment, and owes its own."""

from __future__ import annotations

from folkmoot.network.session.minutes import Minutes
from folkmoot.network.session.patience import Patience
from folkmoot.network.session.phases import Event, Phase
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.node.membership.roster import faults


class Gathering:
    """The commitments of all; ends when nobody live owes one."""

    def __init__(self, minutes: Minutes, patience: Patience) -> None:
        self._minutes, self._patience = minutes, patience
        self._sent = False  # has everybody been sent our commitment?
        self._since = 0.0

    def begin(self, now: float) -> None:
        """Everybody is to be told at once."""
        self._since = now
        self._patience.begin(now)

    def tick(self, now: float) -> Event | float:
        """Tell all, then remind those who owe us theirs."""
        minutes, patience = self._minutes, self._patience
        told = minutes.commits.keys() | minutes.refusals.keys()
        missing = [p for p in minutes.others() if p not in told and minutes.health.live(p, now)]
        if now >= patience.next_try:
            asked = patience.remind(missing if self._sent else minutes.others(), now)
            for peer in asked:
                minutes.tell(peer, self._commit(want=peer not in minutes.commits))
            missing = [peer for peer in missing if peer in asked]
            self._sent = True
        most = len(minutes.commits) >= minutes.seat.n - faults(minutes.seat.n)
        by = patience.last_by(patience.commit_by, now, most=most)
        grace = self._since + patience.grace
        complete = not missing and (len(told) == minutes.seat.n or now >= grace)
        if complete or now >= by:
            return Event.GATHERED
        return min(patience.next_try if missing else grace, by)

    def on_commit(self, peer: int, message: m.Commit) -> bool:
        """A peer's commitment, at any time; whether it is one."""
        minutes = self._minutes
        known = minutes.commits.get(peer)
        if known is None or known.commitment != message.commitment:
            said = statements.committed(minutes.name, peer, message.commitment)
            if not statements.holds(minutes.seat.keys[peer], message.signature, said):
                return False
            if known is not None:
                minutes.accuse(peer, statements.TwoCommits(known, message))
                return False
            self._keep(peer, message)
        if message.want:
            ready = minutes.voted is not None
            minutes.tell(peer, self._commit(want=False) if ready else m.Pending(minutes.name))
        return True

    def _keep(self, peer: int, message: m.Commit) -> None:
        minutes = self._minutes
        minutes.commits[peer] = message
        if minutes.phase in (Phase.VOTING, Phase.GATHERING):
            minutes.saves.append(message)
        else:  # it may have heard others first: it may talk, and is not remembered as having voted
            minutes.late.add(peer)
        minutes.compare_with_commitment(peer)

    def _commit(self, *, want: bool) -> m.Commit:
        own = self._minutes.own.commit
        return m.Commit(own.motion, own.node, own.commitment, own.signature, want)
