"""Speed and size of the network: requests a second against a bare TLS echo, and a moot of 101 processes.

    python benchmarks/network.py [--json]

Every node is a process of its own, started with ``folkmoot node run``. The echo is what asyncio's own TLS
layer does
with the same certificates, the same frames, the same number of processes and the same pattern of asking
(ten peers at a time, then the next ten), and nothing else: no votes are counted, checked or changed. Four
of them tell where a request's time goes: on the loop's own TLS, on folkmoot's (``transports/tls.py``),
without TLS, and the least of a talk: on folkmoot's TLS, with messages that are decoded and encoded. Processor
time is compared too, which other programs on the machine disturb less; and the talk alone, which is what a
motion of many rounds costs beyond one of few, without votes, signatures and storage.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import ssl
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from folkmoot.network import Terms
from folkmoot.network import ask as put
from folkmoot.network.service.door import DOOR
from folkmoot.network.service.operation import loop_factory
from folkmoot.network.wire import messages as m
from folkmoot.node.membership.identity import CERTIFICATE, KEY
from folkmoot.node.membership.roster import Roster
from folkmoot.node.transports.budget import Budget
from folkmoot.node.transports.mesh import Mesh
from folkmoot.node.transports.tls import Connection, Limits
from folkmoot.runs.processes import Nodes, prepare
from timing import report

MODEL = '''
import os
import numpy as np

def vote(X):
    """A learner that is right on seven inputs of ten; each process errs on others."""
    rng = np.random.default_rng([os.getpid(), int(X[0, 0])])
    return np.where(rng.random(len(X)) < 0.7, "yes", "no")

vote.labels = ["no", "yes"]
'''
WITHOUT_UVLOOP = "import sys; sys.modules['uvloop'] = None; from folkmoot.cli.main import main; main()"
KINDS = ("loop", "ours", "none", "least")  # of TLS, for the echo; the last one's frames are messages
ASK_BYTES, ANSWER_BYTES = 165, 720  # of a query with what was heard, and of an answer with 600 bytes of votes
VOTES = bytes(600)
_LENGTH = struct.Struct(">I")


def measure() -> dict[str, object]:
    results: dict[str, object] = {}
    for name, plain in (("asyncio", True), ("uvloop", False)):
        moots: list[Spent] = []
        echoes: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
        for _ in range(3):  # in turn, so that the rest of the machine disturbs all alike
            moots.append(requests_of_a_moot(16, 10, 400, plain=plain))
            for kind, found in echoes.items():
                found.append(requests_of_an_echo(16, 10, 400, plain=plain, kind=kind))
        rate, bare = max(each.rate for each in moots), max(echoes["loop"])[0]
        whole, talk = min(each.whole for each in moots), min(each.talk for each in moots)
        cpu = {kind: min(spent for _, spent in found) for kind, found in echoes.items()}
        results |= {
            f"{name}: requests a second, 16 nodes, k=10, 600-byte votes": round(rate),
            f"{name}: requests a second, bare TLS echo of the same frames": round(bare),
            f"{name}: moot over echo (target: at least 0.6)": round(rate / bare, 3),
            f"{name}: microseconds of CPU a request, both sides": round(whole, 1),
            f"{name}: the same, the talk alone": round(talk, 1),
            f"{name}: the same, echo": round(cpu["loop"], 1),
            f"{name}: the same, echo on folkmoot's TLS": round(cpu["ours"], 1),
            f"{name}: the same, echo without TLS": round(cpu["none"], 1),
            f"{name}: the same, echo on folkmoot's TLS that decodes and encodes": round(cpu["least"], 1),
            f"{name}: moot over echo by CPU": round(cpu["loop"] / whole, 3),
            f"{name}: the talk alone over echo by CPU": round(cpu["loop"] / talk, 3),
            f"{name}: echo that decodes and encodes over echo by CPU": round(cpu["loop"] / cpu["least"], 3),
        }
    return results | large_moot()


# ---- the moot ----------------------------------------------------------------------------------


@contextmanager
def running(n: int, folder: Path, *, plain: bool = False) -> Iterator[tuple[Nodes, list[int]]]:
    """n nodes as processes of their own, from the command line."""
    (folder / "bench_model.py").write_text(MODEL)
    nodes = prepare(folder, ["bench_model:vote"] * n, {}, "warning")
    processes = []
    try:
        for settings in nodes.settings:
            start = ["-c", WITHOUT_UVLOOP] if plain else ["-m", "folkmoot"]
            command = [
                sys.executable, *start, "node", "run", str(settings.folder), "--roster",
                str(settings.roster), "--model", settings.model, "--log-level", "error",
            ]  # fmt: skip
            processes.append(subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL))
        end = time.monotonic() + 180
        while not all((settings.folder / DOOR).exists() for settings in nodes.settings):
            if time.monotonic() > end or any(process.poll() is not None for process in processes):
                raise SystemExit("the nodes did not start")
            time.sleep(0.1)
        time.sleep(2.0 + n / 25)  # until all are connected
        yield nodes, [process.pid for process in processes]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(20)
        nodes.stop()


def ask(nodes: Nodes, inputs: int, *, rounds: int, k: int, pace: float, deadline: float) -> Any:
    array = np.arange(inputs, dtype=np.float64)[:, None]
    terms = Terms(k=k, rounds=rounds, pace=pace, seconds=deadline)
    return put(array, via=nodes.settings[0].folder, terms=terms)


class Spent(NamedTuple):
    """Of a motion: requests a second; microseconds of CPU a request, of the whole motion and of its talk."""

    rate: float
    whole: float
    talk: float


def requests_of_a_moot(n: int, k: int, rounds: int, *, plain: bool) -> Spent:
    """From the announcement to the last close: the whole motion counts, not only the talk."""
    with tempfile.TemporaryDirectory() as folder, running(n, Path(folder), plain=plain) as (nodes, pids):
        (_, few, little), (seconds, requests, spent) = (
            _motion(nodes, pids, n, k, each) for each in (rounds // 10, rounds)
        )
        talk = (spent - little) / (requests - few)
        return Spent(requests / seconds, 1e6 * spent / requests, 1e6 * talk)


def _motion(nodes: Nodes, pids: list[int], n: int, k: int, rounds: int) -> tuple[float, int, float]:
    """One motion: its seconds, requests and seconds of CPU."""
    before = sum(cpu_seconds(pid) for pid in pids)
    account = ask(nodes, 4792, rounds=rounds, k=k, pace=0.0, deadline=120.0)
    time.sleep(0.5)  # until the others have closed, too
    return account.seconds, n * account.queries, sum(cpu_seconds(pid) for pid in pids) - before


def large_moot() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        with running(101, Path(folder)) as (nodes, pids):
            up = time.perf_counter() - started
            account = ask(nodes, 1000, rounds=50, k=10, pace=0.02, deadline=120.0)
            sizes = [private_megabytes(pid) for pid in pids]
    return {
        "101 nodes: seconds to start and connect": round(up, 1),
        "101 nodes, 1,000 inputs, 50 rounds: seconds (target: under 90)": round(account.seconds, 1),
        "101 nodes: decided": f"{account.inputs - account.undecided} of {account.inputs}",
        "101 nodes: took part": len(account.took_part),
        "101 nodes: private memory of the largest, MB (target: under 60)": round(max(sizes), 1),
        "101 nodes: private memory, mean, MB": round(sum(sizes) / len(sizes), 1),
    }


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def private_megabytes(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


# ---- the echo ----------------------------------------------------------------------------------


class Frames(asyncio.Protocol):
    """Length-prefixed frames on asyncio's own TLS: the server answers each, the client counts them."""

    def __init__(self, reply: bytes | None, heard: Any = None) -> None:
        self._reply, self._heard, self._buffer = reply, heard, bytearray()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 4:
            (length,) = _LENGTH.unpack_from(self._buffer)
            if len(self._buffer) < 4 + length:
                return
            del self._buffer[: 4 + length]
            if self._reply is not None:
                self.transport.write(self._reply)
            else:
                self._heard()


