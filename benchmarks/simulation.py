"""How fast deliberation is: ratios to plain Python and to C, measured in one run.

    python benchmarks/simulation.py [--json]

The job is the paper's: 101 participants, k = 10, alpha = 6, 4,741 inputs, 50 rounds a participant. "Same
stopping" means that both stop an input once everybody agrees; "full horizon" that neither stops. A ratio is
the time of the yardstick over ours, for the same number of node updates. Take it on a quiet machine: two
threads need two free cores.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from folkmoot import Slush, deliberate
from folkmoot.outlook import FBA, QuorumSet
from folkmoot.protocols.sampling import Others
from folkmoot.simulation.kernels import bitsliced, flip
from folkmoot.simulation.kernels.arguments import Jobs, Results
from folkmoot.simulation.setting import Setting
from timing import best_of, report

N, K, ALPHA, INPUTS, ROUNDS = 101, 10, 6, 4741, 50
JOBS = Jobs(0, INPUTS, np.zeros(1, np.uint8), 0, np.arange(INPUTS))

MILLION = """
import resource, time
import numpy as np
from folkmoot import Slush, deliberate
votes = (np.random.default_rng(0).random((1_000_000, 1)) < 0.5).astype(np.int64)
deliberate(votes[:1000], Slush(10, 6))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.perf_counter()
outcome = deliberate(votes, Slush(10, 6), rounds=200)
print(time.perf_counter() - start, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
assert outcome.converged.all()
"""


def plain_python(votes: Any, seed: int, stop: bool) -> int:
    """One input, as one would write it: draw k others, count, perhaps change. Returns the updates."""
    rng = random.Random(seed)  # noqa: S311
    colours = votes.tolist()
    n = len(colours)
    others = [[j for j in range(n) if j != i] for i in range(n)]
    blue = sum(colours)
    updates = 0
    for _ in range(ROUNDS * n):
        if stop and blue in (0, n):
            break
        i = rng.randrange(n)
        count = 0
        for j in rng.sample(others[i], K):
            count += colours[j]
        updates += 1
        new = 1 if count >= ALPHA else 0 if K - count >= ALPHA else colours[i]
        blue += new - colours[i]
        colours[i] = new
    return updates


def c_reference(votes: Any, setting: Setting) -> float | None:
    """Seconds of the scalar C program, or None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source = Path(__file__).with_name("slush_reference.c")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "reference"
        subprocess.run([compiler, "-O3", "-march=native", "-o", str(program), str(source)], check=True)
        setting.chances.chance[:N].tofile(folder / "chances")
        np.ascontiguousarray(votes.T, dtype=np.int8).tofile(folder / "votes")
        arguments = [
            str(program),
            str(folder / "chances"),
            str(folder / "votes"),
            str(N),
            str(INPUTS),
            str(ROUNDS),
        ]
        out = subprocess.run([*arguments, "30"], check=True, capture_output=True, text=True)
    return float(out.stdout.split()[0])


def table_kernel(setting: Setting) -> int:
    """The kernel by itself, as C has it; returns its queries."""
    results = _results()
    flip.play(JOBS, setting.deliberation, setting.chances, *flip.moves(setting), results)
    return int(results.asked.sum())


def bitsliced_kernel(setting: Setting, stop: bool) -> None:
    bitsliced.play(
        JOBS, setting.deliberation, setting.peer_lists, setting.fixed_answers, True, stop, _results()
    )


def _results() -> Results:
    return Results(
        decisions=np.empty((INPUTS, N), np.int8),
        played=np.empty(INPUTS, np.int64),
        asked=np.empty(INPUTS, np.int64),
        converged=np.empty(INPUTS, bool),
        history=np.empty((0, 0, 0), np.int32),
    )


def by_quorum_sets() -> dict[str, object]:
    """FBA of 101 participants on 1,000 inputs."""
    rng = np.random.default_rng(2)
    names = [str(i) for i in range(N)]
    everyone = FBA(dict.fromkeys(names, QuorumSet(-(-2 * N // 3), names)))
    sys.path.insert(0, str(Path(__file__).parents[1]))  # experiments are not installed
    from experiments.outlook.proposing import propose

    seven = FBA(propose(rng.random((N, N)) + rng.random(N), names, most=7))
    results: dict[str, object] = {}
    for what, protocol in (("any 68 of 101", everyone), ("any 5 of 7", seven)):
        for classes in (2, 10):
            truth = rng.integers(0, classes, 1000)
            votes = np.where(rng.random((N, 1000)) < 0.7, truth, rng.integers(0, classes, (N, 1000)))
            seconds = best_of(3, partial(deliberate, votes, protocol))
            name = f"quorum sets, {what}, 1,000 inputs, {classes} classes, seconds (target 2)"
            results[name] = round(seconds, 2)
    return results


def vote_file(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    path = folder / "votes.csv"
    rows = [f"t{t},w{w},{rng.integers(2)}" for t in range(108) for w in range(39)]
    path.write_text("task,worker,label\n" + "\n".join(rows))
    return path


def measure() -> dict[str, object]:
    rng = np.random.default_rng(0)
    votes = (rng.random((N, INPUTS)) < 0.55).astype(np.int64)
    protocol = Slush(K, ALPHA)
    setting = Setting.checked(votes, protocol, None, None, Others(), "one", ROUNDS, None)

    def play(**options: Any) -> Any:
        return deliberate(votes, protocol, **options)

    results: dict[str, object] = {"job": f"n={N}, k={K}, alpha={ALPHA}, {INPUTS} inputs, {ROUNDS} rounds"}
    sample = 40
    start = time.perf_counter()
    updates = sum(plain_python(votes[:, i], i, stop=True) for i in range(sample))
    python_stop = (time.perf_counter() - start) / sample * INPUTS
    results["plain Python, updates a second"] = round(updates / (python_stop / INPUTS * sample))
    start = time.perf_counter()
    for i in range(4):
        plain_python(votes[:, i], i, stop=False)
    python_full = (time.perf_counter() - start) / 4 * INPUTS

    asked = table_kernel(setting)
    table = best_of(30, lambda: table_kernel(setting))
    results["table kernel, updates a second on one thread"] = round(asked / table)
    results["table kernel, one thread, times plain Python with the same stopping (target 1000)"] = round(
        python_stop / table
    )
    play(threads=1)
    whole = best_of(15, lambda: play(threads=1))
    results["the whole deliberate() call, one thread, times plain Python"] = round(python_stop / whole)
    reference = c_reference(votes, setting)
    results["table kernel, one thread, times scalar C (target 0.9)"] = (
        None if reference is None else round(reference / table, 3)
    )
    bitsliced_kernel(setting, stop=False)
    full = best_of(15, lambda: bitsliced_kernel(setting, stop=False))
    results["bit-sliced with permutation, full horizon, times plain Python (target 20000)"] = round(
        python_full / full
    )
    stopped = best_of(15, lambda: bitsliced_kernel(setting, stop=True))
    results["bit-sliced with permutation, both stopping, times plain Python"] = round(python_stop / stopped)
    one = best_of(5, lambda: play(threads=1, repeats=20))
    two = best_of(5, lambda: play(threads=2, repeats=20))
    results["two threads over one (target 1.8 on a quiet machine)"] = round(one / two, 2)
    results |= by_quorum_sets()
    million = subprocess.run([sys.executable, "-c", MILLION], check=True, capture_output=True, text=True)
    seconds, megabytes = map(float, million.stdout.split())
    results["a million nodes to consensus, seconds (target 1)"] = round(seconds, 3)
    results["a million nodes, further MB (target 100)"] = round(megabytes)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "folkmoot", "deliberate", str(vote_file(Path(folder)))]
        subprocess.run(command, check=True, capture_output=True)
        again = best_of(3, lambda: subprocess.run(command, check=True, capture_output=True))
    results["folkmoot deliberate, 39 x 108, second start, seconds (target 1.5)"] = round(again, 3)
    return results


if __name__ == "__main__":
    report(measure, __doc__)
