"""The rounds of one node in one motion, as they were: whom it asked, who answered what, what it changed.

They are kept for people who want to look at a talk afterwards. Nothing that is decided hangs on them, so
they have a budget: votes that were heard are kept once for all rounds in which they came again. When there is
no more room for votes, only the numbers of a round are kept; then nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from folkmoot.arrays import Array
from folkmoot.network.wire.messages import decoded
from folkmoot.network.wire.motion import Motion

ROUND_BYTES: Final = 16 << 10  # of all rounds of a motion, without the votes that were heard in them
VOTES_BYTES: Final = 48 << 10  # of these votes
_ROUND: Final = 16  # bytes of a round, and of each peer that was asked in it, at the most
_PEER: Final = 11
_VOTES: Final = 5  # bytes of the length of packed votes
NOT_KEPT: Final = -1


class Round(msgspec.Struct, frozen=True, array_like=True):
    """One round of this node."""

    at: float  # seconds since its part in the motion began
    asked: tuple[int, ...]  # places
    heard: tuple[tuple[int, int], ...]  # who answered, and which of the kept votes it told; -1: not kept
    changed: int  # inputs on which this node changed its mind


class Rounds(msgspec.Struct, frozen=True, array_like=True):
    """All rounds that were kept, and the packed votes that were heard in them."""

    rounds: tuple[Round, ...] = ()
    votes: tuple[bytes, ...] = ()

    def answers(self, number: int, motion: Motion) -> dict[int, Array]:
        """What each peer told in a round, as far as it was kept."""
        form = motion.form
        return {
            place: form.unpack(self.votes[which])
            for place, which in self.rounds[number].heard
            if which != NOT_KEPT
        }


class Series:
    """The rounds of a session while they are played.

    Examples
    --------
    >>> from folkmoot.network.session.series import Series
    >>> series = Series(began=5.0)
    >>> series.add(5.5, [1, 2], {2: b"votes"}, changed=3)
    >>> series.add(6.0, [2], {2: b"votes"}, changed=0)
    >>> kept = series.kept()
    >>> kept.rounds[1], len(kept.votes)
    (Round(at=1.0, asked=(2,), heard=((2, 0),), changed=0), 1)
    """

    def __init__(self, began: float) -> None:
        self._began = began
        self._rounds: list[Round] = []
        self._votes: dict[bytes, int] = {}
        self._round_room, self._votes_room = ROUND_BYTES, VOTES_BYTES

    @property
    def full(self) -> bool:
        """Whether there is no room for another round, however short."""
        return self._round_room < 0

    def add(self, now: float, asked: Sequence[int], heard: Mapping[int, bytes], changed: int) -> None:
        """A round has ended: who was asked, the packed votes of those who answered, and what changed."""
        self._round_room -= _ROUND + _PEER * len(asked)
        if self._round_room >= 0:
            told = tuple((place, self._number(votes)) for place, votes in heard.items())
            self._rounds.append(Round(round(now - self._began, 3), tuple(asked), told, changed))

    def _number(self, votes: bytes) -> int:
        number = self._votes.get(votes)
        if number is None:
            if len(votes) + _VOTES > self._votes_room:
                return NOT_KEPT
            self._votes_room -= len(votes) + _VOTES
            number = self._votes[votes] = len(self._votes)
        return number

    def kept(self) -> Rounds:
        """What there is so far."""
        return Rounds(tuple(self._rounds), tuple(self._votes))

    def packed(self) -> bytes:
        """The same as bytes; none if no round was played."""
        return _ENCODER.encode(self.kept()) if self._rounds else b""


def read_series(data: bytes) -> Rounds:
    """What ``Series.packed`` has written."""
    return decoded(_DECODER, data) if data else Rounds()


def series_bytes(motion: Motion) -> int:
    """What the rounds of a motion take at the most."""
    votes = motion.form.held_bytes + _VOTES
    rounds = motion.rounds * (_ROUND + 2 * _PEER * motion.k)  # with those asked in the place of late ones
    return 16 + min(ROUND_BYTES, rounds) + min(VOTES_BYTES, 2 * motion.rounds * motion.k * votes)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Rounds)
