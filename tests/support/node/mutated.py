"""Frames and files damaged in one of the ways in which data is damaged, by chance or on purpose."""

from __future__ import annotations

import random

KINDS = 21  # of frames: sessions, motions, rosters, a greeting
HEADS = [
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\x7f\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xdb\x80\x00\x00\x00",
    b"\xdc\xff\xff",
]
NUMBERS = [
    b"\xcf" + b"\xff" * 8, b"\xd3\x80" + bytes(7), b"\xcb\x7f\xf0" + bytes(6), b"\xcb\x7f\xf8" + bytes(6),
    b"\xcf\x40" + bytes(7), b"\xce\x80\x00\x00\x00", b"\xff", b"\xc0", b"\xc2", b"\xd4\x00\x00",
    b"1e999", b"-1", b"NaN", b"9" * 30, b"9" * 5000, b"null", b"\xed\xa0\x80", b"\\ud800",
]  # fmt: skip
NESTS = [b"\x91", b"\x81\xc0", b"\x9f", b"[", b'{"a":', b"a = ["]


def mutated(rng: random.Random, data: bytes, pool: list[bytes]) -> bytes:
    """Damaged in one of the ways in which data is damaged, by chance or on purpose; or in two."""
    found = bytearray(data)
    for _ in range(1 + (rng.random() < 0.3)):
        where = rng.randrange(len(found) + 1)
        match rng.randrange(9):
            case 0:  # bits
                for _ in range(rng.randrange(1, 4)):
                    if found:
                        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
            case 1:  # cut short
                del found[where:]
            case 2:  # two frames in one
                other = rng.choice(pool)
                found[where:] = other[rng.randrange(len(other)) :]
            case 3:  # a length that lies
                found[where : where + 1] = rng.choice(HEADS)
            case 4:  # deep nesting
                found[where:where] = rng.choice(NESTS) * rng.choice([5, 300, 3000])
            case 5:  # numbers at the edge
                found[where : where + rng.choice([0, 1, 9])] = rng.choice(NUMBERS)
            case 6:  # something left out or said twice
                end = min(len(found), where + rng.randrange(1, 40))
                found[where:end] = b"" if rng.random() < 0.5 else found[where:end] * 2
            case 7:
                found[where:where] = rng.randbytes(rng.randrange(1, 20))
            case _:  # another kind of message
                if len(found) > 1:
                    found[1] = rng.randrange(KINDS)
    return bytes(found)
