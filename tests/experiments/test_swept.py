"""What a GPU plays for ``beta`` and ``design``: the law of the processor's, beside the exact values.

A sweep counts the same on both (tests/simulation/test_gpu_bits.py), so it is the processor's that plays here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from experiments.__main__ import device_of
from experiments.experiment import Experiment, cells_of
from experiments.theory import beta, design
from experiments.theory.swept import played_settings
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.simulation.kernels.gpu import cuda
from folkmoot.theory import LocalSlushChain

pytestmark = pytest.mark.slow


def test_points_of_beta_are_those_of_the_processor_by_law() -> None:
    common: dict[str, Any] = {"n": 31, "k": 10, "draws": 6, "profiles": 400, "seed": 3}
    places = [[0.47, 0.02], [0.55, 0.01]]
    for swept, (mean, variance) in zip(
        beta.swept_points(places, device="cpu", **common), places, strict=True
    ):
        assert (swept.mean, swept.variance) == (mean, variance)
        other = beta.point(mean, variance, **common)
        # The draws are the same: only what is played on them differs, on both sides.
        error = np.sqrt(2 * 0.25 / (6 * 400))
        for name in ("local", "majority", "slush"):
            one, two = getattr(swept, name).value, getattr(other, name).value
            assert abs(one - two) < 4 * error, name
        exact = []
        for draw in range(6):
            p = beta._draw(mean, variance, 31, 3, draw)[0]
            exact.append(LocalSlushChain(StrongConfidence(p.tolist()).thresholds(10), 10).accuracy(p))
        assert abs(swept.local.value - np.mean(exact)) < 4 * np.sqrt(0.25 / (6 * 400))
        assert swept.gap.value == pytest.approx(swept.majority.value - swept.local.value)
        assert swept.settled == pytest.approx(other.settled, abs=0.02)


def test_played_settings_stand_beside_exact_values() -> None:
    found = [
        each
        for k in (3, 6)
        for each in played_settings(21, 0.62, k, [0, 3], talks=4000, rounds=30, seed=1, device="cpu")
    ]
    assert {(each.k, each.alpha, each.byzantine) for each in found} == {
        (k, alpha, liars)
        for k, alphas in ((3, (2, 3)), (6, (4, 5, 6)))
        for alpha in alphas
        for liars in (0, 3)
    }
    assert all((each.exact is None) == (each.byzantine >= each.alpha) for each in found)
    off = [each.z for each in found if each.z is not None]
    assert len(off) == 8
    assert max(map(abs, off)) < 4
    assert all(0 <= each.open <= 1 for each in found)


def test_cells_of_a_gpu_are_kept_apart_and_make_a_chart_more() -> None:
    every: list[tuple[Experiment[Any], str]] = [(beta.EXPERIMENT, "swept"), (design.EXPERIMENT, "played")]
    for experiment, added in every:
        cpu, gpu = (experiment.cells(replace(experiment.quick, device=each), 0) for each in ("cpu", "cuda"))
        assert added in gpu
        assert added not in cpu
        functions = {cell.func for cell in cells_of({added: gpu[added]})}
        assert not functions & {cell.func for cell in cells_of(cpu)}
    config = replace(
        design.EXPERIMENT.quick, n=15, ks=(3, 10), rounds=(5, 50), byzantine=1, device="cuda", talks=300
    )
    plan = design.cells(replace(config, device="cpu"), 0)
    played = {
        k: played_settings(15, 0.6, k, [0, 1], talks=300, rounds=20, seed=0, device="cpu") for k in (3, 10)
    }
    found: Any = {name: {k: cell() for k, cell in work.items()} for name, work in plan.items()}  # type: ignore[union-attr]
    result = design.result(config, found | {"played": played})
    assert result.findings[0].quantity.startswith("played on a GPU")
    assert result.findings[0].holds
    assert set(design.figures(result)) == {"design", "played"}
    assert set(design.figures(design.result(replace(config, device="cpu"), found))) == {"design"}


def test_only_some_experiments_take_adevice_of(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="--device cuda is for beta and design: liveness is not"):
        device_of("cuda", ["liveness"])
    monkeypatch.setattr(cuda, "why_not", lambda: "none")
    assert device_of("auto", ["liveness"]) == "cpu"
    monkeypatch.setattr(cuda, "why_not", lambda: None)
    assert device_of("auto", []) == "cuda"
