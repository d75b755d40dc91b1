"""Frames over TLS 1.3, both sides known by the exact certificate in the roster.

TLS is driven here directly (``ssl.MemoryBIO``) rather than through asyncio's own layer. A connection is so
small (asyncio's holds a buffer of 256 KiB for each). A peer can be refused before a byte of its frames is
looked at, and a frame costs less. The effect of an untrusted socket is bounded at every stage:

- before the handshake is done: so many such connections, 64 KiB each, five seconds;
- before a valid Hello: one frame of 1 KiB;
- then: frames of a megabyte, each complete within twenty seconds, and two budgets for all connections of a
  peer: of frames and bytes, and of the processor time that its frames took. Beyond these we stop reading
  (the sender's TCP does the waiting), and nobody else's frames wait. After ``TURN`` seconds of one
  connection's frames the others have their turn.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from folkmoot.node.transports.budget import Budget
from folkmoot.node.wire import messages as m

if TYPE_CHECKING:
    from folkmoot.node.transports.mesh import Mesh

TURN: Final = 0.01  # processor seconds of one connection's frames before the others have their turn
_LAST_WORDS: Final = 0.2  # seconds for what waits to be sent on a connection that is dropped
_HELLO_BYTES: Final = 1024
_HANDSHAKE_BYTES: Final = 64 * 1024
_RECORD: Final = 16 * 1024  # the most that one TLS record holds
_LENGTH: Final = struct.Struct(">I")
_length_at = _LENGTH.unpack_from
_ROUND_TRIP: Final = 68  # where Linux's struct tcp_info has tcpi_rtt, four bytes, microseconds


@dataclass(frozen=True)
class Limits:
    """The most that others may cost us."""

    handshake_seconds: float = 5.0  # until they have said hello
    frame_seconds: float = 20.0  # from the first byte of a frame to its last
    rate: float = 500.0  # tokens a second; a frame costs one, and one more for every 16 KiB
    burst: float = 1500.0
    most_unsent: int = 8 << 20  # bytes that wait for a peer that does not read
    accepts: float = 5.0  # handshakes a second that one address may begin; ten times as many for all
    accept_burst: float = 100.0  # at once, besides two for each participant
    most_pending: int = 64  # of them not known yet, besides one for each participant
    processor: float = 0.5  # seconds a second that frames of all who may lie can take, together
    processor_burst: float = 2.0  # seconds at once
    dialled_again: tuple[float, float] = (0.25, 15.0)  # shortest and longest wait, in seconds
    head_start: float = 1.0  # seconds that one of two members lets the other dial, more in large moots


class Connection(asyncio.Protocol):
    """One TLS connection with one peer, either way."""

    def __init__(
        self, hub: Mesh, context: ssl.SSLContext, limits: Limits, *, expected: bytes | None = None
    ) -> None:
        self.peer: bytes | None = None  # the fingerprint of its certificate, known once the handshake is done
        self.ready = False  # Hello has been said
        self.expected = expected  # whom we dialled; None if we were dialled
        self.incomplete_since: float | None = None
        self._hub, self._most_unsent = hub, limits.most_unsent
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        dialled = expected is not None
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=not dialled)
        # What is below: the same read and write, with one call less.
        engine: Any = getattr(self._tls, "_sslobj", self._tls)
        self._decrypt, self._encrypt = engine.read, engine.write
        self._dialled = dialled
        self._secure = False
        self._early = 0  # bytes before the handshake was done
        self._buffer = bytearray()
        self._budget: Budget  # of the peer, over all connections; no frame is read before it is known
        self._processor: Budget
        self._cpu = hub.cpu
        self._throttled = False
        self._hear: Callable[[bytes, bytes], None]  # once it is known whom
        self._socket: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self.since = self._now()  # a socket that comes later had less time
        self.over, self.why = False, ""
        self._known = asyncio.Event()  # that it is ready, or over
        self.address = ""

    # ---- what asyncio calls ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A socket: begin the handshake, which must be quick."""
        self._socket = cast(asyncio.Transport, transport)
        _notice_dead_peers(transport.get_extra_info("socket"))
        peer = transport.get_extra_info("peername")
        self.address = f"{peer[0]}:{peer[1]}" if peer else ""
        if self._dialled:
            self._handshake()

    def data_received(self, data: bytes) -> None:
        """Bytes of the peer: TLS first, then frames."""
        if self.over:
            return
        self._incoming.write(data)
        if not self._secure:
            self._early += len(data)
            if self._early > _HANDSHAKE_BYTES:
                self.drop("handshake too long")
                return
            self._handshake()
            if not self._secure:
                return
        self._read()

    def connection_lost(self, _error: Exception | None) -> None:
        """The socket is gone."""
        self._end("lost")

    # ---- TLS ---------------------------------------------------------------------------------

    def _handshake(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except ssl.SSLError as error:
            self._flush()  # the alert tells the other side why
            self.drop(f"handshake refused: {_reason(error)}")
            return
        self._flush()
        certificate = self._tls.getpeercert(binary_form=True)
        found = hashlib.sha256(certificate or b"").digest()
        self.peer = found if self._hub.knows(found) else None
        if self._tls.selected_alpn_protocol() != m.VERSION:
            self.drop("speaks another version")
        elif self.peer is None:
            self.drop("not in the roster")
        elif self.expected is not None and self.peer != self.expected:
            self.drop("is somebody else")
        else:
            self._secure = True
            self._budget, self._processor = self._hub.budgets(self.peer)
            self._hear = self._hub.frame
            self.send(self._hub.hello())

    def _flush(self) -> None:
        data = self._outgoing.read()
        if data and self._socket is not None:
            self._write(self._socket, data)

    def _write(self, plain: asyncio.Transport, data: bytes) -> None:
        try:
            plain.write(data)
        except RuntimeError:  # uvloop raises it between the end of a socket and ``connection_lost``
            self._end("lost")

    def send(self, frame: bytes) -> None:
        """Send a frame; a peer that lets too much pile up is dropped."""
        plain = self._socket
        if self.over or not self._secure or plain is None:
            return
        if plain.get_write_buffer_size() > self._most_unsent:
            self.drop("does not read")
            return
        try:
            self._encrypt(_LENGTH.pack(len(frame)) + frame)
        except ssl.SSLError as error:
            self.drop(f"TLS failed: {_reason(error)}")
            return
        self._write(plain, self._outgoing.read())

    # ---- frames ------------------------------------------------------------------------------

    def _read(self) -> None:
        """Take frames while there are any and the budget lasts.

        Mostly a record is a frame, which then needs no buffer.
        """
        incoming, buffer, peer, began = self._incoming, self._buffer, self.peer, self._cpu()
        data: bytes | bytearray = b""
        while True:
            if buffer:
                buffer += data
                data = buffer
            start, end = 0, len(data)
            while (begin := start + 4) <= end and not self.over:
                (length,) = _length_at(data, start)
                if length > _HELLO_BYTES and (length > m.MOST_BYTES or not self.ready):
                    self.drop(f"frame too long: {length} bytes")
                    break
                if begin + length > end:
                    break
                wait = self._budget.pay(self._now(), 1.0 + length / 16384)
                if wait:
                    self._pause(wait)
                    break
                start = begin + length
                if self.ready and peer is not None:
                    before = self._cpu()
                    self._hear(peer, bytes(data[begin:start]))
                    after = self._cpu()
                    wait = self._processor.owe(self._now(), after - before)
                    if wait or after - began > TURN:
                        self._pause(wait)
                        break
                else:
                    self._greet(bytes(data[begin:start]))
            if data is buffer:
                del buffer[:start]
                self.incomplete_since = None if start else self.incomplete_since
            elif start < end and not self.over:
                buffer += data[start:]
            # A record is read as a whole, so OpenSSL holds nothing back.
            if self.over or self._throttled or not incoming.pending:
                break
            try:
                data = self._decrypt(_RECORD)
            except ssl.SSLWantReadError:  # part of a record
                self._flush()
                break
            except ssl.SSLError as error:
                self.drop(f"TLS failed: {_reason(error)}")
                return
            if not data:
                self.drop("closed")
                return
        if not buffer:
            self.incomplete_since = None
        elif self.incomplete_since is None and not self._throttled:
            self.incomplete_since = self._now()

    def _greet(self, frame: bytes) -> None:
        try:
            hello = m.read_hello(frame)
        except ValueError:
            self.drop("did not say hello")
            return
        if self._hub.greeted(self, hello):
            self._known.set()
        else:
            self.drop("has another roster")

    def _pause(self, wait: float) -> None:
        """Stop reading until the next frame can be paid for, or just until the others have had their turn."""
        self._throttled = True
        if self._socket is not None:
            self._socket.pause_reading()
        if wait:  # a little more than needed, so that we do not wake for every single frame
            self._loop.call_later(wait + 0.05, self._resume)
        else:
            self._loop.call_soon(self._resume)

    def _resume(self) -> None:
        self._throttled = False
        if self.over or self._socket is None or self._socket.is_closing():
            return
        self._read()
        if not self._throttled and not self.over:
            self._socket.resume_reading()

    # ---- the end -----------------------------------------------------------------------------

    def drop(self, why: str) -> None:
        """Close the connection; what waits to be sent has a moment."""
        self._end(why)
        self._buffer.clear()
        if self._socket is not None:
            # What waits to be sent (an alert) may still go out, but not for long: a peer that does not read
            # would keep it here for ever.
            if self._secure:
                self._socket.close()
            self._loop.call_later(_LAST_WORDS, self._socket.abort)

    def round_trip(self) -> float | None:
        """Seconds to the peer and back, as the kernel measures them; None where it does not say."""
        if self._socket is None or self.over or not hasattr(socket, "TCP_INFO"):
            return None
        with suppress(OSError):
            plain = self._socket.get_extra_info("socket")
            told = plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ROUND_TRIP + 4)
            if len(told) == _ROUND_TRIP + 4:
                return int.from_bytes(told[_ROUND_TRIP:], sys.byteorder) / 1e6
        return None

    def abort(self) -> None:
        """Close without a last word."""
        if self._socket is not None:
            self._socket.abort()

    def _end(self, why: str) -> None:
        if not self.over:
            self.over, self.why = True, why
            self.ready = False
            self._hub.closed(self, why)
            self._known.set()

    async def changed(self) -> None:
        """Wait until the peer has said hello, or the connection is over."""
        await self._known.wait()


