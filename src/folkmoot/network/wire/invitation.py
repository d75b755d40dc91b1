"""An invitation: an asker tells what it is going to ask, so that others may send check rows for it.

It is named by the SHA-256 of its bytes. Check rows and the commitment to their labels are signed for that
name, and the header of the motion holds it: they count in no other motion.
"""

from __future__ import annotations

import hashlib
import math
from typing import Final

import msgspec
import numpy as np

from folkmoot.arrays import Array
from folkmoot.network.wire.forms import Answers
from folkmoot.network.wire.motion import CHUNK_BYTES, DTYPES, MOST_INPUTS, MOST_SECONDS, check_labels
from folkmoot.node.wire.schema import Schema, check_schema

ROWS_BYTES: Final = CHUNK_BYTES  # of the check rows of one participant


class Invitation(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What an asker is going to ask, without its rows."""

    moot: bytes  # the digest of the roster
    asker: int  # its place in the roster
    nonce: bytes
    created: float  # by the asker's clock
    seconds: float  # in which rows must have come
    labels: tuple[str, ...]  # none: it is about numbers
    inputs: int  # rows of the asker
    columns: int
    dtype: str
    schema: Schema = ()

    def encoded(self) -> bytes:
        """The bytes that are signed and sent."""
        return _ENCODER.encode(self)

    @property
    def name(self) -> bytes:
        """The 32 bytes by which it is known."""
        return hashlib.sha256(self.encoded()).digest()

    @property
    def answers(self) -> Answers:
        """What is claimed of check rows: labels, or numbers."""
        return "labels" if self.labels else "numbers"

    @property
    def row_bytes(self) -> int:
        """Of one row."""
        return self.columns * np.dtype(self.dtype).itemsize

    def check(self) -> None:
        """ValueError, with what is wrong, unless every field holds what it may."""
        if self.labels:
            check_labels(self.labels)
        if self.dtype not in DTYPES:
            raise ValueError(f"inputs must be numbers ({', '.join(DTYPES)}): got {self.dtype!r}")
        if not 1 <= self.inputs <= MOST_INPUTS or not 1 <= self.columns * 8 <= 16 * CHUNK_BYTES:
            raise ValueError(f"an invitation must be for rows: got {self.inputs} of {self.columns} columns")
        if not (math.isfinite(self.created) and 0.0 < self.seconds <= MOST_SECONDS):
            raise ValueError(f"an invitation must end within a day: got {self.seconds} s")
        if len(self.moot) != 32 or len(self.nonce) != 16:
            raise ValueError("an invitation must name its moot in 32 bytes and hold a nonce of 16")
        check_schema(self.schema, self.columns, "an invitation")

    def read_rows(self, data: bytes, rows: int) -> Array:
        """So many check rows; ValueError if they are not in the form that was asked for."""
        if len(data) > ROWS_BYTES or len(data) != rows * self.row_bytes:
            raise ValueError(f"{rows} check rows must be {rows * self.row_bytes} bytes: got {len(data)}")
        return np.frombuffer(data, dtype=self.dtype).reshape(rows, self.columns)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Invitation)


def read_invitation(data: bytes) -> Invitation:
    """The invitation in ``data``, checked; ValueError if it is none."""
    invitation = _DECODER.decode(data)
    invitation.check()
    if invitation.encoded() != data:
        raise ValueError("an invitation must be encoded in the one right way")
    return invitation
