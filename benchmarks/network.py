"""What a motion costs a moot: frames, bytes and processor time by the number of members; how long it takes.

    python benchmarks/network.py [--json]

The first table is played over the network in memory, with a mean delay of 5 ms per frame: all nodes are real
ones, with keys, signatures and databases, in one process. The second is measured among five processes on
loopback, over TLS, asked through the socket of one node: single inputs one after the other. The figures of
0.2 beside them are those of its motion by Slush, and of the prototype of 0.3 (frames in all). The last ones
are of 101 nodes in two processes over TLS on loopback, each with a database in a file.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Coroutine
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.local.held_ports import HeldPorts
from folkmoot.local.processes import Member as LocalMember
from folkmoot.local.processes import prepare
from folkmoot.node.membership.fields import parse_address
from folkmoot.node.membership.identity import CERTIFICATE, KEY, create, load
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.exchange import RosterExchange
from folkmoot.node.rosters.history import RosterHistory
from folkmoot.node.service.archive import NodeArchive
from folkmoot.node.service.context import Own
from folkmoot.node.service.models import Model
from folkmoot.node.service.node import Node
from folkmoot.node.service.operation import loop_factory
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.storage import Storage, create_storage, open_storage
from folkmoot.node.transports.mesh import Mesh
from folkmoot.node.wire.batch import Batch
from folkmoot.testing.memory import Network, Weather
from timing import report

SIZES = (4, 7, 10, 25, 50, 101)
INPUTS = 100
LABELS = ("no", "yes")
FRAMES = {4: (90, 1_238), 7: (306, 4_327), 10: (648, 9_257), 25: (4_248, 26_742), 50: (17_248, 56_982),
          101: (70_900, 129_045)}  # fmt: skip
FAR = {0.02: 3.6, 0.05: 6.3, 0.1: 9.9}  # seconds that a frame takes: seconds of a motion of 0.2
CONNECTED = 300.0  # seconds in which all of a large moot must have shaken hands
MODEL = '''
import numpy as np

def vote(X):
    """Whether the number is large."""
    return np.where(X[:, 0] > 3, "yes", "no")

vote.labels, vote.columns = ["no", "yes"], 1
'''


def measure() -> dict[str, object]:
    results: dict[str, object] = {}
    for n in SIZES:
        results |= in_memory(n)
    for delay, before in FAR.items():
        took = Played(5, far=delay).took
        results[f"5 members, one {1000 * delay:.0f} ms away: seconds (0.2 {before})"] = round(took, 2)
    return results | on_loopback() | crowded()


def in_memory(n: int) -> dict[str, object]:
    """What one motion of 100 inputs among n nodes costs."""
    played = Played(n)
    prototype, before = FRAMES[n]
    return {
        f"{n} members: frames in all (prototype {prototype:,}, 0.2 {before:,})": played.frames,
        f"{n} members: bytes per node": round(played.size / n),
        f"{n} members: seconds of CPU per node": round(played.used / n, 4),
        f"{n} members: seconds, with 5 ms per frame": round(played.took, 2),
    }


class Played:
    """One motion of 100 inputs among n nodes in this process; with ``far`` one of them is so far away."""

    def __init__(self, n: int, far: float = 0.0) -> None:
        with tempfile.TemporaryDirectory() as folder:
            identities = []
            for i in range(n):
                create(Path(folder) / f"n{i:03d}", name=f"n{i:03d}")
                identities.append(load(Path(folder) / f"n{i:03d}"))
        peers = [bytes.fromhex(each.fingerprint) for each in identities]
        network = Far(peers, 1, Weather(delay=0.0 if far else 0.005))
        network.late, network.far = far, peers[1]
        roster, nodes = Roster(each.member() for each in identities), []
        for i, me in enumerate(identities):
            storage, world = Storage(":memory:"), network.world(peers[i])
            history = RosterHistory(storage, roster)
            exchange = RosterExchange(history, world, me, rng=random.Random(i))  # noqa: S311
            archive = NodeArchive(storage, history, me)
            node = Node(me, storage, world, archive, exchange, partial(own_of, i))
            node.start()
            nodes.append((node, storage))
        network.run(1.0)
        frames, sent = network.frames, sum(node.counts()["bytes_sent"] for node, _ in nodes)
        batch = Batch(np.arange(float(INPUTS))[:, None])
        spent, began = time.process_time(), network.time
        name = at_once(nodes[0][0].put(batch, Terms(labels=LABELS)))
        while not all(
            storage.knows(name) and storage.motion(name).decided is not None for _, storage in nodes
        ):
            network.run(network.time + 0.01)
            if network.time > began + 60:
                raise SystemExit(f"{n} members did not decide")
        self.used, self.took = time.process_time() - spent, network.time - began
        self.size = sum(node.counts()["bytes_sent"] for node, _ in nodes) - sent
        self.frames = network.frames - frames


class Far(Network[bytes]):
    """A network with a member that is far away."""

    late, far = 0.0, b""

    def carry(self, sender: bytes, peer: bytes, frame: bytes) -> None:
        """Frames to it and from it take a while."""
        late = self.late if self.far in (sender, peer) else 0.0
        self.at(self.time + late, lambda: super(Far, self).carry(sender, peer, frame))


def own_of(i: int, inputs: int = INPUTS) -> Own:
    """A node's model, right on seven inputs of ten; each errs on others."""
    right = np.random.default_rng(i).random(inputs) < 0.7

    def vote(rows: Any) -> Any:
        return np.where(right[rows[:, 0].astype(int)], "yes", "no")

    return Own(Model("bench:vote", vote, labels=LABELS, columns=1))


