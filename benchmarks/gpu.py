"""How fast deliberation is on a GPU, beside the processor of the same machine in the same run.

    python benchmarks/gpu.py [--json]

Seconds on the GPU are by its own clock (CUDA events) around the walk, where it says so; "whole" is what a
caller waits for, by the clock of the machine. Everything is played once before it is timed. The processor
plays the same jobs, or fewer of them and the rate is compared, on two threads. Without a GPU it says why and
measures nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from folkmoot import Everyone, Slush, Snowball, Snowflake, deliberate
from folkmoot.machine import cores
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.simulation.kernels.gpu import cuda, launching
from folkmoot.simulation.setting import Options, Setting, no_results
from folkmoot.simulation.sweeping import sweep
from timing import report

N, K, ALPHA, ROUNDS, P = 101, 10, 6, 50, 0.55
THREADS = 2


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


class Clock:
    """Seconds that walks took on the GPU, by its own clock."""

    def __init__(self) -> None:
        self.seconds = 0.0
        runner = cuda.cuda()
        launch = runner.launch

        def timed(*arguments: Any) -> Any:
            walk = launch(*arguments)
            clock = self

            class Timed:
                lanes = walk.lanes

                def __call__(self, given: Any) -> float:
                    took: float = walk(given)
                    clock.seconds += took
                    return took

            return Timed()

        runner.launch = timed  # type: ignore[method-assign, assignment]
        self.undo: Callable[[], None] = lambda: setattr(runner, "launch", launch)


def on_gpu(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of the walks, seconds in all, and what came of it; after a first time that compiles."""
    clock = Clock()
    try:
        work()
        clock.seconds = 0.0
        whole, found = seconds_of(work)
    finally:
        clock.undo()
    return clock.seconds, whole, found


def goal(unit: str, value: float, least: float) -> dict[str, object]:
    """What was measured, and the least it should be."""
    return {unit: round(value), "target": round(least), "reached": value >= least}


def headline() -> dict[str, object]:
    """101 participants, k = 10, alpha = 6, 2^26 talks, votes made on the device, counts kept."""
    talks = 1 << 26
    walk, whole, found = on_gpu(lambda: sweep(P, Slush(K, ALPHA), n=N, repeats=talks, device="cuda", seed=1))
    turns = int(found.queries[0]) / K
    few = 1 << 17
    took, cpu = seconds_of(lambda: sweep(P, Slush(K, ALPHA), n=N, repeats=few, threads=THREADS, seed=1))
    again = sweep(P, Slush(K, ALPHA), n=N, repeats=few, device="cuda", seed=1)
    same = all(
        np.array_equal(getattr(cpu, name), getattr(again, name)) for name in ("right", "rounds", "queries")
    )
    return {
        "2^26 talks, counts": goal("updates a second", turns / walk, 320e9) | {"wanted": 400_000_000_000},
        "2^26 talks, counts: talks": goal("talks a second", talks / walk, 630e6),
        "2^26 talks, counts: updates a second, whole": round(turns / whole),
        "2^26 talks, counts: accuracy": round(float(found.accuracy[0]), 6),
        "2^26 talks, counts: times the processor on two threads": round(
            turns / walk / (int(cpu.queries[0]) / K / took), 1
        ),
        "2^17 talks, counts: the same as on the processor": same,
    }


def kinds() -> dict[str, object]:
    """Each kind of talk: the rate beside two threads of the processor, and whether the bits are the same."""
    rng = np.random.default_rng(0)
    two = (rng.random((N, 8192)) < P).astype(np.int64)
    alphas = rng.integers(6, 11, N).tolist()
    cases: list[tuple[str, Any, Any, int, int, dict[str, Any]]] = [
        ("two colours", Slush(K, ALPHA), two, 512, 4, {}),
        ("10 colours", Slush(K, ALPHA), rng.integers(0, 10, (N, 8192)), 32, 1, {}),
        ("local thresholds", Slush(K, alphas), two, 64, 1, {}),
        ("n = 1,001", Slush(K, ALPHA), (rng.random((1001, 8192)) < P).astype(np.int64), 32, 1, {}),
        ("n = 1,001, 10 colours", Slush(K, ALPHA), rng.integers(0, 10, (1001, 2048)), 16, 1, {}),
        ("lockstep", Slush(K, ALPHA), two, 64, 1, {"schedule": "lockstep"}),
        ("Snowflake", Snowflake(K, ALPHA, 20), two, 32, 1, {}),
        ("Snowball", Snowball(K, ALPHA, 20), two, 32, 1, {}),
    ]
    results: dict[str, object] = {}
    for name, protocol, votes, repeats, few, more in cases:
        results |= kind(name, protocol, votes, repeats, few, more)
    return results


