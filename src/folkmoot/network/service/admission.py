"""Which motions a node takes part in: announcements checked, room for them, and favours to peers counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from folkmoot.network.session.minutes import Seat
from folkmoot.network.session.patience import COMMIT_SHARE
from folkmoot.network.transports.budget import Budget
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import OLD, Motion, motion_name, read_header

MOST_OPEN_EACH: Final = 4  # motions at a time that one peer has told us of
MOST_OPEN: Final = 16  # in all; beyond these one of each, so that nobody can take up the room of the others
FAVOURS: Final = (40.0, 200.0)  # long replies to short questions that a peer gets: a second, and at once
FETCHES: Final = 8  # times that a peer may have a chunk
TOO_MANY: Final = "too_many_motions"


class Admission:
    """What one node lets in. It keeps no motions itself: ``tellers`` are who told of those under way."""

    def __init__(self, seat: Seat, moot: bytes) -> None:
        self._seat, self._moot = seat, moot
        self._favours = [Budget(*FAVOURS) for _ in range(seat.n)]

    def motion_in(self, announce: m.Announce, clock: float) -> Motion | None:
        """The motion of an announcement; None unless its asker has signed it, for this moot and lately."""
        try:
            motion = read_header(announce.header)
        except (msgspec.DecodeError, ValueError, TypeError):
            return None
        if motion.moot != self._moot or not 0 <= motion.asker < self._seat.n:
            return None
        # Clocks may be wrong, by an hour and more; a motion of last week is a replay.
        if not abs(clock - motion.created) < motion.seconds + OLD:
            return None
        said = statements.announcement(motion_name(announce.header), motion.asker)
        if not statements.holds(self._seat.keys[motion.asker], announce.signature, said):
            return None
        return motion

    def refusal(self, motion: Motion, teller: int, remaining: float, tellers: Sequence[int]) -> str | None:
        """Why a motion of which a peer tells is not played now; None if it is.

        Whoever passes a motion on might lie about its end. One that is said to be too old for votes is left
        alone until the asker itself has answered: to open it would be to abstain.
        """
        least = 0.0 if teller == motion.asker else (1.0 - COMMIT_SHARE) * motion.seconds
        if not remaining > least:
            return "late_announcement"
        most = MOST_OPEN_EACH if len(tellers) < MOST_OPEN else 1
        return None if tellers.count(teller) < most else TOO_MANY

    def check_own(self, motion: Motion, tellers: Sequence[int]) -> None:
        """ValueError, with what is wrong, unless this node itself may put the motion."""
        motion.check()
        if motion.asker != self._seat.place or motion.moot != self._moot:
            raise ValueError("a motion must be put by this node, to the moot of its roster")
        if tellers.count(self._seat.place) >= MOST_OPEN_EACH:
            raise ValueError(f"this node has {MOST_OPEN_EACH} motions under way: wait until one is over")
        if len(motion.encoded()) > m.MOST_BYTES - 100:
            raise ValueError(
                f"a motion of {len(motion.chunks):,} chunks is too long to announce: put the inputs in two"
            )

    def favour(self, peer: int, now: float) -> bool:
        """Whether a peer may have another long reply to a short question."""
        return not self._favours[peer].pay(now)