def at_once(call: Coroutine[Any, Any, bytes]) -> bytes:
    """The result of a coroutine that waits for nothing."""
    return asyncio.run(call)


def on_loopback() -> dict[str, object]:
    """Five processes: single inputs, then many at once."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "bench_model.py").write_text(MODEL)
        sys.path.insert(0, place)
        os.environ["PYTHONPATH"] = os.pathsep.join([place, os.environ.get("PYTHONPATH", "")])
        nodes = prepare(folder, [LocalMember("bench_model:vote")] * 5)
        try:
            nodes.start_all(120.0)
            client = nodes.client(0)
            client.ask([[1.0]])
            times, inside = [], []
            for i in range(50):
                start = time.perf_counter()
                answer = client.ask([[float(i % 7)]])
                times.append(time.perf_counter() - start)
                inside.append(answer.details["seconds"])
            start = time.perf_counter()
            client.ask(np.arange(1000.0)[:, None])
            large = time.perf_counter() - start
        finally:
            nodes.stop()
    return {
        "5 processes: a single input, p50, ms (0.2 about 1,200)": round(1000 * statistics.median(times)),
        "5 processes: the same, from put to decided at the node": round(1000 * statistics.median(inside)),
        "5 processes: 1,000 inputs, ms": round(1000 * large),
    }


def crowded(n: int = 101, inputs: int = 1000, processes: int = 2) -> dict[str, object]:
    """One motion among many nodes over real sockets, in few processes."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as place, closing(HeldPorts(n)) as ports:
        folders = [Path(place) / f"n{i:03d}" for i in range(n)]
        made = [
            create(folder, name=folder.name, listen=f"127.0.0.1:{port}")
            for folder, port in zip(folders, ports.numbers, strict=True)
        ]
        Roster(each.member() for each in made).write(Path(place) / "roster.toml")
        pipes, hosts = [], []
        for number in range(processes):
            ours, theirs = spawn.Pipe()
            host = spawn.Process(
                target=hosting, args=(folders[number::processes], inputs, theirs), daemon=True
            )
            host.start()
            theirs.close()  # so that its end is noticed here
            pipes.append(ours)
            hosts.append(host)
        what = f"{n} members in {processes} processes: {inputs:,} inputs"
        try:
            for pipe in pipes:
                pipe.recv()
        except EOFError:
            return {what: f"not all were connected within {CONNECTED:.0f} s"}
        began = time.perf_counter()
        for number, pipe in enumerate(pipes):
            pipe.send(number == 0)
        used = [pipe.recv() for pipe in pipes]
        took = time.perf_counter() - began
        for pipe, host in zip(pipes, hosts, strict=True):
            pipe.send(None)
            host.join()
    return {f"{what}, seconds": round(took, 1), f"{what}, seconds of CPU in all": round(sum(used), 1)}


def hosting(folders: list[Path], inputs: int, pipe: Any) -> None:
    """Some of the nodes, in a process of theirs."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_hosting(folders, inputs, pipe))


async def _hosting(folders: list[Path], inputs: int, pipe: Any) -> None:
    roster = Roster.read(folders[0].parent / "roster.toml")
    nodes, meshes, loop = [], [], asyncio.get_running_loop()
    for number, folder in enumerate(folders):
        me = load(folder)
        place = roster.position(me.fingerprint)
        mesh = Mesh(roster, place or 0, str(folder / CERTIFICATE), str(folder / KEY))
        create_storage(folder, me.fingerprint, time.time())
        storage, _ = open_storage(folder, me.fingerprint, time.time())
        history = RosterHistory(storage, roster)
        exchange = RosterExchange(history, mesh, me, rng=random.Random(number))  # noqa: S311
        archive = NodeArchive(storage, history, me)
        node = Node(me, storage, mesh, archive, exchange, partial(own_of, place or 0, inputs), hold=mesh.hold)
        await mesh.listen(*parse_address(me.listen))
        node.start()
        nodes.append((node, storage))
        meshes.append(mesh)
        while (
            len(mesh.connected()) < number
        ):  # one after the other: thousands of handshakes at once take too long
            await asyncio.sleep(0.01)
    until = loop.time() + CONNECTED
    while any(len(mesh.connected()) < len(roster) - 1 for mesh in meshes):
        if loop.time() > until:
            raise SystemExit(f"{len(roster)} members were not connected within {CONNECTED:.0f} s")
        await asyncio.sleep(0.1)
    pipe.send("connected")
    asks = await loop.run_in_executor(None, pipe.recv)
    spent = time.process_time()
    if asks:
        batch = Batch(np.arange(float(inputs))[:, None])
        await nodes[0][0].put(batch, Terms(labels=LABELS, seconds=120.0))
    while not all(
        len(storage.names()) == 1 and storage.motion(storage.names()[0]).decided is not None
        for _, storage in nodes
    ):
        await asyncio.sleep(0.1)
    pipe.send(time.process_time() - spent)
    await loop.run_in_executor(None, pipe.recv)
    for node, storage in nodes:
        node.stop()
        storage.close()
    for mesh in meshes:
        await mesh.close()


if __name__ == "__main__":
    report(measure, __doc__)
