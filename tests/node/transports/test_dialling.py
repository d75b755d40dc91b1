"""Who cannot be dialled dials, and of several connections none loses a frame: over real sockets."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.mesh import MOST_CONNECTIONS_EACH
from folkmoot.node.transports.tls import Limits
from support.node.meshes import SHORT, Ear, Meshes, eventually, within

N = 4


@pytest.mark.parametrize("hidden", [[place] for place in range(N)] + [[0, N - 1]], ids=str)
def test_members_behind_nat_reach_all_who_can_be_dialled(tmp_path: Path, hidden: list[int]) -> None:
    async def play() -> None:
        async with Meshes(tmp_path, N, hidden=hidden) as moot:
            both = [(one, other) for one in hidden for other in hidden if one < other]
            await moot.all_connected(but=both)
            assert not any(moot.connected(*pair) for pair in both), "only not if both ends have it"
            for place in hidden:
                for other in {*range(N)} - {*hidden}:
                    await moot.tell(place, other)

    within(play())


@pytest.mark.parametrize("place", [0, N - 1], ids=["first", "last"])
def test_a_member_that_has_moved_is_back(tmp_path: Path, place: int) -> None:
    """To a port that nobody else knows of; and then one that was behind NAT comes back from a third."""

    async def play() -> None:
        async with Meshes(tmp_path, N) as moot:
            await moot.all_connected()
            for _ in range(2):
                before = moot.meshes[place].address
                await moot.restart(place, port=0)
                assert moot.meshes[place].address != before
                await moot.all_connected()
                for other in {*range(N)} - {place}:
                    await moot.tell(place, other)

    within(play())


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the kernel cannot be told so here")
def test_a_host_that_moves_while_its_node_runs_is_back_in_thirty_seconds(tmp_path: Path) -> None:
    """Its connections end in silence: the kernel has to notice, before its node dials and is answered."""

    async def play() -> None:
        async with Meshes(tmp_path, 2) as moot:
            await moot.all_connected()
            plain = moot.meshes[1]._peers[moot.prints[0]].connections[0]._socket
            assert plain is not None
            raw = plain.get_extra_info("socket")
            idle, interval, count = (
                raw.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
                for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
            )
            noticed = max(
                idle + interval * count,
                raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000,
            )
            for n in (4, 100):  # the member whose turn to dial is later waits longer in large moots
                assert noticed + Limits().head_start * (1 + n / 10) < 30.0
            assert Limits().dialled_again[1] < 30.0

    within(play())


def test_several_connections_at_once_lose_nothing(tmp_path: Path) -> None:
    """All dial each other at once while frames are on their way: each may come over another connection."""

    async def play() -> None:
        limits = Limits(dialled_again=(0.02, 0.2), head_start=0.0)
        async with Meshes(tmp_path, N, limits=limits) as moot:
            await moot.all_connected()
            pairs = [(one, other) for one in range(N) for other in range(N) if one != other]
            sent, over = 0, False

            async def chatter() -> None:
                nonlocal sent
                while not over:
                    for one, other in pairs:
                        moot.meshes[one].send(moot.prints[other], b"%d" % sent)
                    sent += 1
                    await asyncio.sleep(0)

            talk = asyncio.create_task(chatter())
            for one, other in pairs:
                if len(moot.connections(one, other)) < MOST_CONNECTIONS_EACH:
                    assert not await moot.meshes[one]._try(moot.prints[other])
            over = True
            await talk
            assert all(len(moot.connections(*pair)) > 1 for pair in pairs)
            assert all(not mesh.counts["dropped_no_connection"] for mesh in moot.meshes)
            for one, other in pairs:
                ear, peer = moot.ears[other], moot.prints[one]

                def arrived(ear: Ear = ear, peer: bytes = peer) -> list[int]:
                    return sorted(int(frame) for who, frame in ear.frames if who == peer)

                await eventually(lambda arrived=arrived: len(arrived()) >= sent, "all have arrived")  # type: ignore[misc]
                assert arrived() == [*range(sent)]

    within(play())


def test_of_two_that_can_dial_mostly_the_first_does(tmp_path: Path) -> None:
    """So that a moot that starts does not do all handshakes twice."""

    async def play() -> None:
        async with Meshes(tmp_path, N, limits=Limits(head_start=30.0)) as moot:
            await moot.all_connected()
            for later in range(N):
                for first in range(later):
                    (connection,) = moot.meshes[later]._peers[moot.prints[first]].connections
                    assert connection.expected is None, "it was dialled"

    within(play())


def test_a_member_that_leaves_is_hung_up_on_and_stays_out(tmp_path: Path) -> None:
    """As soon as no roster in force names it, though it has just put a motion of a day."""

    async def play() -> None:
        async with Meshes(tmp_path, N) as moot:
            await moot.all_connected()
            gone = moot.identities[1]
            left = [each.member() for each in moot.identities if each is not gone]
            after = Roster(left, epoch=1, previous=moot.roster.digest)
            digests = [bytes.fromhex(after.digest), bytes.fromhex(moot.roster.digest)]
            stay = [place for place in range(N) if place != 1]
            held = {place: moot.connections(place, stay[place == stay[0]]) for place in stay}
            for place in stay:
                moot.meshes[place].hold([after], digests)
                assert moot.prints[1] not in moot.meshes[place].connected()
                assert moot.prints[1] not in moot.meshes[place].connected()
            heard = [len(moot.ears[place].frames) for place in stay]
            await eventually(lambda: not moot.meshes[1].connected(), "it is hung up on")
            for place in stay:
                moot.meshes[1].send(moot.prints[place], b"let me in")
            refused = [moot.meshes[place].counts for place in stay]
            await eventually(
                lambda: all(
                    sum(counts[name] for name in counts if "refused" in name) > 2 for counts in refused
                ),
                "it has tried again",
            )
            assert [len(moot.ears[place].frames) for place in stay] == heard
            assert held == {place: moot.connections(place, stay[place == stay[0]]) for place in stay}

    within(play())


def test_the_waits_of_who_is_hung_up_on_at_once_double(tmp_path: Path) -> None:
    """A peer that greets and hangs up is not dialled without a pause."""

    async def play() -> None:
        async with Meshes(tmp_path, 2, limits=SHORT) as moot:
            await moot.all_connected()
            mesh, state = moot.meshes[0], moot.meshes[0]._peers[moot.prints[1]]
            waits = []
            for _ in range(5):
                connection = state.connections[-1]
                connection.drop("closed")
                waits.append(state.wait)
                await eventually(lambda: mesh.connected() == [moot.prints[1]], "it is dialled again")
            assert waits == sorted(waits)
            assert waits[-1] == SHORT.dialled_again[1]

    within(play())
