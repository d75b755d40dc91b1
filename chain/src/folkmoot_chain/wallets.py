"""Addresses on EVM chains, the hash behind them, and what their keys sign."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def recursion_limit_kept() -> Iterator[None]:
    """Imports inside: eth-account and py-evm let everybody recurse a hundred times as deep as Python would.

    That overflows the stack where others rely on the limit. Nothing here nests deeply, so it is put back.
    """
    limit = sys.getrecursionlimit()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def accounts() -> Any:
    """eth-account's ``Account``, imported when a key is first used: that takes a second."""
    with recursion_limit_kept():
        from eth_account import Account
    return Account


def keccak(data: bytes) -> bytes:
    """Keccak-256, the hash of the EVM."""
    from eth_hash.auto import keccak as hashed

    return bytes(hashed(data))


def address_bytes(address: str) -> bytes:
    """The 20 bytes of an address; ValueError if it is none.

    >>> len(address_bytes("0x" + "ab" * 20))
    20
    """
    text = address.removeprefix("0x")
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if len(data) != 20 or not address.startswith("0x"):
        raise ValueError(f"an address is 0x and 40 hexadecimal digits: got {address!r}")
    return data


def checksummed(address: str | bytes) -> str:
    """An address as it is shown, with the checksum of EIP-55 in its capitals.

    >>> checksummed("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed")
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    """
    data = address_bytes(address) if isinstance(address, str) else address
    marks = keccak(data.hex().encode()).hex()
    return "0x" + "".join(
        digit.upper() if int(mark, 16) >= 8 else digit for digit, mark in zip(data.hex(), marks, strict=False)
    )


def sign_text(key: bytes, text: str) -> bytes:
    """The signature (65 bytes) of a text as every wallet makes it: EIP-191, version E."""
    account = accounts()
    from eth_account.messages import encode_defunct

    return bytes(account.sign_message(encode_defunct(text=text), key).signature)


def signer_of(text: str, signature: bytes) -> str | None:
    """The address whose key made such a signature of a text; None if no key can have."""
    account = accounts()
    from eth_account.messages import encode_defunct
    from eth_keys.exceptions import BadSignature

    try:
        return str(account.recover_message(encode_defunct(text=text), signature=signature))
    except (BadSignature, ValueError):
        return None


def to_install(missing: ModuleNotFoundError) -> ModuleNotFoundError:
    """The line to type if a package of the extra ``local`` is missing."""
    return ModuleNotFoundError(
        f'a chain on this machine needs {missing.name}: pip install "folkmoot-chain[local]"',
        name=missing.name,
    )
