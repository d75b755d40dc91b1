"""The traffic of a talk: messages, and their bytes as the network's own encoder makes them (docs/wire.md).

Only the talk is counted. Announcement, inputs, commitments and sets come on top, whatever the setting
(docs/operations.md). Bytes are those that nodes count: without four of length and about 22 of TLS a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from folkmoot.node.ballots import Ballots
from folkmoot.node.session.frames import Answer, Ask, Reveal, Told, encoded

_DIGEST = bytes(32)


@dataclass(frozen=True)
class Sizes:
    """Bytes of a question and of an answer in a talk about a batch, and of a first vote that is revealed."""

    query: int
    answer: int
    reveal: int

    @classmethod
    @cache
    def of(cls, n: int, inputs: int, classes: int, rounds: int) -> Sizes:
        """Of the last round, whose number is the longest."""
        votes, last = bytes(Ballots("labels", inputs, classes).size), rounds - 1
        return cls(
            query=len(encoded(Ask(_DIGEST, last))),
            answer=len(encoded(Answer(_DIGEST, last, votes))),
            reveal=len(encoded(Told(_DIGEST, reveals=(Reveal(0, n - 1, _DIGEST, votes),)))),
        )

    def talk(self, queries: float) -> tuple[float, float]:
        """Messages and bytes of so many queries, each answered."""
        return 2 * queries, queries * (self.query + self.answer)

    def broadcast(self, n: int) -> tuple[int, int]:
        """Messages and bytes if everybody tells everybody its first vote."""
        return n * (n - 1), n * (n - 1) * self.reveal
