"""Inputs of a motion at a member: chunks are fetched from the asker, voted on, and let go."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from folkmoot.arrays import Array, Ints
from folkmoot.node.review import own_rows
from folkmoot.node.service.voting import ModelVotes, nothing
from folkmoot.node.session.header import Header
from folkmoot.node.wire.things import unpacked

AHEAD: Final = 4  # chunks that are on their way, or wait for the model
_LONGEST: Final = 8.0  # times the first pause after which a chunk is asked for again

NOT_THERE: Final = "its inputs did not arrive in time"
TOO_SLOW: Final = "its model was too slow"


def rows_in(header: Header, index: int) -> int:
    """How many inputs a chunk has."""
    return min(header.chunk_rows, header.inputs - index * header.chunk_rows)


def read_chunk(header: Header, index: int, data: bytes) -> Array:
    """The inputs in a chunk; ValueError unless the header names these bytes."""
    if header.of_things:
        if hashlib.sha256(data).digest() != header.chunks[index]:
            raise ValueError(f"chunk {index} must be what the header names")
        found = unpacked(data, header.dtype, header.schema)
        if len(found) != rows_in(header, index):
            raise ValueError(f"chunk {index} must have {rows_in(header, index)} inputs: got {len(found)}")
        return found
    if len(data) != rows_in(header, index) * header.row_bytes:
        raise ValueError(f"chunk {index} must have as many bytes as its inputs: got {len(data):,}")
    if hashlib.sha256(data).digest() != header.chunks[index]:
        raise ValueError(f"chunk {index} must be what the header names")
    return np.frombuffer(data, header.dtype).reshape(-1, header.columns)


class Inputs:
    """A member's knowledge of a motion's inputs: its votes on them, and the places of its own rows."""

    def __init__(
        self,
        header: Header,
        fetch: Callable[[int], None],
        answer: Callable[[int, Array], None],
        *,
        patience: float,
        own: tuple[Array, Ints] | None = None,
    ) -> None:
        """``fetch`` asks for a chunk, ``answer`` has it voted on; ``own`` are rows shown, with truths."""
        self.header, self.places = header, dict[int, int]()
        self._fetch, self._answer, self._own = fetch, answer, own
        self._casts: dict[int, ModelVotes] = {}
        self._asked: dict[int, float] = {}  # chunks on their way: when they are asked for again
        self._tries: Counter[int] = Counter()
        self._with_model: set[int] = set()
        self._next = 0
        self._patience = patience

    @property
    def complete(self) -> bool:
        """Whether there is an answer to all chunks."""
        return len(self._casts) == len(self.header.chunks)

    def step(self, now: float) -> None:
        """Ask for what can be asked for now."""
        for index in [index for index, when in self._asked.items() if when <= now]:
            self._ask(index, now)
        while self._next < len(self.header.chunks) and len(self._asked) + len(self._with_model) < AHEAD:
            self._next += 1
            self._ask(self._next - 1, now)

    def _ask(self, index: int, now: float) -> None:
        pause = self._patience * min(1.5 ** min(self._tries[index], 10), _LONGEST)
        self._tries[index] += 1
        self._asked[index] = now + pause
        self._fetch(index)

    def due(self) -> float:
        """When to step again."""
        return min(self._asked.values(), default=math.inf)

    def arrived(self, index: int, data: bytes) -> None:
        """A chunk, if it is waited for; ValueError if it is not the one that the header names."""
        if index not in self._asked:
            return
        rows = read_chunk(self.header, index, data)
        del self._asked[index]
        self._with_model.add(index)
        if self._own is not None:
            start = index * self.header.chunk_rows
            found = own_rows(rows, self._own[0], self._own[1].tolist())
            self.places |= {start + place: truth for place, truth in found.items()}
        self._answer(index, rows)

    def answered(self, index: int, parts: Sequence[ModelVotes], trouble: str) -> ModelVotes:
        """The model's answers to a chunk, slice by slice; ``trouble`` is why the last slices are missing."""
        failed = next((part for part in parts if part.reason), None)
        reason = failed.reason if failed is not None else "its model failed" if trouble else ""
        detail = failed.detail if failed is not None else trouble
        unchecked = parts[0].unchecked if parts else ""
        cast = ModelVotes(self._votes(index, parts), reason, detail, unchecked)
        self._with_model.discard(index)
        self._casts[index] = cast
        return cast

    def _votes(self, index: int, parts: Sequence[ModelVotes]) -> Ints:
        """Votes on a chunk, slice by slice; none on the rows of slices that are missing."""
        votes = [part.votes for part in parts]
        missing = rows_in(self.header, index) - sum(map(len, votes))
        return np.concatenate([*votes, nothing(self.header, missing)])

    def ballot(self, partly: Mapping[int, Sequence[ModelVotes]]) -> tuple[Ints, str]:
        """Votes on all inputs, as far as they are there; and why there are not more.

        ``partly`` has what the model has said so far of chunks that it still works on.
        """
        header = self.header
        parts = [
            self._casts[index].votes if index in self._casts else self._votes(index, partly.get(index, ()))
            for index in range(len(header.chunks))
        ]
        votes = np.concatenate(parts) if parts else nothing(header, header.inputs)
        reasons = [cast.reason for _, cast in sorted(self._casts.items()) if cast.reason]
        if not self.complete:
            reasons.insert(0, TOO_SLOW if self._with_model else NOT_THERE)
        return votes, reasons[0] if reasons else ""
