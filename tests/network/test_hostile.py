"""Peers that connect, send and draw what they should not, over real TLS: refused at a bounded price while the
moot goes on.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import struct
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from folkmoot.network.service.admission import MOST_OPEN, MOST_OPEN_EACH
from folkmoot.network.service.driver import MOST_KEPT
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import motion_name
from folkmoot.node.membership import identity
from folkmoot.node.transports.tls import Limits
from support.network.hostile_peer import Hall, RawPeer, ended, eventually, within

BRISK = Limits(handshake_seconds=0.5, frame_seconds=0.5)


# ---- who is let in ---------------------------------------------------------------------------


def stranger(hall: Hall, kind: str) -> ssl.SSLContext:
    if kind == "unknown key":
        identity.create(hall.folder / "x", name="x", listen="127.0.0.1:1")
        return hall.context(hall.folder / "x")
    if kind == "known name, another key":
        identity.create(hall.folder / "x", name="p5", listen="127.0.0.1:1")
        return hall.context(hall.folder / "x")
    if kind == "no certificate":
        return hall.context(None)
    if kind == "TLS 1.2":
        context = hall.context(hall.folder / "p5")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        return context
    return hall.context(hall.folder / "p5", alpn={"no version": (), "another version": ("folkmoot/9",)}[kind])


@pytest.mark.parametrize(
    ("kind", "counted"),
    [
        ("unknown key", "handshake_refused"),
        ("known name, another key", "handshake_refused"),
        ("no certificate", "handshake_refused"),
        ("TLS 1.2", "handshake_refused"),
        ("no version", "speaks_another_version"),
        ("another version", "speaks_another_version"),
    ],
)
def test_strangers_are_refused_before_a_frame_of_theirs_is_read(
    tmp_path: Path, kind: str, counted: str
) -> None:
    async def play() -> None:
        async with Hall(tmp_path) as hall:
            context = stranger(hall, kind)
            for _ in range(3):
                with suppress(OSError, ssl.SSLError):  # some are refused inside the handshake
                    peer = await hall.dial(context=context)
                    peer.say(m.Hello(hall.moot, 0.0))
                    peer.say(m.Unknown(bytes(32)))
                    await peer.is_hung_up_on()
            await eventually(lambda: hall.count(f"refused_{counted}") == 3, "they are counted")
            assert hall.count("frames_received") == 0
            assert hall.fingerprint(5) not in hall.meshes[0].connected()
            await hall.ask()

    within(play())


def test_a_member_that_answers_at_another_members_address_is_noticed(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path, absent=(4, 5)) as hall:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(hall.folder / "p4" / "certificate.pem", hall.folder / "p4" / "key.pem")
            context.set_alpn_protocols([m.VERSION])

            async def impostor(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                peer = RawPeer(reader, writer)
                peer.say(m.Hello(hall.moot, 0.0))
                await peer.is_hung_up_on()
                peer.hang_up()

            async with await asyncio.start_server(impostor, "127.0.0.1", hall.ports[5], ssl=context):
                assert "is somebody else" in await hall.meshes[0].reach(hall.fingerprint(5))
                assert hall.count("refused_is_somebody_else") >= 1
                assert not {*map(hall.fingerprint, (4, 5))} & set(hall.meshes[0].connected())
                await hall.ask()

    within(play())


def test_bytes_that_are_no_tls_are_refused(tmp_path: Path) -> None:
    async def play() -> None:
        rng = random.Random(1)
        async with Hall(tmp_path) as hall:
            texts = [
                b"GET / HTTP/1.1\r\n\r\n",
                rng.randbytes(300),
                b"\x16\x03\x01\xff\xff" + rng.randbytes(70000),
            ]
            for text in texts:
                peer = await hall.plain()
                peer.raw(text)
                await peer.is_hung_up_on()
            endless = await hall.plain()  # a record that never ends
            with suppress(OSError):
                while not endless.reader.at_eof():
                    endless.raw(b"\x16\x03\x01\x40\x00" + bytes(0x4000))
                    await endless.writer.drain()
                    await asyncio.sleep(0)
            await eventually(lambda: hall.count("refused_handshake_refused") == 3, "they are counted")
            assert hall.count("refused_handshake_too_long") == 1
            assert not hall.meshes[0]._pending
            await hall.ask()

    within(play())


@pytest.mark.parametrize(
    ("first", "counted"),
    [
        (lambda _: m.encode(m.Hello(bytes(32), 0.0)), "has_another_roster"),
        (lambda moot: m.encode(m.Hello(moot, float("inf"))), "has_another_roster"),
        (lambda moot: m.encode(m.Hello(moot, float("nan"))), "has_another_roster"),
        (lambda moot: m.encode(m.Unknown(moot)), "did_not_say_hello"),
        (lambda _: b"\xc1garbage", "did_not_say_hello"),
        (lambda _: b"", "did_not_say_hello"),
        (lambda _: bytes(1025), "frame_too_long"),
    ],
)
def test_who_does_not_say_a_proper_hello_is_sent_away(
    tmp_path: Path, first: Callable[[bytes], bytes], counted: str
) -> None:
    async def play() -> None:
        async with Hall(tmp_path, n=3, absent=(2,)) as hall:
            peer = await hall.dial(place=2)
            peer.frame(first(hall.moot))
            peer.say(m.Unknown(bytes(32)))
            await peer.is_hung_up_on()
            assert hall.count(f"refused_{counted}") == 1
            assert hall.count("frames_received") == 0
            assert hall.meshes[0].connected() == [hall.fingerprint(1)]
            assert hall.meshes[0].skews().keys() == {hall.fingerprint(1)}

    within(play())


# ---- what is read ----------------------------------------------------------------------------


def test_frames_that_lie_about_their_length(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path, limits=BRISK) as hall:
            for length in range(m.MOST_BYTES + 1, m.MOST_BYTES + 1 + 40):
                peer = await hall.member()
                peer.raw(struct.pack(">I", length if length % 2 else 0xFFFFFFFF - length))
                await peer.is_hung_up_on()
            assert hall.count("refused_frame_too_long") == 40
            names = [name for name in hall.meshes[0].counts if name.startswith("refused")]
            assert len(names) < 5, "one counter, not one for each length"
            cut = await hall.member()  # says a hundred, sends fifty, goes
            cut.frame(bytes(50), length=100)
            await cut.writer.drain()
            cut.hang_up()
            waits = await hall.member()  # says a hundred, sends fifty, waits
            waits.frame(bytes(50), length=100)
            await waits.is_hung_up_on()
            assert hall.count("refused_slow_frame") == 1
            assert hall.count("frames_received") == 0
            await hall.ask()

    within(play())


def test_garbage_in_frames_is_counted_and_dropped(tmp_path: Path) -> None:
    async def play() -> None:
        rng = random.Random(2)
        async with Hall(tmp_path) as hall:
            peer = await hall.member()
            garbage = [
                b"\x00",
                b"\xc1",
                b"\x91" * 5000,
                b"\xdd\xff\xff\xff\xff",
                b"\xc6\xff\xff\xff\xff",
                b"\xdf" * 99,
            ]
            garbage += [rng.randbytes(rng.randrange(1, 400)) for _ in range(300)]
            garbage += [m.encode(m.Unknown(bytes(32))) + b"x", m.encode(m.Unknown(bytes(31)))]
            for data in garbage:
                peer.frame(data)
            await eventually(lambda: hall.count("frames_received") == len(garbage), "all have arrived")
            assert hall.count("refused_malformed") == len(garbage)
            assert hall.fingerprint(5) in hall.meshes[0].connected()
            await hall.ask()

    within(play())


def test_a_byte_at_a_time_is_not_waited_for(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path, limits=BRISK) as hall:

            async def slowly(peer: RawPeer, data: bytes) -> int:
                for sent in range(len(data)):
                    peer.raw(data[sent : sent + 1])
                    await asyncio.sleep(0.05)
                    if peer.reader.at_eof() or peer.writer.is_closing():
                        return sent
                return len(data)

            handshake, member = await hall.plain(), await hall.member()
            quiet = await hall.dial(place=5)  # TLS is done, and then it says nothing
            trickles = asyncio.gather(
                slowly(handshake, b"\x16\x03\x01\x02\x00" + bytes(300)),
                slowly(member, struct.pack(">I", 300) + bytes(300)),
                quiet.is_hung_up_on(),
            )
            await hall.ask()
            first, second, _ = await trickles
            assert max(first, second) < 100  # of 304, after half a second or a little more
            assert hall.count("refused_slow_handshake") == 2
            assert hall.count("refused_slow_frame") == 1
            assert not hall.meshes[0]._pending

    within(play())


def test_half_open_connections_take_no_room_from_members(tmp_path: Path) -> None:
    async def play() -> None:
        limits = Limits(handshake_seconds=20.0, accept_burst=300.0)  # all are there before one is too slow
        async with Hall(tmp_path, limits=limits) as hall:
            mesh = hall.meshes[0]
            for _ in range(200):
                await hall.plain()
            await eventually(lambda: hall.count("refused_half_open") >= 130, "the oldest are hung up on")
            assert len(mesh._pending) <= limits.most_pending + 6
            await hall.member()  # a member gets in all the same
            await hall.ask()
            await eventually(lambda: not mesh._pending, "the rest is hung up on in time")

    within(play())


def test_connections_without_end_are_refused_without_a_handshake(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path, limits=Limits(accept_burst=50.0)) as hall:
            for _ in range(200):
                (await hall.plain()).hang_up()
            await eventually(lambda: hall.count("refused_too_many_connections") > 50, "too many")
            await hall.ask()  # over the connections that there are

    within(play())


# ---- how much is read and answered -----------------------------------------------------------


@asynccontextmanager
async def flooded(hall: Hall, make: Callable[[int], m.Message | bytes]) -> AsyncIterator[list[int]]:
    """Every honest node gets as many frames as it takes, from one member; how many went to each."""
    sent = [0] * len(hall.honest)
    peers = [await hall.member(place) for place in hall.honest]

    async def flood(to: int) -> None:
        with suppress(OSError):
            for number in range(1 << 30):
                made = make(number)
                peers[to].frame(made if isinstance(made, bytes) else m.encode(made))
                await peers[to].writer.drain()
                sent[to] += 1
                await asyncio.sleep(0)

    async def read(to: int) -> None:
        with suppress(OSError):
            while await peers[to].reader.read(1 << 16):
                pass

    tasks = [asyncio.create_task(work(to)) for to in range(len(peers)) for work in (flood, read)]
    try:
        yield sent
    finally:
        await ended(tasks)


def signed_announcement(hall: Hall, number: int, place: int = 5) -> m.Announce:
    motion, _ = hall.motion(place, nonce=(1 << 64 | number).to_bytes(16, "big"), seconds=86_000.0)
    header = motion.encoded()
    said = statements.announcement(motion_name(header), place)
    return m.Announce(header, hall.identities[place].key.sign(said), 86_000.0)


@pytest.mark.parametrize("kind", ["ask", "big", "want", "unknown", "fetch", "announce", "commit"])
def test_a_flood_is_paid_for_by_who_sends_it(tmp_path: Path, kind: str) -> None:
    async def play() -> None:
        limits = Limits(rate=200.0, burst=300.0)
        async with Hall(tmp_path, limits=limits) as hall:
            before = await hall.ask()
            current = before.name

            def make(number: int) -> m.Message | bytes:
                nonlocal current
                running = list(hall.nodes[0]._running)
                current = running[-1] if running else current
                if kind == "ask":
                    return m.Ask(current, number, m.Heard(number % 9, 1, bytes(32), bytes(64)))
                if kind == "big":
                    return bytes([0xC6]) + bytes(m.MOST_BYTES - 1)
                if kind == "want":
                    return m.Want(current, b"")
                if kind == "unknown":
                    return m.Unknown(current)
                if kind == "fetch":
                    return m.Fetch(current, 0)
                if kind == "announce":
                    return signed_announcement(hall, number)
                return m.Commit(current, 5, number.to_bytes(32, "big"), bytes(64), want=True)

            began = asyncio.get_running_loop().time()
            async with flooded(hall, make) as sent:
                await hall.ask()
                await eventually(lambda: min(sent) >= (4 if kind == "big" else 100), "it is a flood")
                for mesh in hall.meshes.values():
                    for connection in mesh._peers[hall.fingerprint(5)].connections:
                        assert len(connection._buffer) <= m.MOST_BYTES + 4 + 65536
                        assert connection._socket is not None
                        assert connection._socket.get_write_buffer_size() <= limits.most_unsent + m.MOST_BYTES
            seconds = asyncio.get_running_loop().time() - began
            assert hall.count("frames_received") < 5000 + 5 * limits.rate * (seconds + 2)
            for node in hall.nodes.values():
                assert len(node._running) <= MOST_KEPT + MOST_OPEN
                assert sum(taken.asker == 5 for taken in node._taken()) <= 2 * MOST_OPEN_EACH
                assert len(node._asked_for) <= 1001
            if kind in ("want", "unknown", "fetch"):
                assert hall.count("refused_too_often") + hall.count("refused_fetch") > 0

    within(play())


def test_connecting_again_does_not_fill_the_budget(tmp_path: Path) -> None:
    async def play() -> None:
        limits = Limits(rate=50.0, burst=100.0)
        async with Hall(tmp_path, limits=limits) as hall:
            loop = asyncio.get_running_loop()
            began, got = loop.time(), hall.count("frames_received")
            for _ in range(12):
                peer = await hall.member()
                for _ in range(200):
                    peer.say(m.Unknown(bytes(32)))
                await peer.writer.drain()
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.5)
            most = 100 + 50 * (loop.time() - began + 1.0)
            assert 100 <= hall.count("frames_received") - got <= most
            assert len(hall.meshes[0]._peers[hall.fingerprint(5)].connections) <= 3

    within(play())


def test_a_peer_that_does_not_read_is_dropped_with_all_that_waits_for_it(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path, limits=Limits(most_unsent=1 << 20)) as hall:
            peer = await hall.member()
            peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
            (connection,) = hall.meshes[0]._peers[hall.fingerprint(5)].connections
            socket = connection._socket
            assert socket is not None
            for _ in range(400):
                hall.meshes[0].send(hall.fingerprint(5), bytes(100_000))
                await asyncio.sleep(0)
            await eventually(lambda: connection.over, "it is dropped")
            assert connection.why == "does not read"
            await eventually(lambda: socket.get_write_buffer_size() == 0, "nothing is kept for it")
            await eventually(lambda: socket.get_extra_info("socket").fileno() == -1, "the socket is closed")
            assert hall.meshes[0]._peers[hall.fingerprint(5)].queued <= 1 << 20
            await hall.ask()

    within(play())
