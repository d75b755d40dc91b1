"""One participant's votes on a batch as bytes: as few whole bits a vote as tell the colours apart.

The first byte says whether some votes are uncoloured. If none is, a vote takes the bits of C colours;
else those of C + 1, and the value C stands for uncoloured. Every vector of votes has exactly one
encoding, so that equal digests mean equal votes and the other way round.
"""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Colours
from folkmoot.votes import UNCOLOURED, packed_bytes


def pack(votes: Colours, classes: int) -> bytes:
    """The votes, colours below ``classes`` or -1, as bytes."""
    open_votes = bool((votes == UNCOLOURED).any())
    values = np.where(votes == UNCOLOURED, classes, votes).astype(np.uint8)
    bits = _bits(classes, open_votes)
    if bits == 1:
        packed = np.packbits(values, bitorder="little")
    else:
        packed = np.packbits((values[:, None] >> np.arange(bits, dtype=np.uint8)) & 1, bitorder="little")
    return bytes([open_votes]) + packed.tobytes()


def unpack(data: bytes, inputs: int, classes: int) -> Colours:
    """The votes in ``data``; ValueError unless it is what ``pack`` makes of them."""
    if not data or data[0] > 1:
        raise ValueError("packed votes must begin with 0 or 1")
    bits = _bits(classes, bool(data[0]))
    if len(data) != packed_size(inputs, classes, open_votes=bool(data[0])):
        raise ValueError(f"packed votes on {inputs} inputs have another length: got {len(data)} bytes")
    raw = np.unpackbits(np.frombuffer(data, np.uint8, offset=1), bitorder="little")
    if raw[inputs * bits :].any():
        raise ValueError("packed votes must end with zero bits")
    raw = raw[: inputs * bits]
    if bits == 1:
        values = raw
    else:
        values = np.zeros(inputs, dtype=np.uint8)
        for bit in range(bits):
            values |= raw[bit::bits] << np.uint8(bit)
    if data[0]:
        missing = values == classes
        if not missing.any():
            raise ValueError("packed votes say that some are uncoloured, and none is")
        if values.max() > classes:
            raise ValueError(f"packed votes must be colours below {classes}")
        votes = values.astype(np.int8)
        votes[missing] = UNCOLOURED
        return votes
    if inputs and values.max() >= classes:
        raise ValueError(f"packed votes must be colours below {classes}")
    return values.astype(np.int8)


def packed_size(inputs: int, classes: int, *, open_votes: bool) -> int:
    """Bytes of the packed votes on so many inputs."""
    return 1 + packed_bytes(inputs, classes + open_votes)


def _bits(classes: int, open_votes: bool) -> int:
    return max(1, (classes - 1 + open_votes).bit_length())
