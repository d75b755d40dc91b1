"""How much a node keeps: what a motion takes on the disk, when old ones are forgotten, when there is no room.

A motion stays, with its results, evidence, its name and the node's own close, until its ``created + seconds``
and two hours more (``Motion.until``). Up to then others may announce it again, and a node that had forgotten
it would vote and sign a second time. After that announcements of it are refused by age, so it may go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from folkmoot.network.session.series import series_bytes
from folkmoot.network.session.talking import MOST_ANSWERS, MOST_CHANGES
from folkmoot.network.wire.messages import MOST_CHECK_ROWS
from folkmoot.network.wire.motion import MOST_SECONDS, OLD, Motion

DISK: Final = 4 << 30  # bytes that a database may take, unless its operator says otherwise
LONGEST_KEPT: Final = 2 * (MOST_SECONDS + OLD)  # seconds from hearing of a motion until it can be forgotten
_COMMIT: Final = 300  # bytes of a commitment, with its place in the index
_CLOSE: Final = 350  # of a close besides its votes
_MOTION: Final = 1200  # of a motion besides its header and its participants
_SERIES: Final = 100  # of the row of rounds besides the rounds
_AUDIT: Final = 3 * 900  # of the entries of a motion in the audit log: asked, answered, over
_OPENED: Final = 300  # of a participant in a map of owners, and of its labels, besides their rows
_NAME: Final = 160  # of a participant's fingerprint and name
_CHANGE: Final = 48  # of a change of this node's mind
_ANSWER: Final = 20  # of an answer that led to it
_PAGE: Final = 4096  # pages of small rows are half full at the least; a long row ends in a page of its own


@dataclass(frozen=True)
class Care:
    """What is to be done about the disk."""

    prune_to: int | None  # bytes that the database may still use; None: nothing need go
    room: bool  # may a new motion be stored?


@dataclass(frozen=True)
class Watermarks:
    """When old motions go, and when new ones are refused: both before the disk is full.

    Parameters
    ----------
    most : int
        Bytes that the database may use. From nine tenths of it on old motions go, until it is at eight.
    least_free : int
        Bytes of the disk that are left to others. Below twice as many old motions go, so that their room is
        used again; below that no new ones are stored.

    Examples
    --------
    >>> from folkmoot.network.storage.retention import Watermarks
    >>> marks = Watermarks(most=1000, least_free=100)
    >>> marks.care(used=500, free=10_000)
    Care(prune_to=None, room=True)
    >>> marks.care(used=950, free=10_000)
    Care(prune_to=800, room=True)
    >>> marks.care(used=1000, free=10_000)
    Care(prune_to=800, room=False)
    >>> marks.care(used=500, free=99)
    Care(prune_to=250, room=False)
    """

    most: int
    least_free: int

    def care(self, used: int, free: int) -> Care:
        """Decide what is to be done with ``used`` bytes in the database and ``free`` ones on the disk."""
        target = None
        if 10 * used >= 9 * self.most:
            target = 8 * self.most // 10
        if free < 2 * self.least_free:
            target = used // 2 if target is None else min(target, used // 2)
        return Care(target, used < self.most and free >= self.least_free)


def stored_bytes(motion: Motion, header_bytes: int, n: int) -> int:
    """What a motion takes on the disk of each node at the most, evidence aside."""
    form = motion.form
    rows = _taken(_COMMIT) + _taken(_CLOSE + form.first_bytes + form.held_bytes)
    own = _taken(_CLOSE + form.first_bytes) + _taken(_SERIES + series_bytes(motion))
    asked = min(motion.k, n)
    changes = min(motion.inputs * MOST_CHANGES, MOST_ANSWERS // asked) * (_CHANGE + asked * _ANSWER)
    checked = motion.review is not None and motion.review.asked > 0
    claims = MOST_CHECK_ROWS * (8 if motion.answers == "numbers" else 1)
    shown = n * (_taken(_OPENED + claims) + _OPENED + 3 * MOST_CHECK_ROWS) if checked else 0
    learnt = 12 * n if motion.trust or checked else 0  # the trust in each, in the audit log
    whole = _taken(_MOTION + changes + header_bytes + n * _NAME) + n * rows + own + _taken(_AUDIT + learnt)
    return whole + shown


def _taken(row: int) -> int:
    return min(2 * row, row + _PAGE)
