"""What a peer may draw from a node: long replies to short questions, counted in bytes.

A question of 38 bytes is answered with all votes of a motion, up to 50 kB. The honest ask once a round, and
are never near these limits (``tests/network/service/test_drawing.py`` has the largest motions).
"""

from __future__ import annotations

from typing import Final

from folkmoot.network.session.closing import RELAYED_BYTES
from folkmoot.network.session.session import Session
from folkmoot.node.transports.budget import Budget

RATE: Final = 8e6  # bytes a second, in all motions together
BURST: Final = 32e6  # bytes at once
_AROUND: Final = 200  # bytes of an answer or a close beside its votes, at most


class Drawing:
    """What each peer has drawn."""

    def __init__(self, n: int) -> None:
        self.budgets = [Budget(RATE, BURST) for _ in range(n)]

    def allows(self, peer: int, now: float, size: int) -> bool:
        """Whether a peer may have so many bytes more; then they are counted."""
        return not self.budgets[peer].pay(now, size)


def answer_size(session: Session) -> int:
    """Bytes of an answer, at most."""
    return _AROUND + session.motion.form.held_bytes


def relayed_size(session: Session) -> int:
    """Bytes of the closes in reply to one ``Want``, at most."""
    return min(RELAYED_BYTES, session.seat.n * 2 * answer_size(session))