class Alone:
    """The hub of one connection of folkmoot's TLS: every frame is answered or counted."""

    def __init__(self, reply: bytes | None, heard: Any = None) -> None:
        self._reply, self._heard = reply, heard
        self.ready: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()

    def hello(self) -> bytes:
        return m.encode(m.Hello(bytes(32), time.time()))

    def knows(self, fingerprint: bytes) -> bool:
        return bool(fingerprint)

    def budgets(self, peer: bytes) -> tuple[Budget, Budget]:
        del peer
        return Budget(1e9, 1e9), Budget(1e9, 1e9)

    def cpu(self) -> float:
        return time.thread_time()

    def retired(self, connection: Connection) -> None:
        """There is one only."""

    def greeted(self, connection: Connection, hello: m.Hello) -> bool:
        connection.ready = isinstance(hello, m.Hello)
        self.ready.set_result(connection)
        return True

    def frame(self, peer: bytes, frame: bytes) -> None:
        del peer, frame
        if self._reply is not None:
            self.ready.result().send(self._reply)
        else:
            self._heard()

    def closed(self, connection: Connection, why: str) -> None:
        """It is over."""


class Least(Alone):
    """The least that a talk does with a frame: it is decoded, and the answer is made and encoded."""

    def frame(self, peer: bytes, frame: bytes) -> None:
        del peer
        message = m.decode_frame(frame)
        if isinstance(message, m.Ask):
            said = m.Answer(message.motion, message.round, 1, VOTES, bytes(64))
            self.ready.result().send(m.encode_frame(said))
        else:
            self._heard()


