"""Ed25519 signing with any nonce (RFC 8032, section 5.1, in affine coordinates).

The standard derives the nonce from the message, so that an honest signer signs a statement in one way. A liar
can choose it, and sign one statement in as many ways as it likes; all of them verify.
"""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BASE = (
    15112221349535400772501151409588531511454012693041857206046113283949847762202,
    46316835694926478169428394003475163141307993866256225615783033603165251855960,
)

Point = tuple[int, int]


def _add(one: Point, other: Point) -> Point:
    (x1, y1), (x2, y2) = one, other
    both = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + both, P - 2, P) % P
    y = (y1 * y2 + x1 * x2) * pow(1 - both, P - 2, P) % P
    return x, y


def _times(factor: int, point: Point) -> Point:
    total = (0, 1)
    while factor:
        if factor & 1:
            total = _add(total, point)
        point, factor = _add(point, point), factor >> 1
    return total


def _encoded(point: Point) -> bytes:
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def sign(key: Ed25519PrivateKey, message: bytes, nonce: int) -> bytes:
    """A valid signature with this nonce."""
    half = hashlib.sha512(key.private_bytes_raw()).digest()[:32]
    secret = int.from_bytes(half, "little") & (1 << 254) - 8 | 1 << 254
    public = key.public_key().public_bytes_raw()
    drawn = _encoded(_times(nonce % L, BASE))
    challenge = int.from_bytes(hashlib.sha512(drawn + public + message).digest(), "little")
    return drawn + ((nonce + challenge * secret) % L).to_bytes(32, "little")