def _notice_dead_peers(plain: Any) -> None:
    """A connection that a firewall has forgotten, or whose host has moved, looks alive: the kernel finds out.

    It takes 18 seconds without anything said, or as many after something was; then we dial.
    """
    options = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 4, "TCP_KEEPCNT": 2, "TCP_USER_TIMEOUT": 18_000}
    for name, value in options.items():
        if hasattr(socket, name):  # not everywhere
            plain.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def _reason(error: ssl.SSLError) -> str:
    """What OpenSSL means, for people."""
    reason = error.reason or str(error)
    if "UNKNOWN_CA" in reason or "BAD_CERTIFICATE" in reason:
        return "it does not have our certificate in its roster"
    if "CERTIFICATE_VERIFY_FAILED" in reason:
        return "its certificate is not in our roster"
    return reason


def contexts(
    certificate_file: str, key_file: str, trusted: list[bytes]
) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For those who dial us and those we dial: TLS 1.3, and nobody but the certificates of the roster."""
    pair = []
    for protocol in (ssl.PROTOCOL_TLS_SERVER, ssl.PROTOCOL_TLS_CLIENT):
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # a certificate is known by its fingerprint, not by a name
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(certificate_file, key_file)
        context.load_verify_locations(cadata=b"".join(trusted))
        context.set_alpn_protocols([m.VERSION])
        if protocol is ssl.PROTOCOL_TLS_SERVER:
            context.num_tickets = 0  # sessions are not resumed; tickets would only cost
        pair.append(context)
    return pair[0], pair[1]
