"""How much a node keeps: when old motions are forgotten, and when there is no room for new ones.

A motion stays until its ``created + seconds`` and two hours more. Up to then others may announce it again,
and a node that had forgotten it would sign a second time. Afterwards an announcement is refused by its age.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from folkmoot.node.session.header import Header

DISK: Final = 4 << 30  # bytes that a database may take, unless its operator says otherwise
OLD: Final = 2 * 3600.0  # seconds beyond its time after which a motion is not played any more
_STATEMENT: Final = 170  # bytes of a signed statement
_ENTRY: Final = 110  # of a member's commitment in a set
_RECORD: Final = 120  # of a row of the journal besides its record
_MOTION: Final = 4000  # of the row of a motion besides header and members, and of its audit entries
_NAME: Final = 160  # of a member's fingerprint and name
_RECORDS: Final = 8  # records of a stage that carry its set or a quorum


def until(header: Header) -> float:
    """When a motion can be forgotten: a node that hears of it after this does not play it."""
    return header.created + header.terms.seconds + OLD


@dataclass(frozen=True)
class Watermarks:
    """When old motions go, and when new ones are refused: both before the disk is full.

    Examples
    --------
    >>> from folkmoot.node.storage.retention import Watermarks
    >>> marks = Watermarks(most=1000, least_free=100)
    >>> [marks.prune_to(used, free=10_000) for used in (500, 950)], marks.prune_to(500, free=99)
    ([None, 800], 250)
    >>> [marks.has_room(used, free=10_000) for used in (950, 1000)], marks.has_room(500, free=99)
    ([True, False], False)
    """

    # Bytes that the database may use. From nine tenths of it on old motions go, until it is at eight.
    most: int
    # Bytes of the disk that are left to others. Below twice as many old motions go, so that their room
    # is used again; below that no new ones are stored.
    least_free: int

    def prune_to(self, used: int, free: int) -> int | None:
        """Bytes that the database may still use; None: nothing must go. ``free`` are those of the disk."""
        targets = [8 * self.most // 10] if 10 * used >= 9 * self.most else []
        return min([*targets, *([used // 2] if free < 2 * self.least_free else [])], default=None)

    def has_room(self, used: int, free: int) -> bool:
        """Whether a new motion may be stored."""
        return used < self.most and free >= self.least_free


def stored_bytes(header_bytes: int, polls: int, n: int, ballot_bytes: int) -> int:
    """About what a motion takes on the disk of each node while its agreements end in their first rounds."""
    votes = n * (ballot_bytes + 100)
    stage = _RECORDS * (n * (_STATEMENT + _ENTRY) + _RECORD)
    poll = 2 * stage + 2 * votes + n * _ENTRY  # votes: in the journal and in the certificate
    return header_bytes + _MOTION + n * _NAME + polls * poll
