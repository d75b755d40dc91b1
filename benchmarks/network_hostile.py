"""What attacks cost the honest: how long a node takes to answer a query, left alone and under attack.

    python benchmarks/network_hostile.py [--json]

A real node in a process of its own, a member of its moot that asks it, and another member (or a stranger, or
a user of its machine) in a third process that does whatever it can (``attackers.py``). A ratio is measured
within one run, in turns, of which the quietest counts; the target is that the 95th percentile at most
doubles. The memory of the node grows by 64 MB at most, and its database stays within ``--disk``. At last a
moot of six, of which one is slow: how long motions take, beside the same with that one switched off.
"""

from __future__ import annotations

import http.client
import socket
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from attackers import ATTACKS, Line, Target, attacked, context_of, slow_member
from folkmoot.network import Account, Asker, Terms
from folkmoot.network.service.control import MotionProgress
from folkmoot.network.service.policy import Policy
from folkmoot.network.storage.storage import DATABASE
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.packing import pack
from folkmoot.node.membership import identity
from folkmoot.runs.processes import Nodes, prepare
from timing import report

INPUTS: Final = 1000
QUERIES: Final = 130  # in a turn: 18,850 in all, and a peer has 20,064 answers in a motion of 10,000 rounds
TURNS: Final = 6
TARGET: Final = 2.0
MOST_GROWN: Final = 64.0  # megabytes, under all attacks in turn
LARGE: Final = 100_000  # inputs of the motion with big answers
DISK: Final = 64 << 20  # bytes that the database may have
SECONDS: Final = 30.0  # of the motions in which one member is slow
MOTIONS: Final = 4  # of these in a turn


def odd(X: Any) -> Any:
    return X[:, 0].astype(int) % 2


odd.labels = [0, 1]  # type: ignore[attr-defined]


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


def put_a_long_motion(nodes: Nodes, inputs: int) -> bytes:
    """The name of a motion that is under way at the first node until it is stopped."""
    known = threading.Event()
    names: list[bytes] = []
    why: list[str] = []

    def began(state: MotionProgress) -> None:
        names.append(bytes.fromhex(state.motion))
        known.set()

    def put() -> None:
        array = np.arange(inputs, dtype="<i4")[:, None]
        terms = Terms(seconds=1200.0, rounds=10_000, pace=60.0)
        try:
            Asker(nodes.settings[0].folder).ask(array, terms, began)
        except ValueError as error:  # also when the node is stopped before it is over
            why.append(str(error))
            known.set()

    threading.Thread(target=put, daemon=True).start()
    if not known.wait(60.0) or not names:
        raise RuntimeError(f"the motion did not begin: {why}")
    return names[0]


def commit(folder: Path, place: int, motion: bytes, inputs: int) -> bytes:
    """Who has not committed gets no answers."""
    me = identity.load(folder)
    first = pack(np.zeros(inputs, np.int8), 2)
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


def under_attacks() -> dict[str, object]:
    """A node that is attacked in every way, one after the other."""
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nodes = prepare(folder, ["network_hostile:odd"] * 3, {}, log_level="error")
        moot = bytes.fromhex(nodes.roster.digest)
        port = int(nodes.roster[0].addresses[0].rpartition(":")[2])
        with socket.create_server(("127.0.0.1", 0)) as probe:
            metrics = probe.getsockname()[1]
        longer = Policy(most_rounds=10_000)  # for the number of answers that one peer may have
        settings = replace(nodes.settings[0], metrics=f"127.0.0.1:{metrics}", policy=longer, disk=DISK)
        nodes.settings[0] = settings
        nodes.start(0)
        try:
            nodes.wait([0], 60.0)
            motion, large = (put_a_long_motion(nodes, inputs) for inputs in (INPUTS, LARGE))
            line = Line(context_of(nodes.settings[1].folder), port, moot)
            line.say(commit(nodes.settings[1].folder, 1, motion, INPUTS))
            hostile = nodes.settings[2].folder
            Line(context_of(hostile), port, moot).say(commit(hostile, 2, large, LARGE))
            target = Target(hostile, 2, port, moot, motion, large, settings.folder)
            latencies(line, motion)
            before = private_bytes(nodes)
            for kind in ATTACKS:
                results[kind] = slowed(kind, target, line, metrics)
            grown = (private_bytes(nodes) - before) / 1e6
            results["memory of the node"] = {
                "grown_mb": round(grown, 1), "target": MOST_GROWN, "reached": grown <= MOST_GROWN,
            }  # fmt: skip
            used = sum(path.stat().st_size for path in settings.folder.glob(f"{DATABASE}*"))
            results["disk of the node"] = {
                "used_mb": round(used / 1e6, 1), "target": DISK / 1e6, "reached": used <= DISK,
            }  # fmt: skip
            results["door after all that"] = {"answers": bool(Asker(settings.folder).status().version)}
        finally:
            nodes.stop()
    return results


def slowed(kind: str, target: Target, line: Line, metrics: int) -> dict[str, object]:
    """How much longer an answer takes under an attack."""
    alone: list[float] = []
    under: list[float] = []
    rates: list[float] = []
    for _ in range(TURNS):
        alone.append(_p95(latencies(line, target.motion)))
        with attacked(kind, target):
            count, start = events(metrics), time.perf_counter()
            under.append(_p95(latencies(line, target.motion)))
            rates.append((events(metrics) - count - QUERIES) / (time.perf_counter() - start))
        time.sleep(0.5)
    p95 = [min(alone), min(under)]  # of the turns that the rest of the machine disturbed least
    return {
        "p95_ms_alone": round(1e3 * p95[0], 3),
        "p95_ms_under_attack": round(1e3 * p95[1], 3),
        "attacks_a_second": round(sum(rates) / TURNS),
    } | _held(p95[1] / p95[0])


def with_a_slow_member() -> dict[str, object]:
    """Motions of six members of which one answers at the last moment, or is switched off."""
    with tempfile.TemporaryDirectory() as name:
        nodes = prepare(Path(name), ["network_hostile:odd"] * 6, {}, log_level="error")
        try:
            for place in range(5):
                nodes.start(place)
            nodes.wait(range(5), 60.0)

            def motions() -> list[Account]:
                asker = Asker(nodes.settings[0].folder)
                array = np.arange(INPUTS, dtype="<i4")[:, None]
                return [asker.ask(array, Terms(seconds=SECONDS)) for _ in range(MOTIONS)]

            motions()
            off: list[Account] = []
            slow: list[Account] = []
            for _ in range(TURNS // 2):
                off += motions()
                with slow_member(nodes.settings[5], SECONDS):
                    slow += motions()
                time.sleep(2.0)
        finally:
            nodes.stop()
    p95 = [_p95([each.seconds for each in of]) for of in (off, slow)]
    return {
        "p95_s_switched_off": round(p95[0], 2),
        "p95_s_slow": round(p95[1], 2),
        "undecided": sum(each.undecided for each in slow),
    } | _held(p95[1] / p95[0])


def _p95(times: list[float]) -> float:
    return float(np.percentile(times, 95))


def _held(ratio: float) -> dict[str, object]:
    return {"ratio": round(ratio, 2), "target": TARGET, "reached": ratio <= TARGET}


def measure() -> dict[str, object]:
    return under_attacks() | {"slow answerer": with_a_slow_member()}


if __name__ == "__main__":
    report(measure, __doc__)
