"""How long a node keeps others waiting while it plays the largest motions that it takes part in.

    python benchmarks/network_largest.py [--json]

Three real nodes in processes of their own. While a motion is played, the benchmark asks the asker's node for
``/metrics``; the node says there how late its event loop was in the last minute. The target is that 99 of 100
that come at any time wait a tenth of a second at the most. A node that has nothing to do stands beside it,
since a busy machine makes everything late.
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

from folkmoot.network import Asker, Terms
from folkmoot.network.wire.motion import MOST_CELLS, MOST_INPUTS
from folkmoot.runs.processes import Nodes, prepare
from timing import report

TARGET: Final = 0.1
MOTIONS: Final = {  # labels, and what else makes it large
    "slush, 2 labels": (2, Terms(seconds=60.0, k=2, rounds=40)),
    "slush weighted, 10 labels": (10, Terms(seconds=60.0, k=2, rounds=20, weights="record")),
    "snowball, 25 labels": (25, Terms(seconds=60.0, k=2, protocol="snowball", beta=20, rounds=60)),
    "slush with trust, 2 labels": (2, Terms(seconds=60.0, k=2, rounds=20, trust=True)),
}


def remainder(X: Any) -> Any:
    """Reads of each input how many labels there are, and names one of them."""
    return X[:, 0] % X[:, 1]


def wait_of(port: int) -> dict[str, float]:
    """How late the node says that its loop is, and how long it took to say so."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60.0)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    took = time.perf_counter() - began
    lines = [line for line in text.splitlines() if line.startswith("folkmoot_loop_delay_seconds{")]
    quantiles = {line.split('"')[1]: float(line.split()[-1]) for line in lines}
    return {"median": quantiles["0.5"], "p99": quantiles["0.99"], "most": quantiles["1"], "metrics": took}


def play(nodes: Nodes, port: int, labels: int, terms: Terms) -> dict[str, float]:
    """One motion, looked at while it lasts: the longest waits seen."""
    inputs = min(MOST_INPUTS, MOST_CELLS // labels)
    array = np.stack([np.arange(inputs), np.full(inputs, labels)], axis=1).astype("<i4")
    seen: list[dict[str, float]] = []
    undecided: list[int] = []
    named = replace(terms, labels=tuple(map(str, range(labels))))
    asking = threading.Thread(
        target=lambda: undecided.append(Asker(nodes.settings[0].folder).ask(array, named).undecided)
    )
    asking.start()
    while asking.is_alive():
        seen.append(wait_of(port))
        asking.join(0.2)
    seen.append(wait_of(port))
    return {"inputs": inputs, "undecided": undecided[0]} | {
        key: round(max(each[key] for each in seen), 4) for key in seen[0]
    }


def measure() -> dict[str, object]:
    results: dict[str, object] = {}
    for name, (labels, terms) in MOTIONS.items():
        with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
            probe.close()
            nodes = prepare(Path(folder), ["network_largest:remainder"] * 3, {}, log_level="info")
            nodes.settings[0] = replace(nodes.settings[0], metrics=f"127.0.0.1:{port}")
            try:
                for place in range(3):
                    nodes.start(place)
                nodes.wait(range(3), 60.0)
                time.sleep(3.0)
                idle = wait_of(port)
                found = play(nodes, port, labels, terms)
            finally:
                nodes.stop()
        results[name] = found | {
            "p99 with nothing to do": idle["p99"],
            "target": TARGET,
            "reached": found["p99"] <= TARGET,
        }
    return results


if __name__ == "__main__":
    report(measure, __doc__)
