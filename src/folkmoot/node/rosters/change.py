"""One member's part in agreeing on what follows a roster: the agreement of a motion, on one set.

The vote is on the name of a successor to which enough members have consented, as far as a node holds these
consents itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.successor import change_of
from folkmoot.node.session.agreement import Agreement, Pace, Source, Stages
from folkmoot.node.session.poll import order_of
from folkmoot.node.session.session import Session
from folkmoot.node.session.statement import Sign


class Ready(Source):
    """Successors with enough consents, by name. Nobody is waited for, and consents are passed on apart."""

    def __init__(self, ready: Callable[[], Sequence[bytes]]) -> None:
        self.since = {}
        self._ready = ready

    def makeable(self) -> bool:
        return bool(self._ready())

    def complete(self) -> bool:
        return True

    def make(self) -> bytes:
        return self._ready()[0]

    def well_formed(self, body: bytes, _proposer: int | None) -> bool:
        return len(body) == len(bytes(32))

    def holds(self, body: bytes) -> bool:
        """Whether this node holds enough consents to it."""
        return body in self._ready()


class Change(Session[Stages]):
    """One member's part in agreeing on what follows ``old``."""

    def __init__(
        self, old: Roster, me: int, sign: Sign, ready: Callable[[], Sequence[bytes]], *, delta: float,
        records: Sequence[bytes] = (), now: float = 0.0,
    ) -> None:  # fmt: skip
        """``ready`` names the successors with enough consents; ``records`` is the journal, in order."""
        super().__init__(change_of(old.moot), old.members, me, sign, polls=1, delta=delta, now=now)
        self._ready = ready
        self._begin(records, now)

    @property
    def stage(self) -> Agreement:
        """The agreement, the only one."""
        return self.polls[0].stage

    @property
    def decided(self) -> bytes | None:
        """The name of the successor that was agreed on."""
        return None if self.stage.decided is None else self.stage.bodies[self.stage.decided]

    @property
    def _agreeing(self) -> bool:
        """It has begun, here or at others, and is not over."""
        return self.stage.decided is None and (self.stage.started is not None or self.book.size > 0)

    def _open(self, now: float) -> None:
        only = Stages(0)
        order, source = order_of(self.name, 0, self.members.n), Ready(self._ready)
        only.agreements = [
            Agreement(
                0, 0, order=order, pace=Pace(self._delta), opened=now, source=source, book=self.book,
                signer=self.signer,
            )
        ]  # fmt: skip
        self.polls.append(only)

    def _step(self, now: float) -> None:
        before = self._agreeing
        self.stage.step(now)
        if self._agreeing:
            if not before:
                self._catchup.begin(now)
            self._catchup.fetch(self.polls[0])
