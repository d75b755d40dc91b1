"""Tokens for clients on TCP, in files that only the owner of the folder can read."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

ASK: Final = "token"  # may do everything
READ: Final = "token.read"  # may only look


def own_token(folder: Path, name: str = ASK) -> str:
    """A token of a node, made when it is first needed; ValueError if others can read its file."""
    path = folder / name
    with (
        suppress(FileExistsError),
        os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file,
    ):
        file.write(os.urandom(24).hex() + "\n")
    if path.stat().st_mode & 0o077:
        raise ValueError(
            f"{path} must be readable by its owner only: type chmod 600 {path}, or delete it for a new one"
        )
    return read_token(path)


def read_token(path: Path) -> str:
    """The token in a file; ValueError if there is none."""
    try:
        token = path.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        raise ValueError(f"there is no {path}: a node makes it when it is started with --page") from None
    if len(token) != 48 or token.strip("0123456789abcdef"):
        raise ValueError(
            f"{path} must hold a token, 48 digits and letters a to f: delete it and start the node again "
            f"for a new one"
        )
    return token


def with_token(url: str, token: str) -> str:
    """The address for a browser: what follows # is not sent to anybody, and the page takes it away."""
    return f"{url}/#token={token}"
