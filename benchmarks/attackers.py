"""What hostile members do to a real node, each in a process of its own: as much as the node takes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from folkmoot.network.service.door import connect, door_of
from folkmoot.network.service.operation import Settings, run
from folkmoot.network.session.patience import Health, Patience
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import Motion, motion_name
from folkmoot.node.membership import identity
from folkmoot.node.membership.identity import CERTIFICATE, KEY
from folkmoot.node.transports.mesh import Mesh
from folkmoot.node.wire.schema import Column

IDLE: Final = 1100  # connections to the door; a process may have 1,024 files by default
BIG_HEADER: Final = 1250  # columns with names of 200 characters: 256,000 bytes, and 262,144 are played


@dataclass(frozen=True)
class Target:
    """A node, and what its attacker knows of it."""

    folder: Path  # of the attacker, a member
    place: int  # the attacker's
    port: int
    moot: bytes
    motion: bytes  # under way there
    large: bytes  # another, with answers of many bytes
    node: Path  # the folder of the node, for an attacker on its machine


def context_of(folder: Path) -> ssl.SSLContext:
    """Shows the certificate in a folder, and takes any."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(folder / CERTIFICATE, folder / KEY)
    context.set_alpn_protocols([m.VERSION])
    return context


class Line:
    """A TLS connection with a node, and frames on it."""

    def __init__(self, context: ssl.SSLContext, port: int, moot: bytes) -> None:
        plain = socket.create_connection(("127.0.0.1", port), timeout=10.0)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = context.wrap_socket(plain)
        self.say(m.encode(m.Hello(moot, time.time())))
        self.hear()

    def say(self, frame: bytes) -> None:
        self.socket.sendall(struct.pack(">I", len(frame)) + frame)

    def hear(self) -> m.AnyMessage:
        (length,) = struct.unpack(">I", self._exactly(4))
        return m.decode(self._exactly(length))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError
            data += part
        return data


class Announcing:
    """Puts motions of its own that are never over by themselves, each a new one."""

    def __init__(self, target: Target, **changes: Any) -> None:
        self._key = identity.load(target.folder).key
        self._settings: dict[str, Any] = {
            "moot": target.moot, "asker": target.place, "seconds": 2.0, "protocol": "slush",
            "k": 2, "alpha": 2, "beta": 20, "rounds": 50, "pace": 0.02, "weighted": False, "trust": False,
            "labels": ("0", "1"), "inputs": 10, "columns": 1, "dtype": "<i4", "chunk_rows": 10,
            "chunks": (bytes(32),),
        } | changes  # fmt: skip

    def __call__(self) -> bytes:
        """The next announcement."""
        header = Motion(nonce=os.urandom(16), created=time.time(), **self._settings).encoded()
        said = statements.announcement(motion_name(header), self._settings["asker"])
        return m.encode(m.Announce(header, self._key.sign(said), self._settings["seconds"]))


def _always(frame: bytes) -> Callable[[Target], Callable[[], bytes]]:
    return lambda _: lambda: frame


# What is sent on connections of members, by name: for a target, what makes the next frame.
FRAMES: Final[dict[str, Callable[[Target], Callable[[], bytes]]]] = {
    "queries": lambda target: _always(m.encode(m.Ask(target.motion, 1, None)))(target),
    "queries with big answers": lambda target: _always(m.encode(m.Ask(target.large, 1, None)))(target),
    "big frames": _always(b"\xc6" + bytes(m.MOST_BYTES - 1)),
    "wants": lambda target: _always(m.encode(m.Want(target.motion, b"")))(target),
    "unknowns": lambda target: _always(m.encode(m.Unknown(target.motion)))(target),
    "garbage": _always(b"\xc1" * 100),
    "announcements": Announcing,
    "announcements with big headers": lambda target: Announcing(
        target, columns=BIG_HEADER, schema=tuple(Column(f"{number:0200d}") for number in range(BIG_HEADER))
    ),
    "announcements that the policy refuses": lambda target: Announcing(target, k=1, alpha=1, rounds=5000),
}
CONNECTIONS: Final = ("connections", "handshakes", "idle visitors at the door")
ATTACKS: Final = (*FRAMES, *CONNECTIONS)


def attack(kind: str, target: Target) -> None:
    """The body of the attacker's process: as much as the node takes, until it is ended."""
    os.nice(19)  # a real attacker has a machine of its own
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    kept: list[socket.socket] = []
    context = context_of(target.folder)
    while True:
        time.sleep(0.001)  # for what the attacker costs the machine is not what is measured
        with suppress(OSError, ValueError):
            if kind == "connections":
                kept = [*kept[-300:], socket.create_connection(("127.0.0.1", target.port), timeout=5.0)]
            elif kind == "handshakes":
                Line(context, target.port, target.moot).socket.close()
            elif kind == "idle visitors at the door":
                kept = [*kept[1 - IDLE :], connect(door_of(str(target.node)))]
            else:
                line, frame = Line(context, target.port, target.moot), FRAMES[kind](target)
                threading.Thread(target=_drain, args=(line,), daemon=True).start()
                while True:
                    line.say(frame())


def _drain(line: Line) -> None:
    with suppress(OSError):
        while line.socket.recv(1 << 16):
            pass


@contextmanager
def attacked(kind: str, target: Target) -> Iterator[None]:
    """While it is."""
    process = multiprocessing.get_context("forkserver").Process(
        target=attack, args=(kind, target), daemon=True
    )
    process.start()
    time.sleep(1.5)  # bursts are spent
    try:
        yield
    finally:
        process.kill()
        process.join(10.0)


def slow_node(settings: Settings, seconds: float) -> None:
    """The body of a member that commits at once, and answers and closes just before patience with it ends."""
    patience, send = Patience(seconds, Health(1), 1, 0.0, seconds).answer, Mesh.send

    def late(mesh: Mesh, peer: bytes, frame: bytes) -> None:
        if isinstance(m.decode(frame), m.Answer | m.Close):
            asyncio.get_running_loop().call_later(0.9 * patience, send, mesh, peer, frame)
        else:
            send(mesh, peer, frame)

    Mesh.send = late  # type: ignore[method-assign, assignment]
    run(settings)


@contextmanager
def slow_member(settings: Settings, seconds: float) -> Iterator[None]:
    """While there is one."""
    process = multiprocessing.get_context("forkserver").Process(
        target=slow_node, args=(settings, seconds), daemon=True
    )
    process.start()
    time.sleep(6.0)  # it has joined
    try:
        yield
    finally:
        process.terminate()
        process.join(10.0)
