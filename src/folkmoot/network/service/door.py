"""Where a node's door is, who may come in, and how many at a time.

The door is a Unix socket in the node's folder, which only its owner can enter. A path of more than 107 bytes
does not fit into the address of such a socket: then it is in a new folder of mode 0700 among the temporary
files, and ``door.json`` says where. TCP is there only if the operator wants it (``--control HOST:PORT``).
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from socket import AF_UNIX, create_connection, socket
from typing import Any, Final

import msgspec

from folkmoot.files.durable import replace_file
from folkmoot.node.membership.fields import parse_address

DOOR: Final = "door.json"  # in the node's folder, mode 0600: where the door is, and the token
SOCKET: Final = "door.sock"
TOKEN: Final = "token"  # noqa: S105 (the name of a file)
LONGEST_PATH: Final = 107  # bytes; the kernel has 108 for the path of a socket and the zero at its end
UNIX: Final = "unix:"
MOST_VISITORS: Final = 64  # at a time, at each door
_ELSEWHERE: Final = "folkmoot-door-"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Door(msgspec.Struct, frozen=True):
    """What ``door.json`` holds: ``unix:PATH`` or HOST:PORT, the token, and the process."""

    address: str
    token: str
    pid: int


def socket_path(folder: Path) -> Path:
    """Where the socket of a node is made: in its folder, or in a new private one if that path is too long."""
    path = folder.absolute() / SOCKET
    if len(os.fsencode(path)) <= LONGEST_PATH:
        return path
    path = Path(tempfile.mkdtemp(prefix=_ELSEWHERE)) / SOCKET
    if len(os.fsencode(path)) > LONGEST_PATH:
        path.parent.rmdir()
        raise ValueError(
            f"a socket must have a path of at most {LONGEST_PATH} bytes: {folder} and the folder of "
            "temporary files are both too deep; set TMPDIR to a shorter one, such as /tmp"
        )
    return path


def write_door(folder: Path, address: str, token: str) -> None:
    """Tell clients that may read the folder where the door is; they find the file whole, or not at all."""
    data = msgspec.json.encode(Door(address, token, os.getpid()))
    replace_file(folder / DOOR, data, new_mode=0o600)


def remove_door(folder: Path) -> None:
    """Take away what a door leaves behind, this one or that of a node that was killed."""
    with suppress(OSError, msgspec.DecodeError):
        old = msgspec.json.decode((folder / DOOR).read_bytes(), type=Door)
        elsewhere = Path(old.address.removeprefix(UNIX))
        if old.address.startswith(UNIX) and elsewhere.parent.name.startswith(_ELSEWHERE):
            elsewhere.unlink(missing_ok=True)
            elsewhere.parent.rmdir()
    for name in (SOCKET, DOOR):
        (folder / name).unlink(missing_ok=True)


def own_token(folder: Path, name: str = TOKEN) -> str:
    """The node's token, made at its first start; whoever can read the file may put motions.

    Another name is another token, for less: the page has one that may only read.
    """
    path = folder / name
    with (
        suppress(FileExistsError),
        os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file,
    ):
        file.write(os.urandom(24).hex() + "\n")
    return read_token(path)


def read_token(path: Path) -> str:
    """The token in a file; ValueError if there is none."""
    token = path.read_text(encoding="ascii", errors="replace").strip()
    if len(token) != 48 or token.strip("0123456789abcdef"):
        kind = path.name if path.name.startswith(TOKEN) else TOKEN
        raise ValueError(
            f"{path} must hold a token, 48 digits and letters a to f: it does not; copy it from the file "
            f"{kind} of the node's folder, or delete that one and start the node again for a new token"
        )
    return token


def door_of(via: str, token: Path | None = None) -> Door:
    """Where a motion is put: a node's folder, or HOST:PORT of a node that was started with ``--control``."""
    folder = Path(via)
    if not folder.is_dir():
        try:
            parse_address(via)
        except ValueError:
            raise ValueError(f"--via must be a node's folder or HOST:PORT: got {via!r}") from None
        return Door(via, "" if token is None else read_token(token), 0)
    if token is not None:
        raise ValueError(f"--token must be given with --via HOST:PORT only: the folder {via} has its own")
    try:
        return msgspec.json.decode((folder / DOOR).read_bytes(), type=Door)
    except FileNotFoundError:
        raise ValueError(
            f"the node in {folder} is not running: start it with "
            f"folkmoot node run {folder} --roster ROSTER.toml --model MODEL"
        ) from None
    except msgspec.DecodeError:
        raise ValueError(
            f"{folder / DOOR} is damaged: stop the node in {folder} and start it again"
        ) from None


def connect(door: Door, seconds: float = 10.0) -> socket:
    """A connection to a node's door; ValueError if nobody is there."""
    try:
        if not door.address.startswith(UNIX):
            return create_connection(parse_address(door.address), timeout=seconds)
        connection = socket(AF_UNIX)
        connection.settimeout(seconds)
        try:
            connection.connect(door.address.removeprefix(UNIX))
        except BaseException:
            connection.close()
            raise
    except OSError as error:
        raise ValueError(
            f"no node answers at {door.address} ({error.strerror or error}): is it running?"
        ) from None
    return connection


def limited(
    handler: Handler, refused: Callable[[], None], most: int = MOST_VISITORS, farewell: bytes = b""
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None] | None]:
    """A handler that serves ``most`` connections at a time and sends the others away at once, counted.

    A connection costs a descriptor, of which a process has some thousand: without a limit any user of the
    machine could take them all.
    """
    present = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal present
        try:
            await handler(reader, writer)
        finally:
            present -= 1

    def arrive(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Coroutine[Any, Any, None] | None:
        # Not a coroutine itself: what is refused is closed before the next connection is accepted.
        nonlocal present
        if present >= most:
            refused()
            writer.write(farewell)
            writer.close()
            return None
        present += 1
        return serve(reader, writer)

    return arrive
