"""How fast the exact theory is: seconds, the target of each, and ratios to a plain implementation.

    python benchmarks/theory.py [--json]

Seconds are the best of a few runs; ratios are measured within one run and mean the same on a busy
machine. Each whole process (import, help, the five-group chain) is started anew.
"""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np

from folkmoot.theory import SlushChain, threshold_accuracy
from folkmoot.theory.votes_law import poisson_binomial
from timing import best_of, report

LOCAL = """
import resource, time
import numpy as np
from folkmoot.theory import LocalSlushChain
start = time.perf_counter()
chain = LocalSlushChain(np.repeat([6, 7, 8, 9, 10], [21, 20, 20, 20, 20]), 10)
chain.blue_probabilities
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, chain.residual)
"""


def process(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def exact_absorption(n: int, k: int, alpha: int) -> list[Fraction]:
    """B_b as the textbook has it, in whole numbers: what the logarithms are compared with."""
    tails = [
        sum(math.comb(b, j) * math.comb(n - b, k - j) for j in range(alpha, k + 1)) for b in range(n + 1)
    ]
    below, weights = 1, []
    above = [1] * (n + 1)
    for b in range(n - 1, 0, -1):
        above[b] = above[b + 1] * (n - b) * tails[b]
    for b in range(1, n + 1):
        weights.append(below * above[b])
        below *= b * tails[n - b]
    total = sum(weights)
    return [Fraction(sum(weights[:b]), total) for b in range(0, n + 1, n // 10)]


def measure() -> dict[str, object]:
    threshold_accuracy(101, 10, 7, delta=1)  # loads the root finder
    results: dict[str, object] = {}

    def add(name: str, seconds: float, target: float) -> None:
        results[name] = {"seconds": round(seconds, 4), "target": target, "reached": seconds <= target}

    bare = best_of(5, lambda: process("-c", "pass"))
    add(
        "import folkmoot, beyond a bare python",
        best_of(5, lambda: process("-c", "import folkmoot")) - bare,
        0.3,
    )
    add("folkmoot --help, whole process", best_of(5, lambda: process("-m", "folkmoot", "--help")), 0.5)
    add("SlushChain(100_001, 10, 7).log_blue", best_of(5, lambda: SlushChain(100_001, 10, 7).log_blue), 0.1)
    add("threshold_accuracy at n = 2001", best_of(5, lambda: threshold_accuracy(2001, 10, 7, delta=3)), 0.5)
    rng = np.random.default_rng(0)
    p = rng.uniform(size=10_000)
    add("poisson_binomial of 10,000", best_of(3, lambda: poisson_binomial(p)), 1.0)
    seconds, megabytes, residual = map(float, process("-c", LOCAL).split())
    add("LocalSlushChain, n = 101 in five groups (4,278,582 states)", seconds, 10.0)
    results["LocalSlushChain, memory of the process"] = {
        "MB": round(megabytes), "target": 500, "reached": megabytes <= 500, "residual": residual,
    }  # fmt: skip
    planned = ["-m", "folkmoot", "plan", "--n", "101", "--p", "0.7", "--malicious", "10"]
    process(*planned)  # fills numba's cache
    add("folkmoot plan --n 101, whole process", best_of(5, lambda: process(*planned)), 2.0)
    ours = best_of(5, lambda: SlushChain(1001, 10, 7).log_blue)
    theirs = best_of(1, lambda: exact_absorption(1001, 10, 7))
    results["times faster than exact integers at n = 1001"] = round(theirs / ours)
    return results


if __name__ == "__main__":
    report(measure, __doc__)