async def echo(place: int, k: int, rounds: int, folder: Path, kind: str) -> None:
    """One process of the echo: a server for all, and a client that asks k at a time."""
    loop = asyncio.get_running_loop()
    roster = Roster.read(folder / "roster.toml")
    mesh = Mesh(roster, place, str(own(folder, place) / CERTIFICATE), str(own(folder, place) / KEY))
    contexts: tuple[ssl.SSLContext, ssl.SSLContext] = (mesh._for_callers, mesh._for_called)  # the same TLS
    answer = _LENGTH.pack(ANSWER_BYTES) + os.urandom(ANSWER_BYTES)
    query = _LENGTH.pack(ASK_BYTES) + os.urandom(ASK_BYTES)
    host, port = roster[place].addresses[0].split(":")
    limits = Limits()

    def serving() -> Any:
        if kind in OWN_TLS:
            return Connection(OWN_TLS[kind](answer[4:]), contexts[0], limits)
        return Frames(answer)

    server = await loop.create_server(
        serving, host, int(port), ssl=contexts[0] if kind == "loop" else None, backlog=256
    )
    waiting, all_heard = 0, loop.create_future()

    def heard() -> None:
        nonlocal waiting
        waiting -= 1
        if waiting == 0 and not all_heard.done():
            all_heard.set_result(None)

    (folder / f"up{place}").touch()
    while len(list(folder.glob("up*"))) < len(roster):
        await asyncio.sleep(0.05)
    sends: list[Any] = []  # to each of the others
    for other in range(len(roster)):
        if other == place:
            continue
        host, port = roster[other].addresses[0].split(":")
        if kind in OWN_TLS:
            hub, expected = OWN_TLS[kind](None, heard), bytes.fromhex(roster[other].fingerprint)
            dialled = Connection(hub, contexts[1], limits, expected=expected)
            await loop.create_connection(lambda made=dialled: made, host, int(port))  # type: ignore[misc]
            sends.append((await hub.ready).send)
        else:
            tls: dict[str, Any] = {"ssl": contexts[1], "server_hostname": ""} if kind == "loop" else {}
            _, made = await loop.create_connection(lambda: Frames(None, heard), host, int(port), **tls)
            sends.append(made.transport.write)
    said = query[4:] if kind in OWN_TLS else query
    heard_of = m.Heard(place, 1, bytes(32), bytes(64))
    (folder / f"joined{place}").touch()
    while len(list(folder.glob("joined*"))) < len(roster):
        await asyncio.sleep(0.02)
    started, spent = time.perf_counter(), time.process_time()
    for number in range(rounds):
        waiting, all_heard = k, loop.create_future()
        if kind == "least":
            said = m.encode_frame(m.Ask(bytes(32), number, heard_of))
        for send in random.sample(sends, k):
            send(said)
        await all_heard
    spent = time.process_time() - spent
    (folder / f"time{place}").write_text(json.dumps([time.perf_counter() - started, spent]))
    while len(list(folder.glob("time*"))) < len(roster):
        await asyncio.sleep(0.05)
    server.close()


OWN_TLS = {"ours": Alone, "least": Least}  # who takes the frames of a connection


def own(folder: Path, place: int) -> Path:
    return folder / f"node{place:03d}"


def requests_of_an_echo(
    n: int, k: int, rounds: int, *, plain: bool, kind: str = "loop"
) -> tuple[float, float]:
    """Requests a second, and microseconds of CPU a request."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nodes = prepare(folder, ["none:none"] * n, {})
        command = [sys.executable, __file__, "--echo"]
        processes = [
            subprocess.Popen([*command, json.dumps([place, k, rounds, str(folder), plain, kind])])
            for place in range(n)
        ]
        for process in processes:
            if process.wait(120) != 0:
                raise SystemExit("the echo failed")
        nodes.stop()
        times = [json.loads((folder / f"time{place}").read_text()) for place in range(n)]
        slowest, spent = max(each[0] for each in times), sum(each[1] for each in times)
        return n * k * rounds / slowest, 1e6 * spent / (n * k * rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--echo"]:
        place, k, rounds, where, plain, kind = json.loads(sys.argv[2])
        with asyncio.Runner(loop_factory=None if plain else loop_factory()) as runner:
            runner.run(echo(place, k, rounds, Path(where), kind))
    else:
        report(measure, __doc__)
