"""The asker's door of a node: on this machine only, a client puts a motion and waits for its account.

A client speaks msgpack frames over a Unix socket in the node's folder, or over loopback TCP if the operator
has opened that too. Its first frame shows the token that only the owner of the folder can read.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import os
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import socket
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from folkmoot import checks
from folkmoot.checks import default_query
from folkmoot.network.service import door as doors
from folkmoot.network.service.assembly import AnyNode
from folkmoot.network.service.door import UNIX, Door
from folkmoot.network.service.interfaces import Inputs
from folkmoot.network.service.status import Status, newest_of
from folkmoot.network.session.session import Session
from folkmoot.network.storage.account import Account, account_of, find
from folkmoot.network.wire.forms import Answers
from folkmoot.network.wire.messages import decoded
from folkmoot.network.wire.motion import CHUNK_BYTES, LOCAL, MOST_ASKED, Motion
from folkmoot.network.wire.review import Review, to_be_invited
from folkmoot.node.membership.fields import parse_address
from folkmoot.node.membership.roster import faults
from folkmoot.node.wire.schema import Schema

TOKEN_SECONDS: Final = 2.0  # in which a client must have shown the token
_MOST: Final = 2 << 20  # a motion must fit into a frame of the network, which is shorter
_LENGTH: Final = struct.Struct(">I")


class Put(msgspec.Struct, frozen=True, tag=True):
    """A motion to be put; the chunks named in it follow, each in a frame."""

    seconds: float
    protocol: str
    k: int | None  # None: 10, or all others
    alpha: int | None  # None: the least majority of k
    beta: int
    rounds: int
    pace: float
    weighted: bool
    trust: bool
    labels: tuple[str, ...] | None  # None: those of the node's own model
    inputs: int
    columns: int
    dtype: str
    chunk_rows: int
    chunks: tuple[bytes, ...]
    least_voters: int | None = None  # None: one more than may lie
    schema: Schema = ()
    answers: Answers = "labels"
    tol: float = 0.0
    peer_review: bool = False
    learnt: bool = False  # from truths told of former motions
    token: str = ""  # put shows that of the door


class Look(msgspec.Struct, frozen=True, tag=True):
    """How is the node?"""

    token: str = ""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """Why not."""

    why: str


class MotionProgress(msgspec.Struct, frozen=True, tag="Progress"):
    """How far the motion is."""

    motion: str
    phase: str
    rounds: int
    closes: int


class Over(msgspec.Struct, frozen=True, tag=True):
    """What it came to."""

    account: Account


Request: TypeAlias = Put | Look
Reply: TypeAlias = Refused | MotionProgress | Over | Status
_ENCODER: Final = msgspec.msgpack.Encoder()
_REQUEST: Final = msgspec.msgpack.Decoder(Request)
_REPLY: Final = msgspec.msgpack.Decoder(Reply)


# ---- the node's side -------------------------------------------------------------------------


class Spool:
    """The inputs of a motion in an unnamed file of the node's folder, until it is over."""

    def __init__(self, folder: Path, chunk_bytes: int) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (lives as long as the motion)
        self._step = chunk_bytes
        self._last = 0

    def write(self, data: bytes) -> None:
        """One more chunk."""
        self._file.write(data)
        self._file.flush()
        self._last += len(data)

    def read(self, index: int) -> bytes:
        """A chunk; the model's thread reads too, so no position is shared."""
        start = index * self._step
        return os.pread(self._file.fileno(), min(self._step, self._last - start), start)

    def discard(self) -> None:
        """The file goes with its last handle."""
        self._file.close()


def motion_of(put: Put, node: AnyNode, own: Sequence[str] | None) -> Motion:
    """The motion that is asked for, checked against the moot; ``own`` are the labels of the node's model."""
    others = node.seat.n - 1
    if others < 1:
        raise ValueError("a moot must have two participants at least: add others to the roster")
    if put.answers == "labels" or (put.answers == "probabilities" and put.peer_review):
        k, alpha = default_query(node.seat.n, put.k, put.alpha)
    else:  # all others are asked: that is what the guarantees of the rule are for
        k, alpha = min(others, MOST_ASKED) if put.k is None else put.k, LOCAL
    if not 1 <= k <= others:
        raise checks.ArgumentError(
            f"{{k}} must satisfy 1 <= k <= {others}, the number of others: got {{k=}}",
            k=k,
        )
    least = faults(node.seat.n) + 1
    if put.least_voters is not None and not least <= put.least_voters <= others + 1:
        raise checks.ArgumentError(
            f"{{least_voters}} must satisfy {least} <= least_voters <= {others + 1}, from one more than may "
            f"lie to all participants: got {{least_voters=}}",
            least_voters=put.least_voters,
        )
    labels = put.labels or tuple(own or ()) if put.answers != "numbers" else ()
    if not labels and put.answers != "numbers":
        raise ValueError("the node's model does not say which labels there are: give --labels a,b,...")
    review = Review(learnt=True) if put.learnt else None
    if put.peer_review:
        review = to_be_invited(put.inputs, learnt=put.learnt)
    motion = Motion(
        moot=bytes.fromhex(node.roster.digest),
        asker=node.seat.place,
        nonce=os.urandom(16),
        created=node.transport.clock(),
        seconds=put.seconds,
        protocol=put.protocol,
        k=k,
        alpha=alpha,
        beta=put.beta,
        rounds=put.rounds,
        pace=put.pace,
        weighted=put.weighted,
        trust=put.trust or put.learnt or (put.peer_review and put.answers != "numbers"),
        labels=labels,
        inputs=put.inputs,
        columns=put.columns,
        dtype=put.dtype,
        chunk_rows=put.chunk_rows,
        chunks=put.chunks,
        least_voters=put.least_voters or 0,
        schema=put.schema,
        answers=put.answers,
        tol=put.tol,
        review=review,
    )
    motion.check()
    return motion


