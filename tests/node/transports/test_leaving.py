"""A mesh that leaves hangs up on everybody, also where a handshake is under way; others notice at once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from folkmoot.node.membership import identity
from folkmoot.node.membership.identity import CERTIFICATE, KEY
from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.mesh import Mesh
from support.node.meshes import Meshes, eventually, within


def test_a_dialled_connection_is_closed_though_its_handshake_is_not_over(tmp_path: Path) -> None:
    async def leaves() -> bytes:
        dialled = asyncio.Event()
        ended: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert await reader.read(1)  # the first of the handshake, to which nobody replies
            dialled.set()
            try:
                while await reader.read(1 << 16):
                    pass
            except ConnectionError:
                pass
            ended.set_result(b"closed")
            writer.close()

        server = await asyncio.start_server(mute, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        me = identity.create(tmp_path / "a", name="a", listen="127.0.0.1:1")
        other = identity.create(tmp_path / "b", name="b", listen=f"127.0.0.1:{port}")
        roster = Roster([me.member(), other.member()])
        place = roster.position(me.fingerprint)
        assert place is not None
        mesh = Mesh(roster, place, str(tmp_path / "a" / CERTIFICATE), str(tmp_path / "a" / KEY))
        await mesh.listen("127.0.0.1", 0)
        mesh.send(bytes.fromhex(other.fingerprint), b"a frame, for which it dials")
        await asyncio.wait_for(dialled.wait(), 20.0)
        await mesh.close()
        said = await asyncio.wait_for(ended, 5.0)
        server.close()
        return said

    assert asyncio.run(leaves()) == b"closed"


class Gone(asyncio.Transport):
    """A socket of uvloop after its end, of which nobody has been told yet."""

    def __init__(self) -> None:
        super().__init__()
        self.tried = False

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, _data: object) -> None:
        self.tried = True
        raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")


def test_sending_to_a_socket_that_has_just_ended_does_not_fail_and_it_is_dialled_again(
    tmp_path: Path,
) -> None:
    """What a node sends to others after that frame must still be sent."""

    async def goes_on() -> None:
        async with Meshes(tmp_path, 2) as meshes:
            one, other = meshes.meshes
            await eventually(lambda: bool(one.connected()) and bool(other.connected()), "connected")
            connection: Any = one._peers[meshes.prints[1]].connections[-1]
            ended, connection._socket = connection._socket, Gone()
            one.send(meshes.prints[1], b"lost")
            assert connection._socket.tried
            assert not connection.ready
            ended.abort()
            await eventually(lambda: bool(one.connected()) and bool(other.connected()), "connected again")
            one.send(meshes.prints[1], b"found")
            await eventually(lambda: (meshes.prints[0], b"found") in meshes.ears[1].frames, "it arrives")

    within(goes_on())
