"""The header of a motion: what is asked of whom, on which terms. Its hash is the motion's name.

If validation rows are among the inputs, two motions follow each other. The first is an *invitation*: a
poll whose ballots are rows, sealed for the asker, so that nobody else sees whose they are. The second is
about the asker's inputs and these rows, shuffled.
"""

from __future__ import annotations

import hashlib
import math
from typing import Annotated, Final, TypeAlias

import msgspec
import numpy as np

from folkmoot.node.session.frames import MOST_BYTES, read_exactly
from folkmoot.node.session.statement import Digest, Place
from folkmoot.node.session.terms import Terms
from folkmoot.node.wire.schema import Column, check_schema
from folkmoot.node.wire.things import MOST_FIELDS, TEXTS, THINGS

NUMBERS: Final = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
DTYPES: Final = (*NUMBERS, *THINGS)
MOST_INPUTS: Final = 100_000
MOST_CELLS: Final = 1_000_000  # inputs times labels, of probabilities and of Dawid-Skene
MOST_COMPUTED: Final = 8_000_000  # votes of all members, times labels: the answer takes a second or two
_DEAR: Final = 4  # Dawid-Skene and final votes of one's own look at each vote as often for each label
MOST_NUMBERS: Final = 90_000  # inputs of a motion about numbers: eight bytes each in a frame
MOST_TEXTS: Final = 1000  # inputs of a motion about texts
MOST_PAIRED: Final = 20_000_000  # inputs times the cube of members, about texts: candidates are compared
MOST_CHUNK: Final = MOST_BYTES - 1000  # bytes: it comes in one frame
MOST_SHOWN: Final = 1 << 19  # bytes of the validation rows of a member

Nonce: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]


