"""What the answers of a motion are, as arrays and as bytes: labels, class probabilities or real numbers.

A first vote is what a model said; what is held is what a node tells in the talk and signs at its end. They
are packed alike for labels and numbers. Probabilities are handed in with 8 bits each and held as float64.
Every array has exactly one encoding, so that equal digests mean equal votes and the other way round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from folkmoot.aggregation import LARGEST
from folkmoot.arrays import Array, Bools, Colours, Floats
from folkmoot.network.wire.packing import pack, packed_size, unpack
from folkmoot.votes import LEVELS, UNCOLOURED, from_levels

Answers: TypeAlias = Literal["labels", "probabilities", "numbers"]


class Form(ABC):
    """How participants vote on so many inputs."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs

    @abstractmethod
    def nothing(self, rows: int) -> Array:
        """No vote on any of so many inputs."""

    @abstractmethod
    def pack_first(self, first: Array) -> bytes:
        """First votes as bytes."""

    @abstractmethod
    def unpack_first(self, data: bytes) -> Array:
        """The first votes in ``data``; ValueError unless it is what ``pack_first`` makes of them."""

    @abstractmethod
    def opening(self, first: Array) -> Array:
        """What first votes are taken into the talk as."""

    @abstractmethod
    def pack(self, held: Array) -> bytes:
        """What is held, as bytes."""

    @abstractmethod
    def unpack(self, data: bytes) -> Array:
        """What is held according to ``data``; ValueError unless it is what ``pack`` makes of it."""

    @property
    @abstractmethod
    def first_bytes(self) -> int:
        """Bytes of packed first votes, at most."""

    @property
    @abstractmethod
    def held_bytes(self) -> int:
        """Bytes of what is held, at most."""

    @abstractmethod
    def colours(self, held: Array) -> Colours:
        """(input,): the label that is held, or -1."""

    def first_colours(self, first: Array) -> Colours:
        """(input,): the label of a first vote, or -1."""
        return self.colours(self.opening(first))

    def word(self, held: Array, i: int, labels: Sequence[str]) -> str | None:
        """What is held on input i, for people; None is nothing."""
        colour = int(self.colours(held[i : i + 1])[0])
        return None if colour == UNCOLOURED else labels[colour]


