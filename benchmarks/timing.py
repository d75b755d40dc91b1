"""What the benchmarks share: the best time of a few runs, and printing for people or as JSON."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable


def best_of(runs: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of the fastest run: the one that the rest of the machine disturbed least."""
    times = []
    for _ in range(runs):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def report(measure: Callable[[], dict[str, object]], about: str | None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    results = measure()
    if arguments.json:
        print(json.dumps(results, indent=1))
        return
    for name, result in results.items():
        print(f"{name}: {result}")
