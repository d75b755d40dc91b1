"""Keys and signatures of moots in one process, where all nodes check the same few statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from folkmoot.network.wire import statements

_signed: dict[tuple[bytes, bytes], bytes] | None = None  # by public key and statement, while they are kept
_known: dict[tuple[bytes, bytes, bytes], bool] = {}


class RememberingKey(Ed25519PrivateKey):
    """A key that keeps what it has signed, while ``checked_once`` says so: signatures are without chance."""

    def __init__(self, seed: bytes) -> None:
        self.real = Ed25519PrivateKey.from_private_bytes(seed)
        self._public = self.real.public_key().public_bytes_raw()

    def sign(self, data: bytes | bytearray | memoryview) -> bytes:
        """As the key itself does."""
        if _signed is None:
            return self.real.sign(data)
        what = (self._public, bytes(data))
        signature = _signed.get(what)
        if signature is None:
            signature = _signed[what] = self.real.sign(data)
            _known[self._public, signature, what[1]] = True
        return signature

    def public_key(self) -> Ed25519PublicKey:
        """The other half."""
        return self.real.public_key()

    def private_bytes_raw(self) -> bytes:
        """The seed."""
        return self.real.private_bytes_raw()

    def private_bytes(
        self,
        encoding: serialization.Encoding,
        format: serialization.PrivateFormat,  # noqa: A002 (as in cryptography)
        encryption_algorithm: serialization.KeySerializationEncryption,
    ) -> bytes:
        """As the key itself does."""
        return self.real.private_bytes(encoding, format, encryption_algorithm)

    def __copy__(self) -> RememberingKey:
        return self

    def __deepcopy__(self, _memo: object) -> RememberingKey:
        return self


@contextmanager
def checked_once() -> Iterator[None]:
    """Whether a key has signed a statement is asked of the library once, and known to all nodes after that.

    It is a function of the key, the signature and the statement alone, so nothing else changes. What a
    ``RememberingKey`` has signed meanwhile is known to be signed by it.
    """
    global _signed
    holds, before = statements.holds, _signed

    def remembered(key: Ed25519PublicKey, signature: bytes, statement: bytes) -> bool:
        what = (key.public_bytes_raw(), signature, statement)
        found = _known.get(what)
        if found is None:
            found = _known[what] = holds(key, signature, statement)
        return found

    statements.holds = remembered
    _signed = {} if before is None else before
    try:
        yield
    finally:
        statements.holds = holds
        _signed = before
        if before is None:
            _known.clear()
