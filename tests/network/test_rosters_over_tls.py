"""A roster changes over real sockets: newcomers are let in, who left is hung up on, keys are rotated."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folkmoot.local.held_ports import HeldPorts
from folkmoot.network.service import assembly as assemblies
from folkmoot.network.service.assembly import Assembly
from folkmoot.network.service.metrics import metrics
from folkmoot.network.service.node import Node
from folkmoot.network.service.operation import seat_of
from folkmoot.network.service.parts import Lasting, Parts
from folkmoot.network.service.status import status
from folkmoot.network.session.session import Session
from folkmoot.network.storage.chronicle import Chronicle
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.succession import Succession
from folkmoot.node.membership import identity
from folkmoot.node.membership.identity import CERTIFICATE, KEY, Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.service.loop_delay import LoopDelay
from folkmoot.node.transports.mesh import Mesh
from folkmoot.node.transports.places import Places
from folkmoot.node.wire.batch import Batch
from support.network.hostile_peer import eventually
from support.network.moot_in_memory import ChunkVotes, InMemory

VOTES = np.array([0, 1, 1, 0, 1], np.int8)


class Process:
    """One node over TLS, as ``folkmoot node run`` puts it together."""

    def __init__(self, folder: Path, root: Roster) -> None:
        self.me: Identity = identity.load(folder)
        self.storage = Storage(folder / DATABASE)
        self.chronicle = Chronicle(self.storage, root, time.time())
        roster = next(
            r for r in reversed(self.chronicle.rosters) if r.position(self.me.fingerprint) is not None
        )
        place = roster.position(self.me.fingerprint)
        assert place is not None
        self.mesh = Mesh(roster, place, str(folder / CERTIFICATE), str(folder / KEY))
        incarnation = self.storage.start(time.time())

        def make(roster: Roster, places: Places, lasting: Lasting) -> Node:
            own = roster.position(self.me.fingerprint)
            assert own is not None
            seat = seat_of(self.me, roster, own, incarnation)
            parts = Parts(seat, roster, self.storage, places, ChunkVotes(VOTES), random.Random(own))
            return Node(parts, lasting=lasting)

        self.node = Assembly(
            self.chronicle,
            self.mesh,
            self.me.fingerprint,
            make,
            rng=random.Random(place),
            hold=self.mesh.hold,
        )

    async def listen(self) -> None:
        host, _, port = self.me.listen.rpartition(":")
        await self.mesh.listen(host, int(port))
        self.node.start()

    async def close(self) -> None:
        self.node.stop()
        await self.mesh.close()
        self.storage.close()

    def sign(self, succession: Succession) -> None:
        self.chronicle.sign(succession, self.me.key, self.me.fingerprint, time.time())
        self.node.refresh()

    def connected_with(self, *others: Process) -> bool:
        return {bytes.fromhex(each.me.fingerprint) for each in others} == {*self.mesh.connected()}

    async def ask(self) -> Session:
        done: asyncio.Future[Session] = asyncio.get_running_loop().create_future()
        batch = Batch(np.arange(VOTES.size, dtype="<i4")[:, None])
        settings: dict[str, Any] = {
            "moot": bytes.fromhex(self.node.roster.digest), "asker": self.node.seat.place,
            "nonce": os.urandom(16), "created": time.time(), "seconds": 20.0, "protocol": "slush", "k": 3,
            "alpha": 2, "beta": 20, "rounds": 6, "pace": 0.005, "weighted": False, "trust": False,
            "labels": ("a", "b"), "inputs": VOTES.size, "columns": 1, "dtype": "<i4",
            "chunk_rows": batch.chunk_rows, "chunks": batch.digests(),
        }  # fmt: skip
        self.node.propose(
            Motion(**settings), InMemory(list(batch.chunks())), lambda session, _: done.set_result(session)
        )
        return await asyncio.wait_for(done, 25.0)


def test_a_roster_changes_over_tls_while_all_nodes_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assemblies, "GRACE", 1.0)
    asyncio.run(_changes(tmp_path))


async def _changes(folder: Path) -> None:
    ports = HeldPorts(5)
    for name, port in zip("abcde", ports.numbers, strict=True):
        identity.create(folder / name, name=name, listen=f"127.0.0.1:{port}")
    first = Roster(identity.load(folder / name).member() for name in "abcd")
    a, b, c, d = (Process(folder / name, first) for name in "abcd")
    processes = [a, b, c, d]
    try:
        for each in processes:
            await each.listen()
        for each in processes:
            others = [x for x in processes if x is not each]
            await eventually(lambda each=each, others=others: each.connected_with(*others), "connected")  # type: ignore[misc]

        # e joins and d leaves; f = 0 of 4, so three must sign.
        newcomer = identity.load(folder / "e").member()
        change = Succession.after(first, [*first.remove("d"), newcomer])
        a.sign(change)
        await eventually(lambda: bool(c.chronicle.proposals), "c hears of the proposal")
        assert [each.signed for each in status(c.node, c.mesh, 1).proposals] == [["a"]]
        assert "folkmoot_roster_proposals 1\n" in metrics(c.node, c.mesh, LoopDelay())
        b.sign(change)
        c.sign(change)
        for each in processes:
            await eventually(lambda each=each: each.chronicle.tip == change.roster, "all go over")  # type: ignore[misc]
        e = Process(folder / "e", change.roster)
        processes.append(e)
        await e.listen()
        await eventually(lambda: e.connected_with(a, b, c), "the newcomer is let in")
        session = await e.ask()
        assert session.verdict().decisions.tolist() == VOTES.tolist()
        assert len(session.closes) == 4
        assert not d.node.present
        told = status(a.node, a.mesh, 1)
        assert (told.epoch, told.participants, [peer.name for peer in told.peers]) == (1, 4, ["b", "c", "e"])
        text = metrics(d.node, d.mesh, LoopDelay())
        assert "folkmoot_roster_epoch 1\nfolk" in text.replace("# HELP", "folk")
        assert "folkmoot_roster_present 0\n" in text
        await eventually(lambda: len(a.node.halls) == 1, "the old roster is given up")
        await eventually(lambda: a.connected_with(b, c, e), "who has left is hung up on")

        # b rotates its key: the same name, another certificate, a process of its own.
        identity.create(folder / "b2", name="b", listen=b.me.listen)
        other = identity.load(folder / "b2").member()
        rotated = Succession.after(change.roster, [*change.roster.remove("b"), other])
        for each in (a, c, e):
            each.sign(rotated)
        await eventually(lambda: bool(b.chronicle.proposals), "b hears of it")
        await eventually(lambda: a.chronicle.proposals[0].standing.counted == 3, "a quorum has signed")
        assert a.chronicle.proposals[0].standing.owed == ("b",)  # that is not enough
        b.sign(rotated)
        for each in (a, b, c, e):
            await eventually(lambda each=each: each.chronicle.tip == rotated.roster, "all go over")  # type: ignore[misc]
        await b.close()
        processes.remove(b)
        shutil.copy(folder / "b" / DATABASE, folder / "b2" / DATABASE)
        b2 = Process(folder / "b2", rotated.roster)
        processes.append(b2)
        await b2.listen()
        await eventually(lambda: b2.connected_with(a, c, e), "it is let in with its new key")
        session = await b2.ask()
        assert session.verdict().decisions.tolist() == VOTES.tolist()
        assert len(session.closes) == 4
    finally:
        for each in processes:
            await each.close()
        await asyncio.sleep(0.25)
        ports.close()
