"""How long commands take that do little, as multiples of ``python -c "import numpy"``.

    python benchmarks/startup.py [--json]

Processor time of whole processes, children of this one, in turns so that a busy machine slows all alike; the
median of the ratios of 15 rounds. Modules are counted, too: they do not depend on the machine.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from timing import report

ROUNDS = 15
# Seconds on a quiet machine: the fastest start of all rounds.
TARGETS = {"folkmoot --help": 0.2, "folkmoot deliberate, 39 x 108 votes": 0.8}
NUMPY = ["-c", "import numpy"]
WORKERS, TASKS = 39, 108
STARTS = {
    "import folkmoot": ["-c", "import folkmoot"],
    "folkmoot --version": ["-m", "folkmoot", "--version"],
    "folkmoot --help": ["-m", "folkmoot", "--help"],
    "folkmoot node --help": ["-m", "folkmoot", "node", "--help"],
    "folkmoot theory accuracy --help": ["-m", "folkmoot", "theory", "accuracy", "--help"],
    "folkmoot deliberate, 39 x 108 votes": ["-m", "folkmoot", "deliberate", "VOTES"],
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


def votes(path: Path) -> None:
    """Votes of workers who are right on seven of ten tasks."""
    right = np.random.default_rng(0).random((TASKS, WORKERS)) < 0.7
    rows = [f"q{t},w{w},{'yes' if right[t, w] else 'no'}" for t, w in np.ndindex(right.shape)]
    path.write_text("\n".join(["task,worker,label", *rows]))


def measure() -> dict[str, object]:
    with TemporaryDirectory() as folder:
        file = Path(folder, "votes.csv")
        votes(file)
        starts = {
            name: [str(file) if each == "VOTES" else each for each in arguments]
            for name, arguments in STARTS.items()
        }
        return measured(starts)


def measured(starts: dict[str, list[str]]) -> dict[str, object]:
    """The cost of each, beside that of numpy in the same round."""
    for arguments in (NUMPY, *starts.values()):  # compiled to bytecode, and in the cache of the disk
        cost(arguments)
    ratios: dict[str, list[float]] = {name: [] for name in starts}
    walls: dict[str, list[float]] = {name: [] for name in starts}
    for _ in range(ROUNDS):
        least, _ = cost(NUMPY)
        for name, arguments in starts.items():
            processor, wall = cost(arguments)
            ratios[name].append(processor / least)
            walls[name].append(wall)
    found: dict[str, object] = {}
    for name, arguments in starts.items():
        fastest, target = min(walls[name]), TARGETS.get(name)
        found[name] = {
            "times import numpy": round(median(ratios[name]), 1),
            "seconds": round(fastest, 3),
            "modules": modules(arguments),
        } | ({} if target is None else {"target": target, "reached": fastest <= target})
    return found


if __name__ == "__main__":
    report(measure, __doc__)
