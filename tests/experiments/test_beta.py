"""``beta``: the simulated points against exact chains, by brute force and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta as beta_law

from experiments.experiment import cells_of
from experiments.theory import beta
from experiments.theory.beta_law import beta_parameters
from folkmoot.theory import SlushChain
from support.oracles import exact as oracle

pytestmark = pytest.mark.slow

SMALL = beta.Config(
    n=9, k=3, profiles=200, draws=6, variances=(0.005, 0.02, 0.05), means=(0.4, 0.5, 0.6),
    exact_means=(0.4, 0.5), most_states=10**6, other_means=(0.5,), other_draws=2,
)  # fmt: skip


@pytest.fixture(scope="module")
def found() -> beta.BetaResult:
    done = beta.EXPERIMENT.run(SMALL, 0)
    assert isinstance(done, beta.BetaResult)
    return done


def test_every_exact_point_is_within_four_standard_errors(found: beta.BetaResult) -> None:
    assert len(found.exact) == 6
    for each in found.exact:
        assert abs(each.simulated - each.exact) <= 4 * each.error
    assert next(f for f in found.findings if f.quantity == "simulated against exact").holds


def test_an_exact_point_is_the_point_of_the_same_draws(found: beta.BetaResult) -> None:
    points = {(each.mean, each.variance): each for each in found.points}
    for each in found.exact:
        assert points[each.mean, each.variance].local.value == pytest.approx(each.simulated)


def test_without_spread_it_is_the_homogeneous_chain() -> None:
    # Nearly no variance below 0.6: all thresholds are the least, so the exact rationals of the chain decide.
    point = beta.exact_point(0.55, 1e-8, n=11, k=4, draws=3, profiles=4000, most_states=10**6, seed=0)
    assert point is not None
    assert point.exact == pytest.approx(SlushChain(11, 4, 3).accuracy(0.55), abs=1e-4)
    blue, total = oracle.absorption_sums(*oracle.rates(11, 4, 3, 0, self_sampling=True))
    law = [
        float(np.prod([11 - j for j in range(b)]) / np.prod([j + 1.0 for j in range(b)])) for b in range(12)
    ]
    by_hand = sum(c * 0.55**b * 0.45 ** (11 - b) * blue[b] / (blue[b] + total[b]) for b, c in enumerate(law))
    assert point.exact == pytest.approx(by_hand, abs=1e-4)
    assert abs(point.simulated - point.exact) <= 4 * point.error


def test_it_is_the_papers_law_in_which_a_node_may_draw_itself() -> None:
    # With 80,000 profiles the other law would be 5 standard errors away.
    point = beta.exact_point(0.55, 0.02, n=9, k=3, draws=2, profiles=40_000, most_states=10**6, seed=0)
    assert point is not None
    assert abs(point.simulated - point.exact) <= 4 * point.error


def test_chains_that_are_too_large_are_left_out() -> None:
    assert beta.exact_point(0.6, 0.05, n=101, k=10, draws=2, profiles=1, most_states=1000, seed=0) is None


def test_draws_follow_the_beta_law() -> None:
    draws = np.concatenate([beta._profiles(0.45, 0.02, 101, 1, 0, i)[0] for i in range(40)])
    assert draws.mean() == pytest.approx(0.45, abs=4 * np.sqrt(0.02 / draws.size))
    assert draws.var() == pytest.approx(0.02, rel=0.1)
    assert beta_law(*beta_parameters(0.45, 0.02)).var() == pytest.approx(0.02)


def test_only_concave_densities() -> None:
    asked = {(c.keywords["mean"], c.keywords["variance"]) for c in cells_of(beta.cells(beta.Config(), 0))}
    assert (0.38, 0.06) in asked or not beta._concave(0.38, 0.06)
    for mean, variance in asked:
        a, b = beta_parameters(mean, variance)
        assert min(a, b) >= 1


def test_the_full_run_counts_two_billion_updates() -> None:
    config = beta.Config()
    points = beta.cells(config, 0)["points"]
    assert isinstance(points, dict)
    assert len(points) * config.draws * config.profiles * 50 * config.n >= 2 * 10**9


def test_the_same_seed_the_same_numbers(found: beta.BetaResult) -> None:
    assert beta.EXPERIMENT.run(SMALL, 0) == found
    assert beta.EXPERIMENT.run(replace(SMALL, exact_means=()), 1) != found


def test_other_rules_are_shown(found: beta.BetaResult) -> None:
    (each, *_) = found.others
    assert set(each.accuracies) == {
        "local Slush", "Slush", "weighted Slush", "Snowflake", "Snowball",
        "majority", "weighted majority", "Dawid-Skene",
    }  # fmt: skip
    # Who knows the accuracies and adds log-odds cannot be beaten but by chance.
    best = each.accuracies["weighted majority"].value
    assert all(best >= rule.value - 0.05 for rule in each.accuracies.values())
    assert sum("other rules" in finding.quantity for finding in found.findings) == len(found.others)


def test_picture(found: beta.BetaResult) -> None:
    figure = beta.figures(found)["beta"]
    assert len(figure.axes) == 9
    assert any("exact" in str(line.get_label()) for line in figure.axes[0].lines)