def kind(
    name: str, protocol: Any, votes: Any, repeats: int, few: int, more: dict[str, Any]
) -> dict[str, object]:
    """One of them: ``repeats`` on the GPU, ``few`` on the processor."""
    setting = Setting.checked(votes, protocol, None, None, None, more.get("schedule", "one"), ROUNDS, None)
    inputs = votes.shape[1]
    options = Options.checked(
        inputs, seed=2, keys=None, repeats=repeats, batch="independent", record=False, permute=True,
        threads=THREADS,
    )  # fmt: skip

    def walks() -> Any:
        found = no_results(setting, options)
        launching.play(cuda.cuda(), setting, options, found, np.zeros(1, dtype=np.uint8))
        return found

    walk, whole, found = on_gpu(walks)
    deliberate(votes[:, :8], protocol, rounds=ROUNDS, **more)
    took, outcome = seconds_of(
        lambda: deliberate(votes, protocol, rounds=ROUNDS, repeats=few, seed=2, threads=THREADS, **more)
    )
    asked, queries = int(found.asked.sum()), int(np.sum(outcome.queries))
    same = np.array_equal(
        found.decisions[: few * inputs].reshape(few, inputs, -1).transpose(0, 2, 1),
        np.asarray(outcome.decisions).reshape(few, len(votes), -1),
    )
    same = same and int(found.asked[: few * inputs].sum()) * protocol.k == queries
    return {
        f"{name}: updates a second": round(asked / walk),
        f"{name}: updates a second, decisions brought back": round(asked / whole),
        f"{name}, beside the processor on two threads": goal(
            "times as fast", asked / walk / (queries / protocol.k / took), 100
        ),
        f"{name}: the same bits": bool(same),
    }


def beta() -> dict[str, object]:
    """The paper's figure: 105 points of 50 draws of accuracies, 100 profiles each, local thresholds."""
    rng = np.random.default_rng(0)
    settings = 105 * 50
    p = rng.beta(4, 3, (settings, N))
    rules = [Slush(K, StrongConfidence(row)) for row in p]

    def work() -> Any:
        return sweep(p, rules, repeats=100, device="cuda", sampling=Everyone(), seed=3)

    walk, whole, found = on_gpu(work)
    return {
        "beta figure, nominal updates": settings * 100 * ROUNDS * N,
        "beta figure, updates played": int(found.queries.sum()) // K,
        "beta figure, seconds of the walk": round(walk, 4),
        "beta figure": {"seconds": round(whole, 4), "target": 0.2, "reached": whole <= 0.2},
    }


def chart() -> dict[str, object]:
    """400 settings (k, alpha, f) with a million talks each."""
    points = [(k, alpha, f) for f in (0, 3, 6, 9) for k in range(2, 21) for alpha in range(k // 2 + 1, k + 1)]
    points = points[:400]

    def work() -> Any:
        return [
            sweep(0.6, Slush(k, alpha), n=N, byzantine=f, repeats=10**6, device="cuda", seed=4)
            for k, alpha, f in points
        ]

    walk, whole, _ = on_gpu(work)
    return {
        "chart, settings": len(points),
        "chart, seconds of the walks": round(walk, 3),
        "chart": {"seconds": round(whole, 3), "target": 10, "reached": whole <= 10},
    }


def million() -> dict[str, object]:
    """One input of a million nodes: it works, and is not what a GPU is for."""
    votes = (np.random.default_rng(0).random((1_000_000, 1)) < 0.5).astype(np.int64)
    deliberate(votes[:1000], Slush(K, ALPHA), rounds=200)
    took, cpu = seconds_of(lambda: deliberate(votes, Slush(K, ALPHA), rounds=200))
    whole, gpu = seconds_of(lambda: deliberate(votes, Slush(K, ALPHA), rounds=200, device="cuda"))
    return {
        "a million nodes, one input: seconds on the processor": round(took, 3),
        "a million nodes, one input: seconds on the GPU": round(whole, 3),
        "a million nodes, one input: the same bits": bool(np.array_equal(cpu.decisions, gpu.decisions)),
    }


def measure() -> dict[str, object]:
    results: dict[str, object] = {
        "GPU": cuda.cuda().name,
        "cores that two threads of the processor have": min(THREADS, cores()),
    }
    for part in (headline, kinds, beta, chart, million):
        results |= part()
    return results


if __name__ == "__main__":
    if reason := cuda.why_not():  # what was measured elsewhere stays
        print(json.dumps({"no GPU": reason}))
    else:
        report(measure, __doc__)
