"""``deliberation.cu`` gives the bits of the CPU's kernels: compiled for this machine, or on a GPU.

The settings are drawn at random over everything that it plays. Without a C++ compiler the first half is
skipped, without a GPU the second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from folkmoot import Everyone, Others, Slush, Snowball, Snowflake, deliberate, explain
from folkmoot.adversaries import ConstantClass, PerfectlyMalicious, Silent
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.simulation.kernels import flip, table
from folkmoot.simulation.kernels.arguments import Results
from folkmoot.simulation.kernels.gpu import cuda, launching, layout
from folkmoot.simulation.kernels.gpu.runner import Runner
from folkmoot.simulation.setting import Device, Options, Setting, no_results
from folkmoot.simulation.sweeping import sweep
from support import gpu_host

Make = Callable[[int, int], Runner]  # of lanes, and of chunks in a launch


@pytest.fixture(scope="module", params=["host", "cuda"])
def make(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Make:
    if request.param == "host":
        if gpu_host.compiler() is None:
            pytest.skip(
                "no g++ here, so deliberation.cu is not compared with the CPU's kernels: apt-get install g++"
            )
        library = gpu_host.build(tmp_path_factory.mktemp("talk"), chunk=5)
        return lambda lanes, chunks: gpu_host.Host(library, lanes, chunks)
    if reason := cuda.why_not():
        pytest.skip(f"no GPU to compare with: {reason}")
    runner = cuda.cuda()
    return lambda _lanes, _chunks: runner


def drawn(rng: np.random.Generator, kind: str) -> tuple[Setting, Options]:
    """A setting of this kind."""
    n = int(rng.choice([2, 3, 7, 31, 32, 33, 64, 65, 101, 128, 129, 200]))
    law = Others() if rng.random() < 0.5 else Everyone()
    k = int(rng.integers(1, min(n - 1, 12) + 1))
    least = k // 2 + 1
    liars = int(rng.integers(0, max(1, n // 4))) if rng.random() < 0.6 else 0
    colours = 2 if kind in ("slush", "local", "big") else int(rng.integers(2, 12))
    alpha: Any = int(rng.integers(least, k + 1))
    if kind == "local":
        alpha = rng.integers(least, k + 1, n).tolist()
    beta = int(rng.integers(1, 6))
    protocol: Any = Slush(k, alpha)
    if kind == "flake":
        protocol = Snowflake(k, alpha, beta)
    elif kind == "ball":
        protocol = Snowball(k, alpha, beta)
    inputs = int(rng.integers(1, 12))
    votes = rng.integers(0, colours, (n, inputs))
    if kind in ("gaps", "ball", "flake") and rng.random() < 0.6:
        votes[rng.random(votes.shape) < 0.2] = -1
    behave = [ConstantClass(0), PerfectlyMalicious(), Silent(), ConstantClass(1)]
    who = rng.permutation(n)[:liars].tolist()
    setting = Setting.checked(
        votes,
        protocol,
        {int(i): behave[int(rng.integers(len(behave)))] for i in who},
        rng.integers(0, colours, inputs),
        law,
        "lockstep" if kind in ("gaps", "ball", "flake", "many") and rng.random() < 0.4 else "one",
        int(rng.choice([0, 1, 3, 30])),
        colours,
    )
    options = Options.checked(
        inputs,
        seed=int(rng.integers(2**62)),
        keys=rng.integers(0, 2**62, inputs),
        repeats=int(rng.integers(1, 5)),
        batch="independent",
        record=False,
        permute=True,
        threads=1,
    )
    return setting, options


def on_cpu(setting: Setting, options: Options) -> Results:
    results = no_results(setting, options)
    kernel: Any = flip if flip.plays(setting, options) else table
    assert kernel.plays(setting, options)
    for piece in kernel.pieces(setting, options, results):
        piece.play(np.zeros(1, dtype=np.uint8))
    return results


def elsewhere(runner: Runner, setting: Setting, options: Options) -> Results:
    results = no_results(setting, options)
    launching.play(runner, setting, options, results, np.zeros(1, dtype=np.uint8))
    results.asked[:] *= setting.protocol.k
    return results


def assert_same(one: Results, other: Results) -> None:
    for name in ("decisions", "played", "asked", "converged"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@pytest.mark.parametrize("kind", ["slush", "local", "many", "gaps", "flake", "ball"])
def test_the_same_bits(make: Make, kind: str) -> None:
    rng = np.random.default_rng([7, *kind.encode()])
    for _ in range(40):
        setting, options = drawn(rng, kind)
        assert layout.layout_of(setting).form.walk == "flip" or kind not in ("slush", "local")
        runner = make(int(rng.integers(1, 9)), int(rng.integers(1, 60)))
        assert_same(elsewhere(runner, setting, options), on_cpu(setting, options))


@pytest.mark.parametrize(("n", "jobs"), [(2, 1), (2, 300), (3, 5), (127, 40), (1001, 3)])
def test_small_and_odd_sizes(make: Make, n: int, jobs: int) -> None:
    rng = np.random.default_rng(n)
    votes = rng.integers(0, 2, (n, jobs))
    k = min(9, n - 1)
    for protocol in (Slush(k, k // 2 + 1), Snowball(k, k // 2 + 1, 3)):
        setting = Setting.checked(votes, protocol, None, None, None, "one", 25, None)
        options = _options(jobs)
        assert_same(elsewhere(make(4, 50), setting, options), on_cpu(setting, options))


def test_a_batch_that_does_not_fit_is_split(make: Make) -> None:
    votes = np.random.default_rng(0).integers(0, 3, (20, 50))
    setting = Setting.checked(votes, Slush(5, 3), None, None, None, "one", 20, None)
    options = _options(50)
    runner = make(4, 50)
    form = layout.layout_of(setting).form
    free = type("Small", (), {"free": lambda self: 2 * (form.lane_bytes + 7 * 100)})()  # noqa: ARG005
    parts = list(launching.batches(free, 50, 100, form))
    assert len(parts) > 1
    assert [first for first, _ in parts] == [0, *(last for _, last in parts[:-1])]
    assert parts[-1][1] == 50
    if isinstance(runner, gpu_host.Host):
        runner.room = 2 * (form.lane_bytes + 1000)
    assert_same(elsewhere(runner, setting, options), on_cpu(setting, options))
    tiny = type("Tiny", (), {"free": lambda self: 10})()  # noqa: ARG005
    with pytest.raises(MemoryError, match="bytes on the GPU"):
        list(launching.batches(tiny, 50, 100, form))


def test_sweeps_count_alike(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    monkeypatch.setattr(cuda, "cuda", lambda: make(5, 40))
    devices: tuple[Device, ...] = ("cpu", "cuda")
    for n, liars in ((2, 0), (33, 5), (64, 0), (101, 7)):
        p = rng.uniform(0.3, 0.9, (3, n - liars))
        k = min(9, n - 1)
        rules = [Slush(k, k // 2 + 1), Slush(k, StrongConfidence(p[1].tolist())), Slush(k, k)]
        for settings in (slice(None), slice(0, 1), slice(1, 2)):
            here, there = (
                sweep(
                    p[settings], rules[settings], byzantine=liars, repeats=41, seed=n, rounds=9, device=where
                )
                for where in devices
            )
            for name in (
                "right",
                "wrong",
                "tied",
                "converged",
                "rounds",
                "queries",
                "voted_right",
                "voted_tied",
            ):
                np.testing.assert_array_equal(getattr(here, name), getattr(there, name), err_msg=name)


def test_deliberate_on_it(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "cuda", lambda: make(5, 40))
    rng = np.random.default_rng(2)
    votes = rng.integers(-1, 3, (12, 30))
    for more in ({}, {"missing": "absent"}, {"schedule": "lockstep"}, {"repeats": 3}):
        options: dict[str, Any] = {"rounds": 10, "seed": 4} | more
        one = deliberate(votes, Slush(5, 3), **options)
        two = deliberate(votes, Slush(5, 3), device="cuda", **options)
        for name in ("decisions", "converged", "rounds", "queries"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    why = explain(deliberate(votes, Slush(5, 3), device="cuda"), 0)  # plays it again, on the processor
    assert str(why)


def _options(inputs: int) -> Options:
    return Options.checked(
        inputs, seed=3, keys=None, repeats=2, batch="independent", record=False, permute=True, threads=1
    )
