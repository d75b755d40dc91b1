"""How long a command takes before it does anything, as multiples of a bare start of Python.

    python benchmarks/startup.py [--json]

Processor time of whole processes, children of this one, in turns so that a busy machine slows all alike; the
median of the ratios of 15 rounds. Modules are counted, too: they do not depend on the machine.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from statistics import median

from timing import report

ROUNDS = 15
HELP = 0.2  # seconds on a quiet machine: the fastest start of all rounds
BARE = ["-c", "pass"]
STARTS = {
    "import folkmoot": ["-c", "import folkmoot"],
    "folkmoot --version": ["-m", "folkmoot", "--version"],
    "folkmoot --help": ["-m", "folkmoot", "--help"],
    "folkmoot node --help": ["-m", "folkmoot", "node", "--help"],
    "folkmoot theory accuracy --help": ["-m", "folkmoot", "theory", "accuracy", "--help"],
}


def cost(arguments: list[str]) -> tuple[float, float]:
    """Processor and wall seconds of one process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def modules(arguments: list[str]) -> int:
    """How many modules a process has imported when it ends."""
    code = (
        "import atexit, os, runpy, sys\n"
        "atexit.register(lambda: os.write(2, str(len(sys.modules)).encode()))\n"
        "sys.argv = ['folkmoot', *sys.argv[1:]]\n"
    )
    kind, what, *rest = arguments
    code += what if kind == "-c" else f"runpy.run_module({what!r}, run_name='__main__')"
    told = subprocess.run([sys.executable, "-c", code, *rest], check=True, capture_output=True, text=True)
    return int(told.stderr)


def measure() -> dict[str, object]:
    for arguments in STARTS.values():  # compiled to bytecode, and in the cache of the disk
        cost(arguments)
    ratios: dict[str, list[float]] = {name: [] for name in STARTS}
    walls: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(ROUNDS):
        bare, _ = cost(BARE)
        for name, arguments in STARTS.items():
            processor, wall = cost(arguments)
            ratios[name].append(processor / bare)
            walls[name].append(wall)
    found: dict[str, object] = {}
    for name, arguments in STARTS.items():
        fastest = min(walls[name])
        found[name] = {
            "times a bare start": round(median(ratios[name]), 1),
            "seconds": round(fastest, 3),
            "modules": modules(arguments),
        } | ({"target": HELP, "reached": fastest <= HELP} if name == "folkmoot --help" else {})
    return found


if __name__ == "__main__":
    report(measure, __doc__)
