"""A GPU that cannot be used, or does not play something: one line, the reason, and what to type."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from folkmoot import Neighbours, Slush, compare, deliberate, plan
from folkmoot.adversaries.behaviours import RandomClass
from folkmoot.simulation.kernels.gpu import cuda, kernel
from folkmoot.simulation.sweeping import sweep
from support.command import assert_refused

N = 8
VOTES = np.random.default_rng(0).integers(0, 2, (N, 6))
RING = 1 - np.eye(N)


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    cuda.cuda.cache_clear()
    yield
    cuda.cuda.cache_clear()


def _fails(error: Exception) -> Any:
    def raises(*_: object) -> None:
        raise error

    return raises


def _cupy(monkeypatch: pytest.MonkeyPatch, count: Any, version: Any = lambda: (13, 0)) -> None:
    """A CuPy whose driver counts so many GPUs, and whose NVRTC tells this version."""
    fake = ModuleType("cupy")
    fake.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        runtime=SimpleNamespace(getDeviceCount=count), nvrtc=SimpleNamespace(getVersion=version)
    )
    monkeypatch.setitem(sys.modules, "cupy", fake)


def test_no_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ModuleNotFoundError, match=r"CUDA needs CuPy.*folkmoot\[gpu\].*folkmoot\[gpu12\]"):
        deliberate(VOTES, Slush(3, 2), device="cuda")
    with pytest.raises(ModuleNotFoundError, match="CUDA needs CuPy"):
        sweep(0.6, Slush(3, 2), n=N, repeats=5, device="cuda")
    assert "\n" not in (cuda.why_not() or "\n")


@pytest.mark.parametrize(
    ("count", "version", "words"),
    [
        (
            _fails(RuntimeError("cudaErrorInsufficientDriver: too old")),
            None,
            "no driver or no GPU.*nvidia-smi",
        ),
        (lambda: 0, None, "CUDA finds no GPU.*CUDA_VISIBLE_DEVICES"),
        (lambda: 1, _fails(RuntimeError("libnvrtc.so.13: not found")), r"NVRTC.*libnvrtc.*folkmoot\[gpu\]"),
    ],
)
def test_no_driver_no_gpu_no_compiler(
    count: Any, version: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cupy(monkeypatch, count, version)
    with pytest.raises(RuntimeError, match=words):
        deliberate(VOTES, Slush(3, 2), device="cuda")
    told = cuda.why_not()
    assert told is not None
    assert "\n" not in told
    # "auto" plays on the processor then, and says nothing.
    monkeypatch.setattr(kernel, "FEWEST_JOBS", 1)
    monkeypatch.setattr(kernel, "FEWEST_NODES", 1)
    one, two = (deliberate(VOTES, Slush(3, 2), device=each) for each in ("cpu", "auto"))
    np.testing.assert_array_equal(one.decisions, two.decisions)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch": "shared"}, "batch='shared'"),
        ({"record": True}, "record=True"),
        ({"sampling": Neighbours(RING)}, "Neighbours"),
        ({"protocol": Slush(3, 2, weights=[1.0] * N)}, "weights"),
        ({"adversaries": {1: RandomClass()}}, "depend on who asks"),
    ],
)
def test_what_it_does_not_play(options: dict[str, Any], words: str) -> None:
    protocol = options.pop("protocol", Slush(3, 2))
    with pytest.raises(ValueError, match=f"a GPU does not play .*{words}.*device='auto'"):
        deliberate(VOTES, protocol, device="cuda", **options)
    deliberate(VOTES, protocol, device="auto", **options)


def test_few_jobs_stay_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "why_not", lambda: None)
    assert kernel.worth_it(1 << 20, 101)
    assert not kernel.worth_it(1000, 101)
    assert not kernel.worth_it(20, 1_000_000)  # a lane plays a talk slower than a core does


def test_no_such_device() -> None:
    for call in (
        lambda: deliberate(VOTES, Slush(3, 2), device="gpu"),  # type: ignore[arg-type]
        lambda: compare(VOTES, Slush(3, 2), device="gpu"),
        lambda: plan(n=9, p=0.7, device="gpu"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="device must be 'cpu', 'cuda' or 'auto': got 'gpu'"):
            call()


def test_at_the_prompt(tmp_path: Any) -> None:
    votes = tmp_path / "votes.csv"
    votes.write_text(
        "task,worker,label\n" + "".join(f"t{t},w{w},{(t + w) % 2}\n" for t in range(3) for w in range(5))
    )
    assert_refused(
        "--device must be 'cpu', 'cuda' or 'auto': got 'gpu'",
        "deliberate",
        votes,
        "--protocol",
        "slush",
        "--device",
        "gpu",
    )
    assert_refused("--device must be", "plan", "--n", "9", "--p", "0.7", "--device", "gpu")
