"""Sealed bytes, which only the asker of an invitation reads: X25519, HKDF (RFC 5869), ChaCha20-Poly1305.

The key pair belongs to one invitation. The text is bound to motion and member: nobody can show it again, or
as its own.
"""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_KEY: Final = 32
_NONCE: Final = bytes(12)  # a key is used once


def seal_of(secret: bytes) -> bytes:
    """The public key of 32 secret random bytes: what stands in the header of an invitation."""
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def sealed(text: bytes, seal: bytes, motion: bytes, member: int, drawn: bytes) -> bytes:
    """A text that only the holder of the seal's secret reads; ``drawn`` are 32 random bytes."""
    own = X25519PrivateKey.from_private_bytes(drawn)
    shared = own.exchange(X25519PublicKey.from_public_bytes(seal))
    public = own.public_key().public_bytes_raw()
    where = _where(motion, member)
    return public + ChaCha20Poly1305(_key(shared, seal, public)).encrypt(_NONCE, text, where)


def opened(data: bytes, secret: bytes, motion: bytes, member: int) -> bytes:
    """The text; ValueError if this member did not seal it for this motion."""
    public = data[:_KEY]
    try:
        shared = X25519PrivateKey.from_private_bytes(secret).exchange(
            X25519PublicKey.from_public_bytes(public)
        )
        key = _key(shared, seal_of(secret), public)
        return ChaCha20Poly1305(key).decrypt(_NONCE, data[_KEY:], _where(motion, member))
    except (InvalidTag, ValueError):
        raise ValueError(f"the rows of member {member} must be sealed for this motion") from None


def _key(shared: bytes, seal: bytes, public: bytes) -> bytes:
    return HKDF(SHA256(), _KEY, salt=None, info=b"folkmoot/3 seal\n" + seal + public).derive(shared)


def _where(motion: bytes, member: int) -> bytes:
    return motion + member.to_bytes(4, "big")
