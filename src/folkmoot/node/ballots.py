"""Votes of each kind: as bytes with one encoding each, as a table, as models give and as people read them.

A kind of answer is a class: ``Labels``, ``Probabilities``, ``Numbers``, ``Texts``; final votes on texts are
``Choices``. No bytes at all are a ballot as well: of a member that votes on nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import msgspec
import numpy as np

from folkmoot.aggregation.texts import LONGEST, Choice, is_same
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.node.rules import MOST, counted
from folkmoot.node.session.terms import MOST_TEXT_MEMBERS, STEP, Answers, Terms
from folkmoot.votes import NO_VOTE

CERTAIN: Final = 255  # the levels of a ballot's row add up to this
NOTHING: Final = -(1 << 63)  # no number
MOST_TEXTS: Final = 1 << 16  # bytes of the texts of a member: everybody finds the normal form of each
STRANGE: Final = "its model gives labels that are not among those of the motion"
_AROUND: Final = 8  # bytes of a text beside its letters

Tally: TypeAlias = dict[str, int | float]
_Text: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST)]
_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=MOST_TEXT_MEMBERS)]
_Same: TypeAlias = Annotated[tuple[_Number, ...], msgspec.Meta(max_length=MOST_TEXT_MEMBERS)]
_TEXTS: Final = msgspec.msgpack.Decoder(tuple[_Text | None, ...])
_CHOICES: Final = msgspec.msgpack.Decoder(tuple[tuple[_Number | None, _Same] | None, ...])
_ENCODER: Final = msgspec.msgpack.Encoder()


class Ballots(ABC):
    """Votes on some inputs: one each (input,), or probabilities (input, class)."""

    none: ClassVar[Any] = NO_VOTE  # what a table has where there is no vote

    def __init__(self, inputs: int, labels: Sequence[str] = (), step: float = STEP) -> None:
        self.inputs, self.labels, self.step = inputs, labels, step

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes of votes; of texts the most that they may have."""

    @abstractmethod
    def pack(self, votes: Array) -> bytes:
        """Votes as bytes."""

    @abstractmethod
    def _unpacked(self, data: bytes) -> Ints: ...

    def unpack(self, data: bytes) -> Ints:
        """The votes in these bytes; ValueError unless they are what ``pack`` makes of them."""
        if not data:
            return self.nothing()
        self._check_size(data)
        return self._unpacked(data)

    def _check_size(self, data: bytes) -> None:
        if len(data) != self.size:
            raise ValueError(f"votes on {self.inputs} inputs must have {self.size} bytes: got {len(data)}")

    def nothing(self) -> Ints:
        """No vote on any input."""
        return np.full(self.inputs, self.none, dtype=np.int64)

    def table(self, votes: Mapping[int, bytes], n: int) -> Ints:
        """The votes of n members (member, input, ...); nothing of those that have none."""
        return np.stack([self.unpack(votes.get(i, b"")) for i in range(n)])

    def voted(self, table: Array) -> Bools:
        """(member, input): whether there is a vote."""
        return np.asarray(table != self.none)

    def complete(self, data: bytes) -> bool:
        """Whether there is a vote on every input; ValueError if these are no votes."""
        return bool(self.voted(self.unpack(data)[None]).all())

    def likeliest(self, table: Ints) -> Ints:
        """(member, input): votes as labels; of probabilities the likeliest, the first of equals."""
        return table

    @abstractmethod
    def of_model(self, said: Sequence[Any]) -> tuple[Ints, str, str]:
        """The votes in the answers of a model, None for none; and why and how some are none, if so."""

    @abstractmethod
    def in_words(self, votes: Ints) -> list[Any]:
        """Votes as people read them: labels, numbers, texts, or probabilities by label; None for none."""

    @abstractmethod
    def tallies(self, table: Ints) -> list[Tally]:
        """The votes on each input, in numbers that people read."""

    def of_rules(self, table: Ints) -> Array:
        """A table as the library's rules have it: NaN where there is no number and no probability."""
        return table


