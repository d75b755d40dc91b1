"""What the benchmarks share: the best time of a few runs, printing for people or as JSON, results.json."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).with_name("results.json")


def best_of(runs: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Seconds of the fastest run: the one that the rest of the machine disturbed least."""
    times = []
    for _ in range(runs):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def report(measure: Callable[[], dict[str, object]], about: str | None) -> None:
    """Measure and print; with ``--record`` also write it down for docs/benchmarks.md."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--record", action="store_true", help=f"write it into benchmarks/{RESULTS.name}, too")
    parser.add_argument(
        "--missing", action="store_true", help=f"only if benchmarks/{RESULTS.name} lacks it for this commit"
    )
    arguments = parser.parse_args()
    name = Path(sys.argv[0]).stem
    if arguments.missing and is_recorded(name):
        print(f"{name}: measured at this commit already", file=sys.stderr)
        return
    machine = this_machine()
    results = measure()
    if arguments.record:
        record(name, results, machine)
    if arguments.json:
        print(json.dumps(results, indent=1))
        return
    for what, result in results.items():
        print(f"{what}: {result}")


def is_recorded(benchmark: str, where: Path = RESULTS) -> bool:
    """Whether the file has it of this very commit, with no file changed since."""
    known = json.loads(where.read_text(encoding="utf-8")) if where.exists() else {}
    now = commit()
    return now.isalnum() and known.get(benchmark, {}).get("commit") == now


def record(
    benchmark: str, results: dict[str, object], machine: dict[str, object], to: Path = RESULTS
) -> None:
    """Put one benchmark's results into the file, in place of its earlier ones; the others stay."""
    entry = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "machine": machine,
        "results": results,
    }
    known = json.loads(to.read_text(encoding="utf-8")) if to.exists() else {}
    known[benchmark] = entry
    text = json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False)
    to.with_suffix(".new").write_text(text + "\n", encoding="utf-8")
    to.with_suffix(".new").replace(to)


def this_machine() -> dict[str, object]:
    """What the figures depend on; nothing that names a machine or its owner."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 1),  # others at work when it began
        "processor": processor(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def processor() -> str:
    """The model of the processor, where the system tells it."""
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or "unknown"


def commit() -> str:
    """The commit that is measured, with a ``+`` where files have changed since."""

    def git(*arguments: str) -> str:
        told = subprocess.run(
            ["git", "-C", str(RESULTS.parent), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
        )
        return told.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "..", f":!{RESULTS.name}")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if changed else "")
