"""The rosters of a moot at a running node: it tells others what is proposed, and agrees with them.

- What this node has consented to itself it sends to all members; consents of others to some, at random.
- ``Rosters`` says what is held: when a peer is reached, when it seems to hold more, and to some now and then.
  Whoever gets it sends the consents, successors or newer rosters that are lacking.
- Once enough have consented to a successor, the members' nodes agree on it (``change.py``), or on another one
  of which that is true, and go over to it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

from folkmoot.node.evidence import what_of
from folkmoot.node.log import Journal
from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.change import Change
from folkmoot.node.rosters.history import Heard, Proposal, RosterHistory
from folkmoot.node.session.statement import Quorum
from folkmoot.node.transports.budget import Budgets
from folkmoot.node.transports.transport import Transport
from folkmoot.node.wire.messages import (
    MOST_BYTES,
    MOST_TOLD,
    Agreeing,
    Followed,
    OfRosters,
    Proposed,
    Rosters,
    encode,
    read_of_rosters,
)

DELTA: Final = 0.5  # seconds that a frame takes at the most, while all is well
BUSY: Final = 2.0  # seconds between two times that some others are told what is held, while it changes
QUIET: Final = 30.0  # and while it does not
FANOUT: Final = 3
AGAIN: Final = 2.0  # seconds after which the same content is sent to the same peer again; then twice as many
ASKED: Final = (2.0, 40.0)  # ``Rosters`` of a peer that are looked at: in a second, and saved up
NEWS: Final = (5.0, 200.0)  # the same, of all other frames
PRICE: Final = 8  # signatures that cost as much as a frame
MOST_PAID: Final = 100.0  # frames that one costs at the most
_REFUSED: Final = {
    "forged": "refused_forged_roster", "too many": "refused_too_many_rosters", "old": "refused_old_roster",
}  # fmt: skip
_STATEMENT: Final = 120  # bytes of a signed statement, at the least


class RosterExchange:
    """One node's part in how the rosters of its moot follow each other.

    It sends frames of its own (kinds 16 to 19) through ``transport``, which knows peers by fingerprint. It
    does not attach itself: whoever receives frames hands these kinds to ``received``. Refusals are counted in
    ``counts``, as ``refused_...``.
    """

    def __init__(
        self, history: RosterHistory, transport: Transport[bytes], me: Identity, *, rng: random.Random,
        log: Journal | None = None,
    ) -> None:  # fmt: skip
        self.history, self.transport = history, transport
        self.counts = transport.counts
        self._me, self._rng = me, rng
        self._own = bytes.fromhex(me.fingerprint)
        self._log = (log or Journal("error")).bound(node=me.name)
        self._changed: Callable[[], None] | None = None  # None: it has not been started
        self._change: Change | None = None
        self._about: Roster | None = None  # whose successor ``_change`` is about
        self._accused: set[int] = set()  # who has contradicted itself in it
        self._told: dict[bytes, set[int]] = {}  # who has consented to what, as others were told
        self._asked, self._news = Budgets(*ASKED), Budgets(*NEWS)
        self._strange: dict[bytes, bytes] = {}  # the last roster that is not known here, of each peer
        self._replied: dict[bytes, float] = {}  # when a peer was last asked for what it seems to hold
        self._sent: dict[tuple[bytes, bytes], tuple[float, float]] = {}  # to whom what: when, and the pause
        self._cancel: Callable[[], None] | None = None

    @property
    def rosters(self) -> Sequence[Roster]:
        """Those that this node has gone through, from the one in its file to the one in force."""
        return self.history.rosters

    def start(self, changed: Callable[[], None]) -> None:
        """Begin to tell others. ``changed`` is called when a proposal, or the roster in force, is another."""
        self._changed = changed
        self.history.changed()
        self.history.refresh()
        self._told = self._consents()
        self._take_up()
        self._go_on()
        self._tell_later()

    def received(self, peer: bytes, frame: bytes) -> None:
        """A frame about rosters, of a peer known by its fingerprint; one that is no good is counted."""
        if self._changed is None:
            return
        now = self.transport.now()
        budget = (self._asked if frame[1:2] == b"\x10" else self._news)[peer]
        if budget.pay(now):
            self.counts["refused_too_often"] += 1
            return
        try:
            message = read_of_rosters(frame)
            if budget.pay(now, min(_signatures(message) / PRICE, MOST_PAID)):
                self.counts["refused_too_often"] += 1
            elif isinstance(message, Rosters):
                self._on_rosters(peer, message)
            elif isinstance(message, Agreeing):
                self._on_agreeing(peer, message)
            else:
                self._on_news(peer, message)
        except ValueError:  # a DecodeError is a ValueError
            self.counts["refused_malformed"] += 1

    def reached(self, peer: bytes) -> None:
        """There is a connection with a peer: it may have missed something."""
        if self._changed is not None:
            self._send(peer, self._held())

    def look_again(self) -> None:
        """Another process may have stored a proposal or a signature; called every second."""
        if self._changed is None:
            return
        if self.history.changed():
            self.history.refresh()
        self._go_on()

    # What arrives

    def _on_rosters(self, peer: bytes, message: Rosters) -> None:
        """Send a peer what it lacks; and what is held here, if it seems to hold more."""
        old = self.history.roster(message.previous)
        if old is None:  # it is further on, or of another moot
            if self._strange.get(peer) != message.previous:
                self._strange[peer] = message.previous
                self._send(peer, self._held())
            return
        if old is not self.history.tip:
            self._send_followed(peer, old)
            return
        theirs = dict(message.proposals)
        lacking = False
        room = MOST_BYTES
        for proposal in self._sorted():
            its = theirs.pop(proposal.successor.name, None)
            known = set() if its is None else _places(its)
            content = proposal.successor.content if its is None else b""
            if {*proposal.consents} - known and room > 0:
                if content and not self._may_send(peer, proposal.successor.name):
                    continue
                room -= len(content) + 70 * len(proposal.consents)
                self._send(peer, self._proposed(proposal, content, known))
            lacking = lacking or bool(known - {*proposal.consents})
        if lacking or theirs:
            self._ask(peer)

    def _on_news(self, peer: bytes, message: Proposed | Followed) -> None:
        clock = self.transport.clock()
        if isinstance(message, Followed):
            agreed = Quorum(message.round, message.precommits)
            heard = self.history.hear_followed(
                message.previous, message.content, message.consents, agreed, clock
            )
        else:
            heard = self._hear(peer, message)
        if heard == "new":
            self._go_on()
        elif heard == "unknown":
            self._send(peer, self._held())
        elif heard in _REFUSED:
            self.counts[_REFUSED[heard]] += 1

    def _hear(self, peer: bytes, message: Proposed) -> Heard:
        """A successor, or consents to one; one that is not known here is asked for."""
        content = message.content
        if not content and message.previous == self.history.tip.moot:
            held = (each.successor for each in self.history.proposals)
            content = next((each.content for each in held if each.name == message.name), b"")
            if not content:
                self._ask(peer)
                return "known"
        return self.history.hear(message.previous, content, message.consents)

    def _on_agreeing(self, peer: bytes, message: Agreeing) -> None:
        old = self.history.roster(message.previous)
        if old is None:
            self._send(peer, self._held())
        elif old is not self.history.tip:
            self._send_followed(peer, old)
        elif self._change is not None:
            place = old.position(peer.hex())
            try:
                self._change.received(place, message.frame, self.transport.now())
            finally:
                self._go_on()

    # What follows from it

    def _take_up(self) -> None:
        """Take part in the agreement on what follows the roster in force, from what is stored of it."""
        tip = self.history.tip
        if self._about is not None:
            self._log("info", "roster in force", epoch=tip.epoch, moot=tip.digest, participants=len(tip))
        place = tip.position(self._me.fingerprint)
        if place is None:
            self._log("warning", "not in the roster in force", epoch=tip.epoch, moot=tip.digest)
        self._about, self._change, self._accused = tip, None, set()
        self._sent = {each: when for each, when in self._sent.items() if self._is_recent(when)}
        if place is not None:
            self._change = Change(
                tip, place, self._me.key.sign, self._ready, delta=DELTA,
                records=self.history.journal(tip), now=self.transport.now(),
            )  # fmt: skip

    def _is_recent(self, sent: tuple[float, float]) -> bool:
        return self.transport.now() < sum(sent)

    def _ready(self) -> list[bytes]:
        """The successors of the roster in force that are complete, those with the most consents first."""
        if self._about is not self.history.tip:
            return []
        return [each.successor.name for each in self._sorted() if each.standing.complete]

    def _sorted(self) -> list[Proposal]:
        return sorted(self.history.proposals, key=lambda each: (-each.standing.counted, each.successor.name))

    def _go_on(self) -> None:
        """Do all that can be done now: agree, go over to what was agreed on, tell others what is new."""
        while self._agree() or self._about is not self.history.tip:  # or a peer knew what is in force
            self._take_up()
        before, self._told = self._told, self._consents()
        if before != self._told:
            self._tell_new(before)
            if self._changed is not None:
                self._changed()
        self._wake_later()

    def _agree(self) -> bool:
        """One step of the agreement; whether another roster is in force after it."""
        change, old = self._change, self._about
        if change is None or old is None or old is not self.history.tip:
            return False
        change.wake(self.transport.now())
        outbox = change.take()
        try:
            self.history.append(old, outbox.records)
        except BaseException:
            self._change = None  # what it says is not stored: it says nothing more until the next start
            raise
        previous = old.moot
        for to, frame in outbox.frames:
            peers = self._others(old) if to is None else [old[to].peer]
            for peer in peers:
                self._send(peer, Agreeing(previous, frame))
        for place in change.evidence.keys() - self._accused:
            self._accused.add(place)
            evidence = change.evidence[place]
            if self.history.accuse(old, evidence, self.transport.clock()):
                self.counts["evidence"] += 1
                against, what = old[place].name, what_of(evidence)
                self._log("warning", "evidence", motion=old.digest, against=against, what=what)
        if change.decided is None:
            return False
        self.history.follow(change.decided, change.stage.quorum, self.transport.clock())
        return True

    def _consents(self) -> dict[bytes, set[int]]:
        """Who has consented to what; the roster in force stands in it without any."""
        found = {each.successor.name: {*each.consents} for each in self.history.proposals}
        return found | {self.history.tip.moot: set()}

    # Telling others

    def _tell_new(self, before: dict[bytes, set[int]]) -> None:
        """All are told of a new roster and of what this node has signed; some, of what others have."""
        old = self.history.tip
        if old.moot not in before:
            for peer in self._others(*self.history.rosters[-2:]):
                self._send(peer, self._held())
        place = old.position(self._me.fingerprint)
        for proposal in self.history.proposals:
            known = before.get(proposal.successor.name, set())
            new = {*proposal.consents} - known
            if place in new:
                for peer in self._others(old):
                    self._send(peer, self._proposed(proposal, proposal.successor.content, known))
            elif new:
                for peer in self._some():
                    self._send(peer, self._proposed(proposal, b"", known))

    def _held(self) -> Rosters:
        told = [(each.successor.name, _bits(each)) for each in self._sorted()[:MOST_TOLD]]
        return Rosters(self.history.tip.moot, tuple(told))

    def _proposed(self, proposal: Proposal, content: bytes, known: set[int]) -> Proposed:
        signed = tuple(each for each in sorted(proposal.consents.items()) if each[0] not in known)
        previous = proposal.old.moot
        return Proposed(previous, proposal.successor.name, content, signed)

    def _ask(self, peer: bytes) -> None:
        """Let a peer send what is lacking here; not more often than it takes."""
        now = self.transport.now()
        if now >= self._replied.get(peer, float("-inf")) + DELTA:
            self._replied[peer] = now
            self._send(peer, self._held())

    def _may_send(self, peer: bytes, name: bytes) -> bool:
        """Whether a peer may be sent the same content (again): one that does not take it must cost little."""
        now = self.transport.now()
        last, pause = self._sent.get((peer, name), (float("-inf"), AGAIN / 2))
        if now < last + pause:
            return False
        self._sent[peer, name] = now, 2 * pause
        return True

    def _send_followed(self, peer: bytes, old: Roster) -> None:
        """What has followed a roster, with all that shows it: nothing, if that was agreed on by 0.2."""
        found = self.history.after(old)
        if found is not None and found.agreed is not None and self._may_send(peer, found.successor.name):
            self._send(
                peer,
                Followed(
                    old.moot, found.successor.content, tuple(sorted(found.consents.items())),
                    found.agreed.round, found.agreed.precommits,
                ),
            )  # fmt: skip

    def _tell_later(self) -> None:
        """Others may have missed what was sent: tell some what is held, more often while it changes."""

        def tell() -> None:
            for peer in self._some():
                self._send(peer, self._held())
            self._tell_later()

        pause = BUSY if self.history.proposals else QUIET
        self.transport.later(self.transport.now() + pause * self._rng.uniform(0.5, 1.0), tell)

    def _wake_later(self) -> None:
        if self._cancel is not None:
            self._cancel()
            self._cancel = None
        due = None if self._change is None else self._change.due(self.transport.now())
        if due is not None:
            self._cancel = self.transport.later(due, self._go_on)

    def _others(self, *rosters: Roster) -> list[bytes]:
        found = {member.peer for roster in rosters for member in roster}
        return sorted(found - {self._own})

    def _some(self) -> list[bytes]:
        others = self._others(self.history.tip)
        return self._rng.sample(others, min(FANOUT, len(others)))

    def _send(self, peer: bytes, message: OfRosters) -> None:
        frame = encode(message)
        self.counts["frames_sent"] += 1
        self.counts["bytes_sent"] += len(frame)
        self.transport.send(peer, frame)


def _signatures(message: OfRosters) -> int:
    """About how many there are to be verified in a message."""
    if isinstance(message, Agreeing):
        return len(message.frame) // _STATEMENT
    if isinstance(message, Proposed):
        return len(message.consents)
    return len(message.consents) + len(message.precommits) if isinstance(message, Followed) else 0


def _bits(proposal: Proposal) -> bytes:
    """A bit for every place of the old roster that has consented."""
    number = sum(1 << place for place in proposal.consents)
    return number.to_bytes(-(-len(proposal.old) // 8), "little")


def _places(bits: bytes) -> set[int]:
    number = int.from_bytes(bits, "little")
    return {i for i in range(number.bit_length()) if number >> i & 1}