class Labels(Ballots):
    """Labels by number, in as few bits as they need."""

    @property
    def _bits(self) -> int:
        return len(self.labels).bit_length()

    @property
    def size(self) -> int:
        return -(-self.inputs * self._bits // 8)

    def pack(self, votes: Array) -> bytes:
        spread = ((votes[:, None] + 1) >> np.arange(self._bits)) & 1
        return np.packbits(spread.astype(np.uint8), bitorder="little").tobytes()

    def _unpacked(self, data: bytes) -> Ints:
        raw = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        used = self.inputs * self._bits
        spread: Ints = raw[:used].reshape(-1, self._bits).astype(np.int64) << np.arange(self._bits)
        votes: Ints = spread.sum(axis=1) - 1
        if raw[used:].any() or votes.max() >= len(self.labels):
            raise ValueError(f"votes must be labels below {len(self.labels)}, and end with zero bits")
        return votes

    def of_model(self, said: Sequence[Any]) -> tuple[Ints, str, str]:
        number = {label: place for place, label in enumerate(self.labels)}
        votes = np.array([number.get(label, NO_VOTE) for label in said], dtype=np.int64)
        strange = next((label for label in said if label is not None and label not in number), None)
        if strange is None:
            return votes, "", ""
        detail = f"the model says {strange!r:.60}, and the motion has {', '.join(self.labels):.200}"
        return votes, STRANGE, detail

    def in_words(self, votes: Ints) -> list[Any]:
        return [None if each == NO_VOTE else self.labels[each] for each in votes.tolist()]

    def tallies(self, table: Ints) -> list[Tally]:
        choices, _, counts = counted(table)
        return [
            {self.labels[c]: many for c, many in zip(chosen, each, strict=True) if c != NO_VOTE and many}
            for chosen, each in zip(choices.tolist(), counts.tolist(), strict=True)
        ]


class Probabilities(Ballots):
    """A byte per label: levels that add up to 255, or nothing but zeros."""

    @property
    def size(self) -> int:
        return self.inputs * len(self.labels)

    def nothing(self) -> Ints:
        return np.zeros((self.inputs, len(self.labels)), dtype=np.int64)

    def pack(self, votes: Array) -> bytes:
        return votes.astype(np.uint8).tobytes()

    def _unpacked(self, data: bytes) -> Ints:
        levels = np.frombuffer(data, np.uint8).reshape(self.inputs, len(self.labels)).astype(np.int64)
        total = levels.sum(axis=1)
        if ((total != CERTAIN) & (total != 0)).any():
            raise ValueError(f"levels of an input must add up to {CERTAIN}, or to 0")
        return levels

    def voted(self, table: Array) -> Bools:
        return np.asarray(table.sum(axis=2) > 0)

    def likeliest(self, table: Ints) -> Ints:
        return np.where(self.voted(table), table.argmax(axis=2), NO_VOTE)

    def of_model(self, said: Sequence[Any]) -> tuple[Ints, str, str]:
        unknown = np.full(len(self.labels), np.nan)
        chances = np.stack([unknown if each is None else each for each in said])
        return levels_of(chances), STRANGE if np.isnan(chances).any() else "", ""

    def in_words(self, votes: Ints) -> list[Any]:
        return [
            {self.labels[c]: round(level / CERTAIN, 6) for c, level in enumerate(row) if level} or None
            for row in votes.tolist()
        ]

    def tallies(self, table: Ints) -> list[Tally]:
        voted = self.voted(table).sum(axis=0)
        means = table.sum(axis=0) / (CERTAIN * np.maximum(voted, 1))[:, None]
        return [
            {self.labels[c]: round(float(row[c]), 6) for c in np.flatnonzero(row).tolist()} for row in means
        ]

    def of_rules(self, table: Ints) -> Array:
        return np.where(self.voted(table)[:, :, None], table / CERTAIN, np.nan)


class Numbers(Ballots):
    """Whole multiples of a step, in eight bytes each."""

    none: ClassVar[Any] = NOTHING

    @property
    def size(self) -> int:
        return 8 * self.inputs

    def pack(self, votes: Array) -> bytes:
        return votes.astype("<i8").tobytes()

    def _unpacked(self, data: bytes) -> Ints:
        numbers = np.frombuffer(data, "<i8").astype(np.int64)
        if ((np.abs(numbers) > MOST) & (numbers != NOTHING)).any() or (numbers == -NOTHING).any():
            raise ValueError(f"numbers must be within -{MOST}..{MOST} steps of the grid")
        return numbers

    def of_model(self, said: Sequence[Any]) -> tuple[Ints, str, str]:
        numbers = np.array([np.nan if each is None else each for each in said], dtype=np.float64)
        wide = np.abs(numbers) > MOST * self.step
        votes = on_grid(np.where(wide, np.nan, numbers), self.step)
        if not wide.any():
            return votes, "", ""
        detail = f"the model says {numbers[wide][0]:g}, and the grid has steps of {self.step:g}"
        return votes, "its model gives numbers that are too large for the grid of the motion", detail

    def in_words(self, votes: Ints) -> list[Any]:
        return [None if each == NOTHING else self._number(each) for each in votes.tolist()]

    def tallies(self, table: Ints) -> list[Tally]:
        return [self._span(sorted(column[column != NOTHING].tolist())) for column in table.T]

    def _span(self, known: list[int]) -> Tally:
        if not known:
            return {}
        middle = known[(len(known) - 1) // 2 : len(known) // 2 + 1]
        centre = Decimal(repr(self.step)) * sum(middle) / len(middle)
        return {
            "lowest": self._number(known[0]),
            "median": float(centre),
            "highest": self._number(known[-1]),
            "votes": len(known),
        }

    def _number(self, steps: int) -> float:
        """So many steps of the grid, without the noise of binary fractions."""
        return float(Decimal(repr(self.step)) * steps)

    def of_rules(self, table: Ints) -> Array:
        return np.where(self.voted(table), table * self.step, np.nan)


class Texts(Ballots):
    """Texts: an array of objects in memory, None for no text, and MessagePack as bytes."""

    none: ClassVar[Any] = None

    @property
    def most_text(self) -> int:
        """Bytes of UTF-8 that a text may have, so that those on all inputs fit into a ballot."""
        return MOST_TEXTS // self.inputs - _AROUND

    @property
    def size(self) -> int:
        return self.inputs * (min(4 * LONGEST, self.most_text) + _AROUND)

    def nothing(self) -> Ints:
        return np.full(self.inputs, None, dtype=object)

    def pack(self, votes: Array) -> bytes:
        return _ENCODER.encode(tuple(votes.tolist()))

    def _check_size(self, data: bytes) -> None:
        if len(data) > MOST_TEXTS:
            raise ValueError(f"texts on all inputs must have at most {MOST_TEXTS:,} bytes: got {len(data):,}")

    def _unpacked(self, data: bytes) -> Ints:
        found = _TEXTS.decode(data)  # a DecodeError is a ValueError
        if len(found) != self.inputs or _ENCODER.encode(found) != data:
            raise ValueError(f"texts must be as many as inputs, {self.inputs}, encoded in the one right way")
        votes: Array = self.nothing()
        votes[:] = list(found)
        return votes

    def of_model(self, said: Sequence[Any]) -> tuple[Ints, str, str]:
        """Texts, as far as they may be voted: not too long, and with more in them than white space."""
        votes: Array = np.full(len(said), None, dtype=object)
        why = detail = ""
        for row, text in enumerate(said):
            if text is None:
                continue
            whole = str(text).encode(errors="replace").decode()  # without lone surrogates
            size = len(whole.encode())
            if not whole.strip():
                why = why or "its model answered with no text"
            elif len(whole) > LONGEST or size > self.most_text:
                limits = f"{LONGEST:,} characters and {self.most_text:,} bytes"
                why = why or "its answer is too long"
                detail = detail or f"a text may have {limits}: got {size:,} bytes"
            else:
                votes[row] = whole
        return votes, why, detail

    def in_words(self, votes: Ints) -> list[Any]:
        return list(votes.tolist())

    def tallies(self, table: Ints) -> list[Tally]:
        """Of texts the candidates tell."""
        return [{} for _ in range(table.shape[1])]


KINDS: Final[dict[Answers, type[Ballots]]] = {
    "labels": Labels,
    "probabilities": Probabilities,
    "numbers": Numbers,
    "text": Texts,
}


def ballots_by(terms: Terms, inputs: int, kind: Answers | None = None) -> Ballots:
    """Votes on so many inputs on these terms; of another ``kind`` than first votes if one is given."""
    return KINDS[kind or terms.answers](inputs, terms.labels, terms.step)


class Choices:
    """Final votes on texts: which proposal a member chooses, and which ones mean the same to it.

    ``folkmoot.aggregation.texts`` has the rule.
    """

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs

    def pack(self, choices: Sequence[Choice | None]) -> bytes:
        """Choices on all inputs as bytes; None is no vote."""
        return _ENCODER.encode([None if each is None else (each.best, each.same) for each in choices])

    def unpack(self, data: bytes) -> list[Choice | None]:
        """The choices in these bytes; ValueError if they are not what ``pack`` makes of so many."""
        if not data:
            return [None] * self.inputs
        found = _CHOICES.decode(data)  # a DecodeError is a ValueError
        if len(found) != self.inputs or _ENCODER.encode(found) != data:
            raise ValueError(
                f"choices must be as many as inputs, {self.inputs}, encoded in the one right way"
            )
        if not all(each is None or is_same(each[1], len(each[1])) for each in found):
            raise ValueError("a choice must name for each candidate the first one that means the same")
        return [None if each is None else Choice(*each) for each in found]


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