class Header(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A motion as its asker puts it.

    ``chunks`` are the hashes of the inputs; an invitation has none, and says in ``inputs`` how many rows a
    member may show. ``rows`` of the inputs are validation rows, shown in answer to the motion ``shown``.
    ``schema`` has the names, units and ranges of the columns, if they have any.
    """

    moot: Digest  # of the roster
    asker: Place
    nonce: Nonce  # so that the same can be asked again
    created: float  # by the asker's clock; for people, not for deadlines
    terms: Terms
    inputs: int
    columns: int = 1
    dtype: str = "<f8"
    chunk_rows: int = 1
    chunks: tuple[Digest, ...] = ()
    seal: bytes = b""  # an invitation: the asker's key for it, 32 bytes
    rows: int = 0
    shown: bytes = b""
    schema: tuple[Column, ...] = ()

    @property
    def invites(self) -> bool:
        """Whether it asks for validation rows, and not for votes."""
        return bool(self.seal)

    @property
    def polls(self) -> int:
        """How many there are."""
        return 1 if self.invites else self.terms.polls

    @property
    def asked(self) -> int:
        """How many inputs are the asker's, and decided."""
        return self.inputs - self.rows

    @property
    def of_things(self) -> bool:
        """Whether its inputs are texts or records, and not rows of numbers."""
        return self.dtype in THINGS

    @property
    def row_bytes(self) -> int:
        """The size of an input that is a row of numbers."""
        return self.columns * np.dtype(self.dtype).itemsize

    @property
    def chunk_bytes(self) -> int:
        """The size of a chunk, at most."""
        if self.of_things:
            return MOST_CHUNK
        return max(min(self.chunk_rows, self.inputs), 1) * self.row_bytes

    def check(self, n: int) -> None:
        """ValueError, with what is wrong, unless n members can vote on it."""
        self.terms.check(n)
        if self.asker >= n or not math.isfinite(self.created):
            raise ValueError(f"the asker must be one of {n} members, and the time a number")
        if self.columns < 1 or self.chunk_rows < 1 or self.dtype not in DTYPES:
            raise ValueError(
                f"inputs must be columns of numbers ({', '.join(NUMBERS)}), texts or records, in chunks"
            )
        chunk = self.chunk_bytes
        if chunk > MOST_CHUNK:  # before anything is made that has a place for each column
            raise ValueError(
                f"the inputs of a chunk must have at most {MOST_CHUNK:,} bytes: got {chunk:,}, with "
                f"{self.columns:,} columns"
            )
        check_schema(self.schema, self.columns, "the schema of a motion")
        self._check_things()
        if self.invites:
            self._check_invitation()
            return
        most = MOST_INPUTS
        if self.terms.answers == "numbers":
            most = MOST_NUMBERS
        elif self.terms.answers == "text":
            most = min(MOST_TEXTS, MOST_PAIRED // n**3)
        elif self.terms.answers == "probabilities" or self.terms.rule == "dawid-skene":
            most = min(MOST_INPUTS, 3 * MOST_CELLS // 4 // len(self.terms.labels))
        most = min(most, MOST_COMPUTED // (n * self._width(n)))
        if not 1 <= self.inputs <= most:
            raise ValueError(
                f"a motion on these terms must have 1 to {most:,} inputs: got {self.inputs:,}; "
                "put them in several motions"
            )
        if self.chunks and len(self.chunks) != -(-self.inputs // self.chunk_rows):
            raise ValueError(f"{self.inputs} inputs must come in whole chunks: got {len(self.chunks)}")
        most = min(n * self.terms.rows, self.inputs - 1)
        if not 0 <= self.rows <= most:
            raise ValueError(
                f"0 to {most} of {self.inputs} inputs must be validation rows on these terms: got {self.rows}"
            )
        if len(self.shown) not in (0, 32) or (self.shown and not self.rows):
            raise ValueError("validation rows must be named by 32 bytes of the motion that invited them")

    def cost(self, n: int) -> int:
        """The cost of the answer among n members, in votes that are only counted."""
        return n * self.inputs * self._width(n)

    def _check_things(self) -> None:
        kinds = {column.kind for column in self.schema}
        if not self.of_things:
            if kinds - {"number"}:
                raise ValueError("rows of numbers must have columns of numbers")
            return
        if self.rows or self.invites or self.terms.rows:
            raise ValueError("validation rows must be rows of numbers: texts and records cannot be shown")
        if self.dtype == TEXTS:
            if self.columns != 1 or kinds - {"text"}:
                raise ValueError(f"texts must have one column, of texts: got {self.columns}")
        elif not self.schema or self.columns > MOST_FIELDS:
            raise ValueError(f"records must have 1 to {MOST_FIELDS:,} named columns: got {self.columns:,}")

    def _width(self, n: int) -> int:
        """What one vote costs whoever computes answer and final votes, in votes that are only counted."""
        labels = len(self.terms.labels)
        if self.terms.believe == "own":
            return _DEAR * max(labels, 1)
        if self.terms.answers == "probabilities":
            return labels
        return _DEAR * min(n, labels) if self.terms.rule == "dawid-skene" else 1

    def _check_invitation(self) -> None:
        if not self.terms.rows or self.inputs != self.terms.rows:
            raise ValueError(
                f"an invitation must be to show rows, as many as its terms say: got {self.inputs}"
            )
        if len(self.seal) != 32 or self.rows or self.shown or self.chunks:
            raise ValueError("an invitation must have a key of 32 bytes, and no inputs of its own")
        if self.inputs * self.row_bytes > MOST_SHOWN:
            raise ValueError(
                f"validation rows must have at most {MOST_SHOWN:,} bytes: got {self.inputs} rows of "
                f"{self.row_bytes:,} bytes"
            )

    def encoded(self) -> bytes:
        """The bytes whose hash is the motion's name."""
        return _ENCODER.encode(self)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Header)


def read_header(data: bytes, n: int) -> Header:
    """The header in these bytes, checked; ValueError if it is none."""
    header = unchecked_header(data)
    header.check(n)
    return header


def unchecked_header(data: bytes) -> Header:
    """The header in these bytes, which n members may not be able to vote on; ValueError if it is none."""
    return read_exactly(_DECODER, data, "a header")


def motion_of(header: bytes) -> bytes:
    """The 32 bytes that a motion is known by."""
    return hashlib.sha256(b"folkmoot/3 motion\n" + header).digest()
