"""``design`` and ``liveness``: the chart against exact rationals, the attack against its definition."""

from __future__ import annotations

from fractions import Fraction

import pytest

from experiments.theory import design, liveness
from support.oracles import exact as oracle


def test_the_chart_by_exact_rationals() -> None:
    config = design.Config(n=9, p=0.6, ks=(2, 3, 4), rounds=(5, 50), byzantine=1)
    found = design.EXPERIMENT.run(config, 0)
    assert isinstance(found, design.DesignResult)
    assert [(each.k, each.alpha) for each in found.settings] == [(2, 2), (3, 2), (3, 3), (4, 3), (4, 4)]
    for each in found.settings:
        blue, red = oracle.absorption_sums(*oracle.rates(9, each.k, each.alpha, 0, self_sampling=False))
        law = oracle.poisson_binomial([Fraction(3, 5)] * 9)
        exact = sum(p * Fraction(b, b + r) for p, b, r in zip(law, blue, red, strict=True) if b + r)
        assert each.accuracy == pytest.approx(float(exact), abs=1e-12)
        assert each.open_after[0] >= each.open_after[1] >= 0
        assert each.queries > 0
        assert each.with_liars is None or each.with_liars < each.accuracy
    quick = design.EXPERIMENT.run(design.EXPERIMENT.quick, 0)
    assert isinstance(quick, design.DesignResult)
    assert len(design.figures(quick)["design"].axes) == 10  # with colour bars


def test_the_attack_leaves_honest_participants_split() -> None:
    config = liveness.Config(n=31, k=6, alphas=(4, 5), byzantine=(0, 10), inputs=40)
    found = liveness.EXPERIMENT.run(config, 0)
    assert isinstance(found, liveness.LivenessResult)
    by_name = {(each.protocol, each.attack): each for each in found.lines}
    stalled = by_name["Slush, alpha=4", "stalling"]
    misled = by_name["Slush, alpha=4", "malicious"]
    assert stalled.unsettled[0] == misled.unsettled[0] == 0  # nobody attacks: all agree
    assert stalled.unsettled[1] > 0.9  # a third stalls: nearly nothing is agreed on
    assert misled.unsettled[1] < 0.5  # a third lies: they agree, on what is wrong
    assert misled.accuracy[1] < stalled.accuracy[1]
    assert "10 stalling participants of 31" in found.verdict
    assert len(liveness.figures(found)["liveness"].axes) == 2
