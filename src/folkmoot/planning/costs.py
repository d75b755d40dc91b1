"""What a talk sends: messages, and their bytes as the network's own encoder makes them (docs/wire.md).

Only the talk is counted. Announcement, inputs, commitments and closes come on top, whatever the setting
(docs/operations.md). Bytes are those that nodes count: without four of length and about 22 of TLS a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from folkmoot.network.wire.messages import Answer, Ask, Heard, encode
from folkmoot.network.wire.packing import packed_size

_DIGEST, _SIGNATURE = bytes(32), bytes(64)
_VERSION = 1_800_000_000 << 24  # versions begin at the time of day times 2^24


@dataclass(frozen=True)
class Sizes:
    """Bytes of a query and of an answer in a talk of n about a batch."""

    query: int
    answer: int

    @classmethod
    @cache
    def of(cls, n: int, inputs: int, classes: int, rounds: int) -> Sizes:
        """Each query carries what was heard of a third node, as all but the first do."""
        last = rounds - 1
        heard = Heard(n - 1, _VERSION, _DIGEST, _SIGNATURE)
        votes = bytes(packed_size(inputs, classes, open_votes=False))
        return cls(
            query=len(encode(Ask(_DIGEST, last, heard))),
            answer=len(encode(Answer(_DIGEST, last, _VERSION, votes, _SIGNATURE))),
        )

    def talk(self, queries: float) -> tuple[float, float]:
        """Messages and bytes of so many queries, each answered."""
        return 2 * queries, queries * (self.query + self.answer)

    def broadcast(self, n: int) -> tuple[int, int]:
        """Messages and bytes if everybody tells everybody once, signed like an answer."""
        return n * (n - 1), n * (n - 1) * self.answer
