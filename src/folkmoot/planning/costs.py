"""Messages of a deliberation by rounds, and their bytes by the encoder of the network (docs/wire.md).

Announcement, inputs, commitments and sets are not counted: they are the same for every setting
(docs/operations.md). Bytes are those that nodes count: without four of length and about 22 of TLS per
message.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from folkmoot.node.ballots import Labels
from folkmoot.node.session.frames import Answer, Ask, Reveal, Told, encoded

_DIGEST = bytes(32)


@dataclass(frozen=True)
class Sizes:
    """Bytes of a query and of an answer about a batch, and of a revealed first vote."""

    query: int
    answer: int
    reveal: int

    @classmethod
    @cache
    def of(cls, n: int, inputs: int, classes: int, rounds: int) -> Sizes:
        """Those of the last round, whose number is the longest."""
        votes, last = bytes(Labels(inputs, [""] * classes).size), rounds - 1
        return cls(
            query=len(encoded(Ask(_DIGEST, last))),
            answer=len(encoded(Answer(_DIGEST, last, votes))),
            reveal=len(encoded(Told(_DIGEST, reveals=(Reveal(0, n - 1, _DIGEST, votes),)))),
        )

    def of_queries(self, queries: float) -> tuple[float, float]:
        """Messages and bytes of so many queries, each answered."""
        return 2 * queries, queries * (self.query + self.answer)

    def broadcast(self, n: int) -> tuple[int, int]:
        """Messages and bytes if all send their first votes to all."""
        return n * (n - 1), n * (n - 1) * self.reveal
