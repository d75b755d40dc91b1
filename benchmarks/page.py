"""What followers of a node cost its moot: 50 event streams and 200 requests a second on one node of eight.

    python benchmarks/page.py [--json]

Every node is a process of its own; the followers are one more, in Python too, so on two cores they also take
time from the nodes. The moot talks as fast as it can, in turn with and without followers, and what counts is
the ratio of its requests a second. Then it talks at a slow pace, in turn again, and what counts is the
processor time of the node that is followed: that is what following costs by itself. ``--followers FILE`` is
the followers' process.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot.network import Terms
from folkmoot.network import ask as put
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
NODES, STREAMS, RATE, PAIRS = 8, 50, 200.0, 8
STRETCHES, STRETCH = 5, 5.0  # of a slow talk, and seconds of each


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(nodes: Nodes, inputs: int, *, rounds: int, k: int, pace: float, deadline: float) -> Any:
    array = np.arange(inputs, dtype=np.float64)[:, None]
    terms = Terms(k=k, rounds=rounds, pace=pace, seconds=deadline)
    return put(array, via=nodes.settings[0].folder, terms=terms)


def measure() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nodes, processes = started(folder)
        try:
            pairs, served = [], []
            pids = [process.pid for process in processes]
            for _ in range(PAIRS):  # in turn, so that the rest of the machine disturbs both alike
                alone, spent_alone = requests(nodes, pids)
                followers = followed(nodes)
                try:
                    watched, spent = requests(nodes, pids)
                finally:
                    followers.terminate()
                    out, _ = followers.communicate(timeout=20)
                pairs.append((alone, watched, spent_alone, spent))
                served.append(json.loads(out.splitlines()[-1]))
            cost = of_following(nodes, pids[0])
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(20)
            nodes.stop()
    alone, watched, spent_alone, spent = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(with_them / without for without, with_them, _, _ in pairs)
    # The followers run on the same cores here and take their share of them; elsewhere they would not.
    left = sorted(before / after for _, _, before, after in pairs)
    return {
        f"requests a second, {NODES} nodes, nobody follows": round(alone),
        f"the same, {STREAMS} streams and {RATE:.0f} requests a second on the asker": round(watched),
        "ratio, median of pairs (target: at least 0.9)": round(statistics.median(ratios), 3),
        "ratio, each pair": [round(ratio, 3) for ratio in ratios],
        "requests left by the nodes' processor time, median of pairs (target: at least 0.9)": round(
            statistics.median(left), 3
        ),
        "followers: requests answered a second": round(statistics.median(each["rate"] for each in served)),
        "followers: events received, all streams": sum(each["events"] for each in served),
        "microseconds of CPU of all nodes a request, nobody follows": round(spent_alone, 1),
        "the same, followed": round(spent, 1),
        "cores that following costs the nodes": round((spent - spent_alone) * watched / 1e6, 3),
        "cores that following costs the node in a slow talk, median": round(statistics.median(cost), 4),
        "the same, each stretch": [round(each, 4) for each in cost],
        "the same, as a share of the cores here (target: at most 0.1)": round(
            statistics.median(cost) / len(os.sched_getaffinity(0)), 4
        ),
    }


def of_following(nodes: Nodes, pid: int) -> list[float]:
    """Cores that the followed node takes more than unfollowed, in stretches of a talk at a slow pace."""
    seconds = 2 * STRETCHES * (STRETCH + 2.0)

    def talk() -> None:
        with suppress(ValueError):  # it is not over when the nodes are stopped
            ask(nodes, 1000, rounds=500, k=NODES - 1, pace=seconds / 250, deadline=2 * seconds)

    threading.Thread(target=talk, daemon=True).start()
    time.sleep(3.0)  # until they talk
    found = []
    for _ in range(STRETCHES):
        alone = cores(pid)
        followers = followed(nodes)
        try:
            time.sleep(0.5)  # until all follow
            found.append(cores(pid) - alone)
        finally:
            followers.terminate()
            followers.communicate(timeout=20)
    return found


def cores(pid: int) -> float:
    """What a process takes, of a core."""
    before, began = cpu_seconds(pid), time.monotonic()
    time.sleep(STRETCH)
    return (cpu_seconds(pid) - before) / (time.monotonic() - began)


def started(folder: Path) -> tuple[Nodes, list[subprocess.Popen[bytes]]]:
    (folder / "bench_model.py").write_text(MODEL)
    nodes = prepare(folder, ["bench_model:vote"] * NODES, {}, "warning")
    processes = []
    for place, settings in enumerate(nodes.settings):
        command = [
            sys.executable, "-m", "folkmoot", "node", "run", str(settings.folder), "--roster",
            str(settings.roster), "--model", settings.model, "--log-level", "error",
        ]  # fmt: skip
        page = ["--page", "127.0.0.1:0"] if place == 0 else []
        processes.append(subprocess.Popen([*command, *page], cwd=folder, stderr=subprocess.DEVNULL))
    end = time.monotonic() + 120
    first = nodes.settings[0].folder / "page.json"
    while not (first.exists() and all((each.folder / "door.json").exists() for each in nodes.settings)):
        if time.monotonic() > end or any(process.poll() is not None for process in processes):
            raise SystemExit("the nodes did not start")
        time.sleep(0.1)
    time.sleep(3.0)  # until all are connected
    return nodes, processes


def requests(nodes: Nodes, pids: list[int]) -> tuple[float, float]:
    """Requests a second of all nodes in one motion, and microseconds of their CPU a request."""
    before = sum(cpu_seconds(pid) for pid in pids)
    account = ask(nodes, 1000, rounds=500, k=7, pace=0.0, deadline=60.0)
    spent = sum(cpu_seconds(pid) for pid in pids) - before
    count = NODES * account.queries
    return count / account.seconds, 1e6 * spent / count


def followed(nodes: Nodes) -> subprocess.Popen[bytes]:
    """A process that follows the first node, from when all its streams are open."""
    page = nodes.settings[0].folder / "page.json"
    process = subprocess.Popen([sys.executable, __file__, "--followers", str(page)], stdout=subprocess.PIPE)
    assert process.stdout is not None  # noqa: S101
    process.stdout.readline()
    return process


async def follow(page: Path) -> None:
    """50 streams and 200 requests a second, until it is told to stop; then what came of it."""
    told = json.loads(page.read_text())
    host, port = told["url"].removeprefix("http://").split(":")
    head = f"Host: {host}:{port}\r\nAuthorization: Bearer {told['token']}\r\n\r\n"
    events = answered = 0
    ready = asyncio.Semaphore(0)

    async def stream() -> None:
        nonlocal events
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET /v1/events HTTP/1.1\r\n{head}".encode())
        ready.release()
        while line := await reader.readline():
            events += line.startswith(b"event: ")

    async def poll(every: float) -> None:
        nonlocal answered
        reader, writer = await asyncio.open_connection(host, int(port))
        due = asyncio.get_running_loop().time()
        while True:
            path = ("/v1/moot", "/v1/motions/last", "/v1/motions?last=5")[answered % 3]
            writer.write(f"GET {path} HTTP/1.1\r\n{head}".encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200"), answer  # noqa: S101
            length = int(answer.lower().partition(b"content-length:")[2].split()[0])
            await reader.readexactly(length)
            answered += 1
            due = max(due + every, asyncio.get_running_loop().time() - every)  # late ones are not made up for
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    tasks = [asyncio.ensure_future(stream()) for _ in range(STREAMS)]
    for _ in range(STREAMS):
        await ready.acquire()
    tasks += [asyncio.ensure_future(poll(20 / RATE)) for _ in range(20)]
    began = time.monotonic()
    print("ready", flush=True)
    await stop.wait()
    rate = answered / (time.monotonic() - began)
    failed = [task for task in tasks if task.done()]
    for task in tasks:
        task.cancel()
    with suppress(asyncio.CancelledError):
        for task in failed:
            task.result()
    print(json.dumps({"rate": rate, "events": events}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--followers"]:
        asyncio.run(follow(Path(sys.argv[2])))
    else:
        report(measure, __doc__)