class LabelForm(Form):
    """A label for each input: colours, -1 for none."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__(inputs)
        self._classes = classes

    def nothing(self, rows: int) -> Array:
        """Uncoloured."""
        return np.full(rows, UNCOLOURED, dtype=np.int8)

    def pack_first(self, first: Array) -> bytes:
        """As what is held."""
        return pack(first, self._classes)

    def unpack_first(self, data: bytes) -> Array:
        """As what is held."""
        return unpack(data, self.inputs, self._classes)

    def opening(self, first: Array) -> Array:
        """The votes themselves."""
        return first

    def pack(self, held: Array) -> bytes:
        """In as few bits a vote as tell the labels apart."""
        return pack(held, self._classes)

    def unpack(self, data: bytes) -> Array:
        """Colours."""
        return unpack(data, self.inputs, self._classes)

    @property
    def first_bytes(self) -> int:
        """As what is held."""
        return self.held_bytes

    @property
    def held_bytes(self) -> int:
        """With a value more for no vote."""
        return packed_size(self.inputs, self._classes, open_votes=True)

    def colours(self, held: Array) -> Colours:
        """What is held."""
        return held


class NumberForm(Form):
    """A real number for each input and output: float64 in shape (input, output), NaN for none."""

    low, high = -LARGEST, LARGEST

    def __init__(self, inputs: int, outputs: int = 1) -> None:
        super().__init__(inputs)
        self.outputs = outputs

    def nothing(self, rows: int) -> Array:
        """NaN."""
        return np.full((rows, self.outputs), np.nan)

    def pack_first(self, first: Array) -> bytes:
        """As what is held."""
        return self.pack(first)

    def unpack_first(self, data: bytes) -> Array:
        """As what is held."""
        return self.unpack(data)

    def opening(self, first: Array) -> Array:
        """The numbers themselves."""
        return first

    def pack(self, held: Array) -> bytes:
        """Eight bytes a number, little-endian; minus zero is zero, and no number is one NaN."""
        return (np.where(np.isnan(held), np.nan, held) + 0.0).astype("<f8").tobytes()

    def unpack(self, data: bytes) -> Floats:
        """Numbers within the bounds; an input has all of its numbers, or none."""
        if len(data) != self.held_bytes:
            raise ValueError(f"numbers on {self.inputs} inputs have another length: got {len(data)} bytes")
        held = np.frombuffer(data, dtype="<f8").reshape(self.inputs, self.outputs).astype(np.float64)
        none = np.isnan(held)
        if not (none | ((held >= self.low) & (held <= self.high))).all():
            raise ValueError(f"numbers must be within {self.low:g}..{self.high:g}")
        if (none.any(axis=1) != none.all(axis=1)).any():
            raise ValueError("an input must have all of its numbers, or none")
        if self.pack(held) != data:
            raise ValueError("numbers must be written in the one right way")
        return held

    @property
    def first_bytes(self) -> int:
        """As what is held."""
        return self.held_bytes

    @property
    def held_bytes(self) -> int:
        """Of all numbers."""
        return 8 * self.inputs * self.outputs

    def colours(self, held: Array) -> Colours:
        """There are no labels."""
        return np.full(len(held), UNCOLOURED, dtype=np.int8)

    def word(self, held: Array, i: int, labels: Sequence[str]) -> str | None:
        """The number, to six digits; of probabilities the likeliest label."""
        if labels:
            return super().word(held, i, labels)
        return None if np.isnan(held[i]).any() else f"{held[i, 0]:.6g}"


class ChanceForm(NumberForm):
    """How likely each class is: levels at first, -1 for none; then float64 within 0..1."""

    low, high = 0.0, 1.0

    def nothing(self, rows: int) -> Array:
        """No levels."""
        return np.full((rows, self.outputs), -1, dtype=np.int16)

    def pack_first(self, first: Array) -> bytes:
        """A byte that says whether some inputs have no vote, a bit an input that says which; then levels."""
        missing = (first < 0).any(axis=1)
        which = np.packbits(missing, bitorder="little").tobytes() if missing.any() else b""
        return bytes([bool(missing.any())]) + which + np.maximum(first, 0).astype(np.uint8).tobytes()

    def unpack_first(self, data: bytes) -> Array:
        """Levels, whose cells can be those of probabilities that add up to 1."""
        if not data or data[0] > 1:
            raise ValueError("packed probabilities must begin with 0 or 1")
        start = 1 + data[0] * -(-self.inputs // 8)
        if len(data) != start + self.inputs * self.outputs:
            raise ValueError(f"probabilities of {self.inputs} inputs have another length: got {len(data)}")
        cells = np.frombuffer(data, np.uint8, offset=start).reshape(self.inputs, self.outputs)
        first = cells.astype(np.int16)
        if data[0]:
            bits = np.unpackbits(np.frombuffer(data[1:start], np.uint8), bitorder="little")
            if bits[self.inputs :].any() or not bits.any():
                raise ValueError("packed probabilities must say which inputs have none, and some must")
            missing = bits[: self.inputs].astype(np.bool_)
            if cells[missing].any():
                raise ValueError("inputs without probabilities must have zeros")
            first[missing] = -1
        if not add_up(first[(first >= 0).all(axis=1)]).all():
            raise ValueError("levels must be those of probabilities that add up to 1")
        return first

    def opening(self, first: Array) -> Floats:
        """The middles of the cells, scaled to add up to 1."""
        held = np.full(first.shape, np.nan)
        there = (first >= 0).all(axis=1)
        held[there] = from_levels(first[there])
        return held

    def first_colours(self, first: Array) -> Colours:
        """The likeliest class, the first of equals, by levels: the same on every processor."""
        there = (first >= 0).all(axis=1)
        found = np.full(len(first), UNCOLOURED, dtype=np.int8)
        found[there] = first[there].argmax(axis=1)
        return found

    @property
    def first_bytes(self) -> int:
        """A byte a class, and a bit an input."""
        return 1 + -(-self.inputs // 8) + self.inputs * self.outputs

    def colours(self, held: Array) -> Colours:
        """The likeliest class; the first of equals."""
        there = ~np.isnan(held).any(axis=1)
        found = np.full(len(held), UNCOLOURED, dtype=np.int8)
        found[there] = held[there].argmax(axis=1)
        return found


def add_up(levels: Array) -> Bools:
    """(input,): whether levels (input, class) can be the cells of probabilities that add up to 1.

    The floors of 256 p are above 256 p - 1 each, so together above 256 - C for C classes, and at most 256.
    The one probability that is not in the cell of its floor is 1, in the last cell: then they add up to 255.
    """
    total = levels.astype(np.int64).sum(axis=1)
    return np.asarray((total >= LEVELS - levels.shape[1]) & (total <= LEVELS))


def form_of(answers: Answers, inputs: int, classes: int) -> Form:
    """The form of a motion's answers."""
    if answers == "labels":
        return LabelForm(inputs, classes)
    return ChanceForm(inputs, classes) if answers == "probabilities" else NumberForm(inputs)