class ControlServer:
    """Answers those who want to put a motion."""

    def __init__(
        self,
        node: AnyNode,
        folder: Path,
        labels: Sequence[str] | None,
        look: Callable[[], Status],
    ) -> None:
        """``labels`` are those of the node's model, where the asker names none."""
        self._node, self._folder, self._labels, self._look = node, folder, labels, look
        self._token = doors.own_token(folder)
        self._servers: list[asyncio.Server] = []

    async def open(self) -> None:
        """Open the door of the folder."""
        doors.remove_door(self._folder)
        path = doors.socket_path(self._folder)
        old = os.umask(0o077)  # the socket is its owner's alone, whatever the folder is
        try:
            self._servers.append(await asyncio.start_unix_server(self._limited(), path))
        finally:
            os.umask(old)
        doors.write_door(self._folder, f"{UNIX}{path}", self._token)

    async def open_tcp(self, address: str) -> None:
        """Open one for whoever on this machine has the token."""
        self._servers.append(await asyncio.start_server(self._limited(), *loopback(address, "--control")))

    def close(self) -> None:
        """Shut the door."""
        for server in self._servers:
            server.close()
        doors.remove_door(self._folder)

    def _limited(self) -> Any:
        """Serves some clients at a time; each door has its own number, so that none fills another's."""
        why = Refused(f"{doors.MOST_VISITORS} others are at the door of this node: try again in a moment")
        return doors.limited(self._serve, self._count_refusal, farewell=_framed(why))

    def _count_refusal(self) -> None:
        self._node.counts["refused_door_full"] += 1

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spool = None
        try:
            asked = decoded(_REQUEST, await self._first(reader))
            if not hmac.compare_digest(asked.token.encode(), self._token.encode()):
                self._node.counts["refused_door_token"] += 1
                raise ValueError("the token is wrong: use --via with the node's folder, or --token FILE")
            if isinstance(asked, Look):
                _write(writer, self._look())
                await writer.drain()
                return
            motion = motion_of(asked, self._node, self._labels)
            spool = await self._receive(asked, motion, reader)
            inputs: Inputs = spool
            spool = None
            if asked.peer_review:
                motion, inputs = await with_check_rows(self._node, motion, inputs)
            await self._play(motion, inputs, writer)
        except (ValueError, TypeError, OSError) as error:  # a DecodeError is a ValueError
            with suppress(OSError):
                _write(writer, Refused(str(error)))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone; a motion that was put goes on
        finally:
            if spool is not None:
                spool.discard()
            writer.close()

    async def _first(self, reader: asyncio.StreamReader) -> bytes:
        try:
            async with asyncio.timeout(TOKEN_SECONDS):
                return await _read(reader)
        except TimeoutError:
            self._node.counts["refused_door_late"] += 1
            raise ValueError(f"a client must show the token within {TOKEN_SECONDS:.0f} s") from None

    async def _receive(self, put: Put, motion: Motion, reader: asyncio.StreamReader) -> Spool:
        row = motion.columns * np.dtype(motion.dtype).itemsize
        spool = Spool(self._folder, put.chunk_rows * row)
        try:
            for index, digest in enumerate(put.chunks):
                data = await _read(reader, 4 * CHUNK_BYTES)
                if hashlib.sha256(data).digest() != digest:
                    raise ValueError(f"chunk {index} did not arrive as it was sent")
                spool.write(data)
        except BaseException:
            spool.discard()
            raise
        return spool

    async def _play(self, motion: Motion, spool: Inputs, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        sessions: list[Session] = []

        def over(session: Session, _summary: dict[str, Any]) -> None:
            sessions.append(session)
            if not done.done():
                done.set_result(None)

        name = propose(self._node, motion, spool, over)
        # From here on the node keeps the inputs until the motion is over, whether the client stays or goes.
        while not done.done():
            session = self._node.session(name)
            if session is not None:
                progress = MotionProgress(
                    name.hex(), session.phase.value, session.rounds, len(session.closes)
                )
                _write(writer, progress)
                await writer.drain()
            await asyncio.wait([done], timeout=0.25)
        storage = self._node.storage
        stored, held = find(storage, name.hex()), storage.held(name)
        # A label for every input takes long: a thread makes it, and the node goes on.
        writer.write(await asyncio.to_thread(lambda: _framed(Over(account_of(stored, held)))))
        await writer.drain()


async def with_check_rows(node: AnyNode, draft: Motion, inputs: Inputs) -> tuple[Motion, Inputs]:
    """The motion with check rows of the others among its own, once they have come; ValueError if none do."""
    ready: asyncio.Future[tuple[Motion, Inputs]] = asyncio.get_running_loop().create_future()

    def done(motion: Motion | str, mixed: Inputs) -> None:
        if ready.done():  # the client has gone
            mixed.discard()
            if isinstance(motion, Motion):
                newest.reviews.drop(motion, "whoever asked did not wait for check rows, and nothing was put")
        elif isinstance(motion, str):
            mixed.discard()
            ready.set_exception(ValueError(motion))
        else:
            ready.set_result((motion, mixed))

    newest = newest_of(node)
    try:
        newest.reviews.invite(draft, inputs, done)
    except ValueError:
        inputs.discard()
        raise
    return await ready


def propose(
    node: AnyNode, motion: Motion, inputs: Inputs, over: Callable[[Session, dict[str, Any]], None]
) -> bytes:
    """Put a motion; ValueError if the node refuses it, which is noted if check rows were shown for it."""
    try:
        return node.propose(motion, inputs, over)
    except ValueError as error:
        inputs.discard()
        newest_of(node).reviews.drop(motion, str(error))
        raise


async def _read(reader: asyncio.StreamReader, most: int = _MOST) -> bytes:
    (length,) = _LENGTH.unpack(await asyncio.wait_for(reader.readexactly(4), 60.0))
    if length > most:
        raise ValueError(f"a frame must hold at most {most:,} bytes: got {length:,}")
    return await asyncio.wait_for(reader.readexactly(length), 60.0)


def _write(writer: asyncio.StreamWriter, message: Reply) -> None:
    writer.write(_framed(message))


def _framed(message: Reply) -> bytes:
    data = _ENCODER.encode(message)
    return _LENGTH.pack(len(data)) + data


def loopback(address: str, option: str) -> tuple[str, int]:
    """HOST:PORT on this machine; who reaches it can use it, so nothing else will do."""
    host, port = parse_address(address, any_port=True)
    with suppress(ValueError):
        if ipaddress.ip_address("127.0.0.1" if host == "localhost" else host).is_loopback:
            return host, port
    raise ValueError(f"{option} must be on this machine, such as 127.0.0.1:{port}: got {address!r}")


# ---- the client's side -----------------------------------------------------------------------


def put(
    door: Door, motion: Put, chunks: Iterator[bytes], progress: Callable[[MotionProgress], None] | None = None
) -> Account:
    """Put a motion and wait for its account; ValueError if it was refused.

    A KeyboardInterrupt says what becomes of the motion: the node goes on once it has been told all of it.
    """
    what = "nothing was put"
    with doors.connect(door) as connection, _saying(lambda: what):
        connection.settimeout(motion.seconds + 60.0)
        try:
            _send(connection, _ENCODER.encode(msgspec.structs.replace(motion, token=door.token)))
            for chunk in chunks:
                _send(connection, chunk)
            what = "the node goes on, and folkmoot motions shows what comes of it"
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has refused already: read why
        while True:
            reply = decoded(_REPLY, _receive(connection, door.address))
            if isinstance(reply, Refused):
                raise ValueError(reply.why)
            if isinstance(reply, Over):
                return reply.account
            if progress is not None and isinstance(reply, MotionProgress):
                progress(reply)


@contextmanager
def _saying(what: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C, with what becomes of what was begun."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(what()) from None


def look(door: Door) -> Status:
    """How a node is now; ValueError if it does not say."""
    with doors.connect(door) as connection:
        _send(connection, _ENCODER.encode(Look(door.token)))
        reply = decoded(_REPLY, _receive(connection, door.address))
    if isinstance(reply, Status):
        return reply
    raise ValueError(reply.why if isinstance(reply, Refused) else f"{door.address} is not a node's door")


def _send(connection: socket, data: bytes) -> None:
    connection.sendall(_LENGTH.pack(len(data)) + data)


def _receive(connection: socket, address: str) -> bytes:
    try:
        (length,) = _LENGTH.unpack(_exactly(connection, 4))
        return _exactly(connection, length)
    except OSError as error:
        raise ValueError(
            f"the node at {address} went away ({error.strerror or error}); "
            "folkmoot motions shows what it stored"
        ) from None


def _exactly(connection: socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(1 << 20, size - len(data)))
        if not part:
            raise ConnectionResetError(104, "connection closed")
        data += part
    return bytes(data)
