"""What a flood costs the honest: how long a node takes to answer a query, left alone and under attack.

    python benchmarks/network_hostile.py [--json]

A real node in a process of its own, a member of its moot that asks it, and another member (or a stranger) in
a third process that sends whatever it can. A ratio is measured within one run, in turns; the target is that
the 95th percentile at most doubles. The memory of the node must stay where it is, too.
"""

from __future__ import annotations

import http.client
import multiprocessing
import os
import socket
import ssl
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from folkmoot.network import Asker, Terms
from folkmoot.network.membership import identity
from folkmoot.network.membership.identity import CERTIFICATE, KEY
from folkmoot.network.service.control import MotionProgress
from folkmoot.network.service.policy import Policy
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.packing import pack
from folkmoot.runs.processes import Nodes, prepare
from timing import report

INPUTS: Final = 1000
QUERIES: Final = 250  # in a turn; a node answers a peer 20,064 times in a motion of 10,000 rounds
TURNS: Final = 4
TARGET: Final = 2.0
MOST_GROWN: Final = 30.0  # megabytes, under all attacks in turn
FLOODS: Final = ("queries", "big frames", "wants", "unknowns", "garbage", "connections", "handshakes")


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


def odd(X: Any) -> Any:
    return X[:, 0].astype(int) % 2


odd.labels = [0, 1]  # type: ignore[attr-defined]


def flood(kind: str, folder: Path, port: int, moot: bytes, motion: bytes) -> None:
    """The body of the attacker's process: as much as the node takes, until it is ended."""
    frames = {
        "queries": m.encode(m.Ask(motion, 1, None)),
        "big frames": b"\xc6" + bytes(m.MOST_BYTES - 1),
        "wants": m.encode(m.Want(motion, b"")),
        "unknowns": m.encode(m.Unknown(motion)),
        "garbage": b"\xc1" * 100,
    }
    os.nice(19)  # a real attacker has a machine of its own
    kept: list[socket.socket] = []
    context = context_of(folder)
    while True:
        time.sleep(0.001)  # for what the attacker costs the machine is not what is measured
        with suppress(OSError):
            if kind == "connections":
                kept = [*kept[-300:], socket.create_connection(("127.0.0.1", port), timeout=5.0)]
            elif kind == "handshakes":
                Line(context, port, moot).socket.close()
            else:
                line = Line(context, port, moot)
                threading.Thread(target=_drain, args=(line,), daemon=True).start()
                while True:
                    line.say(frames[kind])


def _drain(line: Line) -> None:
    with suppress(OSError):
        while line.socket.recv(1 << 16):
            pass


@contextmanager
def attacked(*arguments: Any) -> Iterator[None]:
    process = multiprocessing.get_context("forkserver").Process(target=flood, args=arguments, daemon=True)
    process.start()
    time.sleep(1.5)  # bursts are spent
    try:
        yield
    finally:
        process.kill()
        process.join(10.0)


def latencies(line: Line, motion: bytes) -> list[float]:
    """Seconds from a query to its answer, a little apart so that the budget is not what is measured."""
    found = []
    query = m.encode(m.Ask(motion, 1, None))
    for _ in range(QUERIES):
        start = time.perf_counter()
        line.say(query)
        while not isinstance(line.hear(), m.Answer):
            pass
        found.append(time.perf_counter() - start)
        time.sleep(0.003)
    return found


def put_a_long_motion(nodes: Nodes, began: Callable[[MotionProgress], None]) -> None:
    array = np.arange(INPUTS, dtype="<i4")[:, None]
    terms = Terms(seconds=600.0, rounds=10_000, pace=60.0)
    with suppress(ValueError):  # the node is stopped before it is over
        Asker(nodes.settings[0].folder).ask(array, terms, began)


def commit(folder: Path, place: int, motion: bytes) -> bytes:
    """Who has not committed gets no answers."""
    me = identity.load(folder)
    first = pack(np.zeros(INPUTS, np.int8), 2)
    commitment = statements.commitment_to(motion, bytes.fromhex(me.fingerprint), bytes(32), first)
    signature = me.key.sign(statements.committed(motion, place, commitment))
    return m.encode(m.Commit(motion, place, commitment, signature, want=False))


def events(metrics: int) -> float:
    """Frames that the node has read and connections that it has refused: did the attack get through?"""
    connection = http.client.HTTPConnection("127.0.0.1", metrics, timeout=10.0)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    counted = ("folkmoot_frames_received_total", 'folkmoot_refused_total{why="')
    return sum(float(line.split()[1]) for line in lines if line.startswith(counted))


def private_bytes(nodes: Nodes) -> int:
    """What belongs to the process of the node alone; Linux."""
    (process, *_) = nodes.processes
    lines = Path(f"/proc/{process.pid if process else 0}/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


def measure() -> dict[str, object]:
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nodes = prepare(folder, ["network_hostile:odd"] * 3, {}, log_level="error")
        moot = bytes.fromhex(nodes.roster.digest)
        port = int(nodes.roster[0].addresses[0].rpartition(":")[2])
        known = threading.Event()
        motion = b""

        def began(state: MotionProgress) -> None:
            nonlocal motion
            motion = bytes.fromhex(state.motion)
            known.set()

        with socket.create_server(("127.0.0.1", 0)) as probe:
            metrics = probe.getsockname()[1]
        longer = Policy(most_rounds=10_000)  # for the number of answers that one peer may have
        nodes.settings[0] = replace(nodes.settings[0], metrics=f"127.0.0.1:{metrics}", policy=longer)
        nodes.start(0)
        try:
            nodes.wait([0], 60.0)
            threading.Thread(target=put_a_long_motion, args=(nodes, began), daemon=True).start()
            if not known.wait(60.0):
                raise RuntimeError("the motion did not begin")
            line = Line(context_of(nodes.settings[1].folder), port, moot)
            line.say(commit(nodes.settings[1].folder, 1, motion))
            latencies(line, motion)
            before = private_bytes(nodes)
            for kind in FLOODS:
                alone: list[float] = []
                under: list[float] = []
                rates: list[float] = []
                for _ in range(TURNS):
                    alone += latencies(line, motion)
                    with attacked(kind, nodes.settings[2].folder, port, moot, motion):
                        count, start = events(metrics), time.perf_counter()
                        under += latencies(line, motion)
                        rates.append((events(metrics) - count - QUERIES) / (time.perf_counter() - start))
                    time.sleep(0.5)
                p95 = [float(np.percentile(each, 95)) for each in (alone, under)]
                ratio = p95[1] / p95[0]
                results[f"flood of {kind}"] = {
                    "p95_ms_alone": round(1e3 * p95[0], 3),
                    "p95_ms_under_attack": round(1e3 * p95[1], 3),
                    "attacks_a_second": round(sum(rates) / TURNS),
                    "ratio": round(ratio, 2),
                    "target": TARGET,
                    "reached": ratio <= TARGET,
                }
            grown = (private_bytes(nodes) - before) / 1e6
            results["memory of the node"] = {
                "grown_mb": round(grown, 1), "target": MOST_GROWN, "reached": grown <= MOST_GROWN,
            }  # fmt: skip
        finally:
            nodes.stop()
    return results


if __name__ == "__main__":
    report(measure, __doc__)
