"""Votes as bytes, one encoding each: labels in as few bits as they need, probabilities in 8, numbers in 64.

Texts are an array of objects in memory, None for no text, and MessagePack as bytes.

No bytes at all are a ballot as well: of a member that votes on nothing.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
import numpy as np

from folkmoot.aggregation.texts import LONGEST
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.node.rules.numbers import MOST
from folkmoot.node.session.terms import Answers
from folkmoot.votes import NO_VOTE

CERTAIN: Final = 255  # the levels of a ballot's row add up to this
NOTHING: Final = -(1 << 63)  # no number
MOST_TEXTS: Final = 1 << 16  # bytes of the texts of a member: everybody finds the normal form of each
_AROUND: Final = 8  # bytes of a text beside its letters

_Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]
_TEXTS: Final = msgspec.msgpack.Decoder(tuple[_Text | None, ...])
_ENCODER: Final = msgspec.msgpack.Encoder()


class Ballots:
    """How votes on so many inputs are written: one each (input,), or probabilities (input, class)."""

    def __init__(self, answers: Answers, inputs: int, classes: int = 0) -> None:
        self.answers, self.inputs, self.classes = answers, inputs, classes

    def nothing(self) -> Ints:
        """No vote on any input."""
        if self.answers == "labels":
            return np.full(self.inputs, NO_VOTE, dtype=np.int64)
        if self.answers == "numbers":
            return np.full(self.inputs, NOTHING, dtype=np.int64)
        if self.answers == "text":
            return np.full(self.inputs, None, dtype=object)
        return np.zeros((self.inputs, self.classes), dtype=np.int64)

    def pack(self, votes: Ints) -> bytes:
        """Votes as bytes."""
        if self.answers == "labels":
            bits = self.classes.bit_length()
            spread = ((votes[:, None] + 1) >> np.arange(bits)) & 1
            return np.packbits(spread.astype(np.uint8), bitorder="little").tobytes()
        if self.answers == "text":
            return _ENCODER.encode(tuple(votes.tolist()))
        return votes.astype("<i8" if self.answers == "numbers" else np.uint8).tobytes()

    def unpack(self, data: bytes) -> Ints:
        """The votes in these bytes; ValueError unless they are what ``pack`` makes of them."""
        if not data:
            return self.nothing()
        if self.answers == "text":
            return self._texts(data)
        if len(data) != self.size:
            raise ValueError(f"votes on {self.inputs} inputs must have {self.size} bytes: got {len(data)}")
        if self.answers == "labels":
            bits = self.classes.bit_length()
            raw = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
            used = self.inputs * bits
            spread: Ints = raw[:used].reshape(-1, bits).astype(np.int64) << np.arange(bits)
            votes: Ints = spread.sum(axis=1) - 1
            if raw[used:].any() or votes.max() >= self.classes:
                raise ValueError(f"votes must be labels below {self.classes}, and end with zero bits")
            return votes
        if self.answers == "numbers":
            numbers = np.frombuffer(data, "<i8").astype(np.int64)
            if ((np.abs(numbers) > MOST) & (numbers != NOTHING)).any() or (numbers == -NOTHING).any():
                raise ValueError(f"numbers must be within -{MOST}..{MOST} steps of the grid")
            return numbers
        levels = np.frombuffer(data, np.uint8).reshape(self.inputs, self.classes).astype(np.int64)
        total = levels.sum(axis=1)
        if ((total != CERTAIN) & (total != 0)).any():
            raise ValueError(f"levels of an input must add up to {CERTAIN}, or to 0")
        return levels

    def _texts(self, data: bytes) -> Ints:
        if len(data) > MOST_TEXTS:
            raise ValueError(f"texts on all inputs must have at most {MOST_TEXTS:,} bytes: got {len(data):,}")
        found = _TEXTS.decode(data)  # a DecodeError is a ValueError
        if len(found) != self.inputs or _ENCODER.encode(found) != data:
            raise ValueError(f"texts must be as many as inputs, {self.inputs}, encoded in the one right way")
        votes: Array = self.nothing()
        votes[:] = list(found)
        return votes

    @property
    def most_text(self) -> int:
        """Bytes of UTF-8 that a text may have, so that those on all inputs fit into a ballot."""
        return MOST_TEXTS // self.inputs - _AROUND

    @property
    def size(self) -> int:
        """Bytes of votes; of texts the most that they may have."""
        if self.answers == "text":
            return self.inputs * (min(4 * LONGEST, self.most_text) + _AROUND)
        if self.answers == "labels":
            return -(-self.inputs * self.classes.bit_length() // 8)
        return self.inputs * (8 if self.answers == "numbers" else self.classes)

    def complete(self, data: bytes) -> bool:
        """Whether there is a vote on every input; ValueError if these are no votes."""
        return bool(there(self.answers, self.unpack(data)[None]).all())

    def table(self, votes: dict[int, bytes], n: int) -> Ints:
        """The votes of n members (member, input, ...); nothing of those that have none."""
        return np.stack([self.unpack(votes.get(i, b"")) for i in range(n)])


def there(answers: Answers, table: Array) -> Bools:
    """(member, input): whether there is a vote."""
    if answers == "labels":
        return np.asarray(table != NO_VOTE)
    if answers == "text":
        return np.asarray(table != None, dtype=bool)  # noqa: E711
    return np.asarray(table != NOTHING) if answers == "numbers" else np.asarray(table.sum(axis=2) > 0)


def likeliest(answers: Answers, votes: Ints) -> Ints:
    """(member, input): votes as labels; of probabilities the likeliest, the first of equals."""
    if answers != "probabilities":
        return votes
    return np.where(there(answers, votes), votes.argmax(axis=2), NO_VOTE)


def shares_of(votes: Array) -> dict[int, float]:
    """Of all votes for labels, the share of each label that has any."""
    known = votes[votes != NO_VOTE].astype(np.int64)
    many = np.bincount(known, minlength=1)
    return {i: round(int(many[i]) / len(known), 6) for i in np.flatnonzero(many).tolist()}


def levels_of(chances: Floats) -> Ints:
    """Probabilities (input, class) as levels that add up to 255; NaN in a row is no vote.

    Each is rounded down, and the largest remainders are raised by one, the first class before others.
    """
    known = np.isfinite(chances).all(axis=1) & (chances.sum(axis=1) > 0)
    share = np.where(known[:, None], chances, 0.0)
    share = CERTAIN * share / np.where(known, share.sum(axis=1), 1.0)[:, None]
    found = np.floor(share).astype(np.int64)
    lacking = np.where(known, CERTAIN - found.sum(axis=1), 0)
    rank = np.argsort(np.argsort(found - share, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(found + (rank < lacking[:, None]))


def on_grid(numbers: Floats, step: float) -> Ints:
    """Numbers as whole multiples of a step; NaN is no vote."""
    known = np.isfinite(numbers)
    steps = np.rint(np.where(known, numbers, 0.0) / step)
    if (np.abs(steps) > MOST).any():
        raise ValueError(
            f"numbers must be within -{MOST}..{MOST} steps of {step:g}: got {numbers[known].max():g}"
        )
    return np.where(known, steps.astype(np.int64), NOTHING)
