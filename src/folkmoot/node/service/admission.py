"""Which motions a node takes part in: announcements checked, room for them, and favours to peers counted.

Room is counted by the asker, who has signed the motion, and not by whoever told of it. A motion that the
asker itself has announced to this node takes one of the asker's places. One that was only passed on takes
none: it may be an old one, replayed to block its asker. It becomes the asker's when the asker confirms it,
which every node that hears of a motion by another asks it to do.

All that a peer tells of is counted first. Then its asker's signature must hold. Nothing that grows with a
header is done before, but one SHA-256 of it. Members are known by fingerprint, so that rosters may follow
each other; new motions are those of the roster in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec

from folkmoot.node.membership.certificates import holds
from folkmoot.node.membership.identity import Identity
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.review import ballots_of
from folkmoot.node.service.interface import RefusedError
from folkmoot.node.service.models import Model
from folkmoot.node.service.policy import DAY, Limits, Policy, Spent
from folkmoot.node.session.header import Header, motion_of, read_header
from folkmoot.node.session.statement import Digest, Place, asked
from folkmoot.node.storage.retention import DISK, OLD, stored_bytes, until
from folkmoot.node.transports.budget import Allowances, Budgets
from folkmoot.node.transports.transport import Transport
from folkmoot.node.wire import messages as m
from folkmoot.node.wire.schema import MismatchError

MOST_OPEN_EACH: Final = 4  # motions of one asker at a time; as many more of it that it has not confirmed
MOST_OPEN: Final = 16  # in all; beyond these one of each asker, so that nobody can take up others' room
FAVOURS: Final = (40.0, 200.0)  # long replies to short questions that a peer gets: a second, and at once
DRAWN: Final = (8e6, 32e6)  # bytes of these: a second, and at once
NEWS: Final = (40.0, 400.0)  # announcements that a peer may send: a second, and at once; one more for 16 KiB
ANNOUNCEMENTS: Final = 64  # times that a peer may be told of a motion again
RATE: Final = (2.0, 120.0)  # motions that an asker may put: a second, and at once
KEPT_SHARE: Final = 0.8  # of the disk for what must be kept: the rest is for what may go when room is needed
LOOKED_BACK: Final = 2 * (DAY + OLD)  # seconds: a motion opened before takes no room that must be kept
MOST_REMEMBERED: Final = 1000  # motions that were refused
NOTED: Final = (100 / DAY, 100.0)  # refusals of one asker in the audit log: a second, and at once

TOO_MANY: Final = "too_many_motions"
DISK_FULL: Final = "disk_full"
TOO_FAST: Final = "too_fast"
OVER_BUDGET: Final = "over_budget"
_REASONS: Final = {  # what the asker is told of refusals that may be other ones later
    TOO_MANY: "too many motions are under way at this node",
    DISK_FULL: "the disk of this node is nearly full",
    TOO_FAST: f"a member may put {RATE[0]:g} motions a second, and {RATE[1]:g} at once",
    OVER_BUDGET: "there is no more room for motions of this asker among those that must be kept",
}


class _Start(msgspec.Struct, frozen=True, array_like=True):
    """What must be known of a header to see whether it was signed."""

    moot: Digest
    asker: Place


_START: Final = msgspec.msgpack.Decoder(_Start)


class UnderWay(Protocol):
    """A motion under way, as it counts: who put it, and whether that asker itself has told us of it."""

    @property
    def asker(self) -> bytes: ...  # its fingerprint

    @property
    def confirmed(self) -> bool: ...


@dataclass(frozen=True)
class Admitted:
    """A motion that the node takes part in; what it costs is paid."""

    header: Header  # what is asked
    asker: bytes  # the fingerprint of the member that put it
    # Whether it was the asker that announced it. Else the node should ask it for the announcement.
    confirmed: bool
    # Seconds until the asker stops waiting: as it says itself, else as many as the header has. Nobody
    # else can shorten a motion.
    remaining: float


@dataclass(frozen=True)
class Refused:
    """A motion that the node takes no part in."""

    kind: str  # what it is counted as: ``refused_`` and this
    # The member that put it; None if that is not known, since nobody has signed it.
    asker: Member | None = None
    tell: m.Refuse | None = None  # what is to be sent to the asker; None is nothing
    noted: bool = False  # whether it belongs into the audit log, which must not grow for ever
    detail: str = ""  # what stays at this node: the columns of its own model


class Admission:
    """Decides which motions a node lets in. It keeps no motions itself, and is shown those under way.

    A frame with an announcement goes this way: ``hears`` (False: drop it unread). One of a motion under way
    only confirms it. Then ``refused`` (not None: send that). One that the storage knows is dropped; the
    others go to ``admit``. Assign to ``model`` when another was loaded. ``disk`` is how many bytes what the
    node stores may take.
    """

    def __init__(
        self,
        me: Identity,
        roster: Roster,
        transport: Transport[bytes],
        model: Model | None = None,
        policy: Policy | None = None,
        disk: int = DISK,
    ) -> None:
        self.model = model
        self._me, self._own = me, bytes.fromhex(me.fingerprint)
        self._now, self._clock = transport.now, transport.clock
        self._policy, self._disk = policy or Policy(), disk
        self._spent = Spent(self._policy)
        self._rates, self._favours, self._drawn = Budgets(*RATE), Budgets(*FAVOURS), Budgets(*DRAWN)
        self._news, self._noted = Budgets(*NEWS), Budgets(*NOTED)
        self._refused: dict[bytes, m.Refuse] = {}
        self._stored = Allowances(len(roster), int(KEPT_SHARE * disk))
        self.enter(roster)

    def enter(self, roster: Roster) -> None:
        """Another roster is in force: new motions must be of it, and its members share the room."""
        self._roster, self._moot = roster, roster.moot
        self._stored.share = int(KEPT_SHARE * self._disk) // len(roster)
        self._place = roster.position(self._me.fingerprint)

    # Announcements of others

    def hears(self, peer: bytes, size: int) -> bool:
        """Whether a peer may announce something: to look at it costs a signature, even if it is refused."""
        return not self._news[peer].pay(self._now(), 1.0 + size / (16 * 1024))

    def refused(self, motion: bytes) -> m.Refuse | None:
        """The refusal of a motion in which the node takes no part, whenever it is announced; else None."""
        return self._refused.get(motion)

    def admit(
        self, peer: bytes, announce: m.Announce, under_way: Sequence[UnderWay], *, has_room: bool = True
    ) -> Admitted | Refused:
        """Whether the node takes part in a motion of which a peer tells, and that it does not know.

        ``has_room`` is whether its storage may still take motions.
        """
        name = motion_of(announce.header)
        asker = self._signer(name, announce)
        if asker is None or self._place is None:
            return Refused("announcement")
        long = self._policy.objection_to_size(len(announce.header))
        if long is not None:
            return self._never("policy", name, asker, long)
        try:
            header = read_header(announce.header, len(self._roster))
        except (msgspec.DecodeError, ValueError, TypeError):
            return Refused("announcement", asker)
        # Clocks may be wrong, by an hour and more; a motion of last week is a replay.
        if not abs(self._clock() - header.created) < header.terms.seconds + OLD:
            return Refused("announcement", asker)
        if asker.fingerprint == self._me.fingerprint:  # it was put before the database was lost
            return Refused("own_motion", asker)
        refused = self._objection(name, header, len(announce.header), asker)
        if refused is not None:
            return refused
        fingerprint = asker.peer
        confirmed = peer == fingerprint
        if confirmed and not announce.remaining > 0:
            return Refused("late_announcement", asker)
        kind = self._no_room(fingerprint, under_way, confirmed=confirmed, has_room=has_room) or self._pay(
            asker, header, len(announce.header)
        )
        if kind is not None:  # only the asker is told, lest others make us sign this again and again
            tell = self.no(name, _REASONS[kind]) if confirmed else None
            return Refused(kind, asker, tell)
        seconds = header.terms.seconds
        remaining = min(announce.remaining, seconds) if confirmed else seconds
        return Admitted(header, fingerprint, confirmed, remaining)

    def _signer(self, name: bytes, announce: m.Announce) -> Member | None:
        """The member that has signed an announcement, as its header begins; None if nobody has."""
        try:
            start = _START.decode(announce.header)
        except (msgspec.DecodeError, RecursionError):
            return None
        if start.moot != self._moot or start.asker >= len(self._roster):
            return None
        asker = self._roster[start.asker]
        return asker if holds(asker.public_key, announce.signature, asked(name)) else None

    def _objection(self, name: bytes, header: Header, size: int, asker: Member) -> Refused | None:
        """Why the node takes no part in a motion, whatever else is under way."""
        policy, labels = self._policy, None if self.model is None else self.model.labels
        found = {
            "policy": policy.objection(header, size, len(self._roster), labels),
            "access": policy.objection_to_asker(asker.name, header.schema),
            "spent": self._spent.objection(asker.name, header.inputs, self._clock()),
        }
        for kind, why in found.items():
            if why is not None:
                return self._never(kind, name, asker, why)
        try:
            if self.model is not None:
                self.model.check(header.schema, header.columns, header.terms.answers, header.dtype)
        except MismatchError as error:
            return self._never("columns", name, asker, error.why, str(error))
        return None

    def _never(self, kind: str, name: bytes, asker: Member, why: str, detail: str = "") -> Refused:
        """A refusal that is remembered."""
        refuse = self._refused[name] = self.no(name, why)
        if len(self._refused) > MOST_REMEMBERED:
            del self._refused[next(iter(self._refused))]
        noted = not self._noted[asker.peer].pay(self._now())
        return Refused(kind, asker, refuse, noted=noted, detail=detail)

    def no(self, motion: bytes, why: str) -> m.Refuse:
        """A refusal, signed: of a motion under the roster in force."""
        reason, place = why[: m.LONGEST_REASON], self._place or 0
        return m.Refuse(motion, place, reason, self._me.key.sign(m.refusal(motion, place, reason)))

    # Room

    def _no_room(
        self, asker: bytes, under_way: Sequence[UnderWay], *, confirmed: bool, has_room: bool
    ) -> str | None:
        if not _has_place(asker, under_way, confirmed=confirmed):
            return TOO_MANY
        return None if has_room else DISK_FULL

    def _pay(self, asker: Member, header: Header, size: int) -> str | None:
        """Take what a motion costs off its asker's budgets; or why that cannot be."""
        fingerprint = asker.peer
        if self._rates[fingerprint].pay(self._now()) > 0:
            return TOO_FAST
        cost = _cost(header, size, len(self._roster))
        if not self._stored.pay(fingerprint, self._clock(), cost, until(header)):
            return OVER_BUDGET
        self._spent.count(asker.name, self._clock(), header.inputs)
        return None

    def remember(self, opened: Iterable[tuple[float, bytes, int]], rosters: Mapping[bytes, Roster]) -> None:
        """Count what was taken before a restart: ``Storage.since(clock - LOOKED_BACK)``.

        ``rosters`` are those that the node has gone through, by digest.
        """
        clock = self._clock()
        for when, data, n in opened:
            try:
                header = read_header(data, n)
                asker = rosters[header.moot][header.asker]
            except (msgspec.DecodeError, ValueError, TypeError, LookupError):
                continue
            cost = _cost(header, len(data), n)
            self._stored.count(asker.peer, cost, until(header))
            if when > clock - DAY:
                self._spent.count(asker.name, when, header.inputs)

    # Motions of this node

    def check_own(self, header: Header) -> None:
        """ValueError, with what is wrong, unless this node may put such a motion at all."""
        if header.moot != self._moot:  # rows were gathered for some seconds, under the roster before
            raise ValueError("the roster has changed since this motion was made: ask again")
        if header.asker != self._place:
            raise ValueError("a motion must be put by this node, to the moot of its roster")
        header.check(len(self._roster))
        size = len(header.encoded())
        if size > m.MOST_HEADER:
            raise ValueError(
                f"a motion of {len(header.chunks):,} chunks is too long to announce: put the inputs in two"
            )
        # Others may know labels that this node's model does not.
        why = self._policy.objection(header, size, len(self._roster))
        if why is not None:
            raise ValueError(f"{why}; others refuse it too, unless [policy] in their node.toml allows it")

    def begin_own(self, header: Header, under_way: Sequence[UnderWay], *, has_room: bool = True) -> bool:
        """Whether a motion of this node has a place now, and is paid for; else it must wait.

        RefusedError if waiting is of no use: the disk is full, or the node's share of it.
        """
        if not has_room:
            raise RefusedError("the disk of this node is nearly full: make room, or give it more disk")
        if not _has_place(self._own, under_way, confirmed=True):
            return False
        size = len(header.encoded())
        unpaid = self._pay(self._me.member(), header, size)
        if unpaid == OVER_BUDGET:
            needed = _cost(header, size, len(self._roster)) / 2**20
            raise RefusedError(
                f"this motion takes up to {needed:.1f} MB of the {self._stored.share / 2**20:.1f} MB that "
                "each member may have on a node's disk, and what it put lately takes the rest: wait, put "
                "fewer inputs, or give the nodes more disk"
            )
        return unpaid is None

    # Peers

    def favour(self, peer: bytes, size: int) -> bool:
        """Whether a peer may have another long reply to a short question, of so many bytes at most."""
        now = self._now()
        return not self._favours[peer].pay(now) and not self._drawn[peer].pay(now, size)

    def access_of(self, name: str) -> tuple[bool, Limits, tuple[int, int]]:
        """Whether a member may ask, what a day, and the motions and rows that it has put in the last."""
        policy = self._policy
        return policy.may_ask(name), policy.limits_of(name), self._spent.of(name, self._clock())


def _cost(header: Header, size: int, n: int) -> int:
    return stored_bytes(size, header.polls, n, ballots_of(header, 0).size)


def _has_place(asker: bytes, under_way: Sequence[UnderWay], *, confirmed: bool) -> bool:
    """Whether one more motion of this asker may be played.

    Confirmed ones leave a place to every other asker, whatever has been passed on. Those passed on have the
    room that is left: a node that has none for such a motion plays it as soon as its asker confirms it.
    """
    counted = [each for each in under_way if each.confirmed]
    its_own = sum(each.asker == asker for each in counted)
    if confirmed:
        return its_own < (MOST_OPEN_EACH if len(counted) < MOST_OPEN else 1)
    all_of_it = sum(each.asker == asker for each in under_way)
    waiting = all_of_it - its_own
    return waiting < MOST_OPEN_EACH and all_of_it < 2 * MOST_OPEN_EACH and len(under_way) < MOST_OPEN
