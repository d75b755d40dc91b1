"""Signatures that were looked at before: the nodes of a moot in one process check the same ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from folkmoot.network.wire import statements


@contextmanager
def checked_once() -> Iterator[None]:
    """Whether a key has signed a statement is asked of the library once, and known to all nodes after that.

    It is a function of the key, the signature and the statement alone, so nothing else changes.
    """
    holds, known = statements.holds, dict[tuple[bytes, bytes, bytes], bool]()

    def remembered(key: Ed25519PublicKey, signature: bytes, statement: bytes) -> bool:
        what = (key.public_bytes_raw(), signature, statement)
        if what not in known:
            known[what] = holds(key, signature, statement)
        return known[what]

    statements.holds = remembered
    try:
        yield
    finally:
        statements.holds = holds
