"""Keys in V3 keystore files, as every Ethereum wallet writes them: encrypted with a passphrase."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from pathlib import Path
from typing import Literal

from folkmoot_chain.wallets import accounts, address_bytes

LEAST_PASSPHRASE = 8


def address_of(key: bytes) -> str:
    """The address of a private key."""
    return str(accounts().from_key(key).address)


def new_keystore(path: Path, passphrase: str, kdf: Literal["scrypt", "pbkdf2"] = "scrypt") -> str:
    """Write a new key to a new file that only its owner can read; returns its address.

    Parameters
    ----------
    path : Path
        The path; nothing may be there.
    passphrase : str
        The passphrase for the encryption.
    kdf : {"scrypt", "pbkdf2"}
        How the passphrase becomes a key: scrypt takes about a second and 256 MiB for every guess.

    Returns
    -------
    str
        The address of the new key.

    Examples
    --------
    >>> from pathlib import Path
    >>> from folkmoot_chain import new_keystore
    >>> new_keystore(Path("me.json"), "short")
    Traceback (most recent call last):
        ...
    ValueError: a passphrase must have at least 8 characters
    """
    if len(passphrase) < LEAST_PASSPHRASE:
        raise ValueError(f"a passphrase must have at least {LEAST_PASSPHRASE} characters")
    if path.exists():
        raise ValueError(f"{path} is there already: give another name, or keep that key")
    account = accounts().create()
    data = json.dumps(accounts().encrypt(bytes(account.key), passphrase, kdf=kdf)).encode()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return str(account.address)


def read_keystore(path: Path, passphrase: str) -> bytes:
    """The private key in a keystore file.

    Parameters
    ----------
    path : Path
        The file.
    passphrase : str
        The passphrase of the encryption.

    Returns
    -------
    bytes
        The key, 32 bytes; ValueError if the passphrase is wrong or it is no such file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from folkmoot_chain import read_keystore
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "me.json")
    ...     _ = path.write_text('{"version": 2}')
    ...     try:
    ...         read_keystore(path, "correct horse")
    ...     except ValueError as error:
    ...         print(str(error).partition("me.json ")[2])
    must be a V3 keystore file: it has no version 3
    """
    try:
        stored = json.loads(path.read_bytes())
    except ValueError:
        raise ValueError(f"{path} must be a V3 keystore file: it is not JSON") from None
    if not isinstance(stored, dict) or stored.get("version") != 3:
        raise ValueError(f"{path} must be a V3 keystore file: it has no version 3")
    try:
        return bytes(accounts().decrypt(stored, passphrase))
    except (ValueError, KeyError, TypeError) as error:
        if "MAC" in str(error):
            raise ValueError(f"the passphrase does not open {path}") from None
        raise ValueError(f"{path} must be a V3 keystore file: {error}") from None


def derived_salt(key: bytes, chain_id: int, contract: str, motion: int | str) -> bytes:
    """The salt of a commitment, from the key: whoever has the key can make it again, nobody else can."""
    what = (
        b"folkmoot-chain salt" + chain_id.to_bytes(32, "big") + address_bytes(contract) + str(motion).encode()
    )
    return hmac.new(key, what, hashlib.sha256).digest()
