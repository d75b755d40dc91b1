"""Which motions a node takes part in: announcements checked, room for them, and favours to peers counted.

Room is counted by the asker, who has signed the motion, and not by whoever told of it. A motion that the
asker itself has announced to this node takes one of the asker's places. One that was only passed on takes
none: it may be an old one, replayed to block its asker. It becomes the asker's when the asker confirms it,
which every node that hears of a motion by another asks it to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from folkmoot.network.service.access import Limits, Spent
from folkmoot.network.service.policy import Policy
from folkmoot.network.session.minutes import Seat
from folkmoot.network.session.patience import COMMIT_SHARE
from folkmoot.network.storage.retention import DISK, stored_bytes
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.invitation import Invitation
from folkmoot.network.wire.motion import OLD, Motion, motion_name, read_header
from folkmoot.node.transports.budget import Allowances, Budget
from folkmoot.node.wire.schema import MismatchError

MOST_OPEN_EACH: Final = 4  # motions of one asker at a time; as many more of it that it has not confirmed
MOST_OPEN: Final = 16  # in all; beyond these one of each asker, so that nobody can take up others' room
FAVOURS: Final = (40.0, 200.0)  # long replies to short questions that a peer gets: a second, and at once
NEWS: Final = (40.0, 400.0)  # new motions that a peer may tell of: a second, and at once; one more for 16 KiB
FETCHES: Final = 8  # times that a peer may have a chunk
ANNOUNCEMENTS: Final = 64  # times that a peer may be told of a motion again
RATE: Final = (2.0, 120.0)  # motions that an asker may put: a second, and at once
POLICY: Final = "policy"
ACCESS: Final = "access"
SPENT: Final = "spent"
COLUMNS: Final = "columns"
TOO_MANY: Final = "too_many_motions"
DISK_FULL: Final = "disk_full"
TOO_FAST: Final = "too_fast"
OVER_BUDGET: Final = "over_budget"
REASONS: Final = {  # what the asker is told of refusals that may be other ones later
    TOO_MANY: "too many motions are under way at this node",
    DISK_FULL: "the disk of this node is nearly full",
    TOO_FAST: f"a member may put {RATE[0]:g} motions a second, and {RATE[1]:g} at once",
    OVER_BUDGET: "there is no more room for motions of this asker among those that must be kept",
}
KEPT_SHARE: Final = 0.8  # of --disk for what must be kept: the rest is for what may go when room is needed
MOST_REMEMBERED: Final = 1000  # motions that were refused
NOTED: Final = (100 / 86_400, 100.0)  # refusals of one asker in the audit log: a second, and at once


@dataclass(frozen=True)
class Taken:
    """A motion under way, as it counts: whose it is, and whether that asker itself has told us of it."""

    asker: int
    confirmed: bool = True


class Objection(NamedTuple):
    """Why a node takes no part in a motion, whenever it is put: its policy, or the columns of its model."""

    kind: str  # POLICY, ACCESS, SPENT or COLUMNS
    refuse: m.Refuse  # what is told to all
    detail: str = ""  # what stays here


class Admission:
    """What one node lets in. It keeps no motions itself, and is shown those under way."""

    def __init__(
        self,
        seat: Seat,
        moot: bytes,
        policy: Policy | None = None,
        disk: int = DISK,
        names: Sequence[str] | None = None,
        *,
        labels: Sequence[str] | None = None,
        check: Callable[[Motion], None] = lambda _: None,
    ) -> None:
        """``labels`` are those of the node's model; ``check`` is MismatchError if it cannot take a motion."""
        self._labels, self._check = labels, check
        self._seat, self._moot, self._policy = seat, moot, policy or Policy()
        self._names = [str(place) for place in range(seat.n)] if names is None else names
        self.spent = Spent(self._policy.access, self._names)
        self._rates = [Budget(*RATE) for _ in range(seat.n)]
        self._stored = Allowances(seat.n, int(KEPT_SHARE * disk))
        self._refused: dict[bytes, m.Refuse] = {}
        self._favours = [Budget(*FAVOURS) for _ in range(seat.n)]
        self._news = [Budget(*NEWS) for _ in range(seat.n)]
        self._noted = [Budget(*NOTED) for _ in range(seat.n)]

    def hears(self, peer: int, header: bytes, now: float) -> bool:
        """Whether a peer may tell of a new motion: to look at it costs signatures, even if it is refused."""
        return not self._news[peer].pay(now, 1.0 + len(header) / (16 * 1024))

    def motion_in(self, announce: m.Announce, clock: float) -> Motion | None:
        """The motion of an announcement; None unless its asker has signed it, for this moot and lately."""
        motion = _read(announce.header)
        if motion is None or motion.moot != self._moot or not 0 <= motion.asker < self._seat.n:
            return None
        # Clocks may be wrong, by an hour and more; a motion of last week is a replay.
        if not abs(clock - motion.created) < motion.seconds + OLD:
            return None
        said = statements.announcement(motion_name(announce.header), motion.asker)
        if not statements.holds(self._seat.keys[motion.asker], announce.signature, said):
            return None
        return motion

    def objection(self, motion: Motion, announce: m.Announce, clock: float) -> Objection | None:
        """Why this node takes no part in a motion of another, whatever else is under way; None if it may."""
        name = motion_name(announce.header)
        why = self._policy.objection(motion, len(announce.header), self._seat.n, self._labels)
        if why is not None:
            return Objection(POLICY, self._remembered(self.no(name, why)))
        why = self._policy.access.objection(self._names[motion.asker], motion)
        if why is not None:
            return Objection(ACCESS, self._remembered(self.no(name, why)))
        why = self.spent.objection(motion.asker, motion.inputs, clock)
        if why is not None and motion.asker != self._seat.place:
            return Objection(SPENT, self._remembered(self.no(name, why)))
        try:
            self._check(motion)
        except MismatchError as error:
            return Objection(COLUMNS, self._remembered(self.no(name, error.why)), str(error))
        return None

    def name_of(self, place: int) -> str:
        """What a member is called."""
        return self._names[place]

    def withholds_rows(self, wanted: Invitation, clock: float) -> str | None:
        """Why an asker is shown no check rows: it may not ask here, or no more today. None if it may."""
        name = self._names[wanted.asker]
        return self._policy.access.objection(name, wanted) or self.spent.objection(
            wanted.asker, wanted.inputs, clock
        )

    def _remembered(self, refuse: m.Refuse) -> m.Refuse:
        if len(self._refused) >= MOST_REMEMBERED:
            del self._refused[next(iter(self._refused))]
        self._refused[refuse.motion] = refuse
        return refuse

    def refused(self, name: bytes) -> m.Refuse | None:
        """What was said of a motion in which it takes no part, whenever it is put."""
        return self._refused.get(name)

    def no(self, name: bytes, why: str) -> m.Refuse:
        """A refusal, signed."""
        reason, place = why[: m.LONGEST_REASON], self._seat.place
        return m.Refuse(name, place, reason, self._seat.key.sign(statements.refusal(name, place, reason)))

    def refusal(self, motion: Motion, teller: int, remaining: float, open_: Sequence[Taken]) -> str | None:
        """Why a motion of which a peer tells is not played now; None if it is.

        Whoever passes a motion on might lie about its end. One that is said to be too old for votes is left
        alone until the asker itself has answered: to open it would be to abstain.
        """
        if motion.asker == self._seat.place:  # and not stored: it was put before the database was lost
            return "own_motion"
        confirmed = teller == motion.asker
        least = 0.0 if confirmed else (1.0 - COMMIT_SHARE) * motion.seconds
        if not remaining > least:
            return "late_announcement"
        return None if _has_place(motion.asker, open_, confirmed=confirmed) else TOO_MANY

    def afford(self, motion: Motion, header_bytes: int, now: float, clock: float) -> str | None:
        """Take what a motion costs off its asker's budgets; or why that cannot be."""
        cost = stored_bytes(motion, header_bytes, self._seat.n)
        if self._rates[motion.asker].pay(now) > 0:
            return TOO_FAST
        if not self._stored.pay(motion.asker, clock, cost, motion.until):
            return OVER_BUDGET
        self.spent.count(motion.asker, clock, motion.inputs)
        return None

    def remember(self, headers: Iterable[bytes], place_of: Callable[[Motion], int | None]) -> None:
        """What is stored and must be kept counts after a restart too, and under another roster.

        ``place_of`` says which place the asker of a motion has; None if it has none any more.
        """
        for header in headers:
            motion = _read(header)
            place = None if motion is None else place_of(motion)
            if motion is not None and place is not None:
                cost = stored_bytes(motion, len(header), self._seat.n)
                self._stored.count(place, cost, motion.until)

    def count(self, opened: Iterable[tuple[float, bytes]], place_of: Callable[[Motion], int | None]) -> None:
        """What was taken in the last day, when and its header, counts after a restart too, as above."""
        for clock, header in opened:
            motion = _read(header)
            place = None if motion is None else place_of(motion)
            if motion is not None and place is not None:
                self.spent.count(place, clock, motion.inputs)

    def check_own(self, motion: Motion, open_: Sequence[Taken], now: float, clock: float) -> None:
        """ValueError, with what is wrong, unless this node itself may put the motion; it is paid for then."""
        motion.check()
        if motion.moot != self._moot:  # check rows were gathered for some seconds, under the old roster
            raise ValueError("the roster has changed since this motion was made: ask again")
        if motion.asker != self._seat.place:
            raise ValueError("a motion must be put by this node, to the moot of its roster")
        if sum(taken.asker == self._seat.place for taken in open_) >= MOST_OPEN_EACH:
            raise ValueError(f"this node has {MOST_OPEN_EACH} motions under way: wait until one is over")
        size = len(motion.encoded())
        if size > m.MOST_BYTES - 100:
            raise ValueError(
                f"a motion of {len(motion.chunks):,} chunks is too long to announce: put the inputs in two"
            )
        self.check_terms(motion)
        unpaid = self.afford(motion, size, now, clock)
        if unpaid == TOO_FAST:
            raise ValueError(f"{REASONS[TOO_FAST]}: wait a moment")
        if unpaid is not None:
            needed, most = stored_bytes(motion, size, self._seat.n) / 2**20, self._stored.share / 2**20
            raise ValueError(
                f"this motion takes up to {needed:.1f} MB of the {most:.1f} MB that each member may have on "
                "a node's disk, and what it put lately takes the rest: wait, put fewer inputs, or run the "
                "nodes with more --disk"
            )

    def check_terms(self, motion: Motion) -> None:
        """ValueError, with what is wrong, unless a motion of this node is within its policy."""
        size = len(motion.encoded())
        why = self._policy.objection(motion, size, self._seat.n)  # others may know labels that it does not
        if why is not None:
            raise ValueError(f"{why}; others refuse it too, unless [policy] in their node.toml allows it")

    def access_of(self, peer: int, clock: float) -> tuple[bool, Limits, tuple[int, int]]:
        """Whether a member may ask, what a day, and the motions and rows that it has put in the last."""
        access, name = self._policy.access, self._names[peer]
        return access.askers is None or name in access.askers, access.of(name), self.spent.of(peer, clock)

    def notes_refusal(self, asker: int, now: float) -> bool:
        """Whether another refusal of this asker goes into the audit log, which must not grow for ever."""
        return not self._noted[asker].pay(now)

    def favour(self, peer: int, now: float) -> bool:
        """Whether a peer may have another long reply to a short question."""
        return not self._favours[peer].pay(now)


def _read(header: bytes) -> Motion | None:
    try:
        return read_header(header)
    except (msgspec.DecodeError, ValueError, TypeError):
        return None


def _has_place(asker: int, open_: Sequence[Taken], *, confirmed: bool) -> bool:
    """Whether one more motion of this asker may be played.

    Confirmed ones leave a place to every other asker, whatever has been passed on. Those passed on have the
    room that is left: a node that has none for such a motion plays it as soon as its asker confirms it.
    """
    counted = [taken for taken in open_ if taken.confirmed]
    its_own = sum(taken.asker == asker for taken in counted)
    if confirmed:
        return its_own < (MOST_OPEN_EACH if len(counted) < MOST_OPEN else 1)
    all_of_it = sum(taken.asker == asker for taken in open_)
    waiting = all_of_it - its_own
    return waiting < MOST_OPEN_EACH and all_of_it < 2 * MOST_OPEN_EACH and len(open_) < MOST_OPEN
