"""The study ``clusters``: its numbers are scikit-learn's, and its findings go both ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from experiments.clusters.agreed_clusters import (
    EXPERIMENT,
    NOBODY,
    ClusterPoint,
    ClustersResult,
    Config,
    clusters_agreed,
    result,
)
from experiments.clusters.objects import CANCER, DIGITS, FEMNIST, load, partitions
from experiments.experiment import cells_of
from folkmoot import cluster
from folkmoot.clustering.adversaries import ColludingPartition, partitions_handed_in

pytestmark = pytest.mark.slow

SMALL = Config(n=7, rows=40, seeds=1, liars=(4,), attacks=("clique",), names=(CANCER,), objects=120)


@pytest.fixture(scope="module")
def found() -> ClustersResult:
    ran = EXPERIMENT.run(SMALL, 0)
    assert isinstance(ran, ClustersResult)
    return ran


def test_points_are_of_the_seeds_after_those_for_choosing(found: ClustersResult) -> None:
    assert {point.seed for point in found.points} == {3}
    assert [(point.attack, point.liars) for point in found.points] == [(NOBODY, 0), ("clique", 4)]
    assert found.numbers[0].true == 2
    assert "seeds (3 to 3)" in found.notes[0]
    assert "FEMNIST was left out" in found.notes[-1]


def test_a_point_by_hand(found: ClustersResult) -> None:
    things = load(CANCER, None, 3, 120)
    said = partitions(things, 7, 40, 3)
    alone = [adjusted_rand_score(things.truth, row) for row in said]
    point = found.points[0]
    assert point.alone == pytest.approx(np.mean(alone))
    assert point.alone_worst == pytest.approx(min(alone))
    assert point.objects == 120
    assert point.worst <= point.mean
    assert found.points[1].evidence < 0.2 < found.points[1].mean


def test_who_lies_is_known_or_not_as_in_two_runs_of_cluster(found: ClustersResult) -> None:
    """The study listens once for both."""
    things = load(CANCER, None, 3, 120)
    said = partitions(things, 7, 40, 3)
    order = np.random.default_rng([3, 4]).permutation(7).tolist()
    liars = dict.fromkeys(order[:4], ColludingPartition())
    known = cluster(said, 2, adversaries=liars, seed=3)
    unknown = cluster(partitions_handed_in(said, liars, clusters=2, seed=3), 2)
    point = found.points[1]
    honest = [adjusted_rand_score(things.truth, known.held[i]) for i in order[4:]]
    assert (point.mean, point.worst) == pytest.approx((np.mean(honest), min(honest)))
    assert point.unknown == pytest.approx(adjusted_rand_score(things.truth, unknown.labels))
    assert (point.rounds, point.unanimous) == (known.rounds, known.unanimous)


def test_goals_can_fail(found: ClustersResult) -> None:
    def judged(mean: float, rounds: int) -> dict[str, bool | None]:
        points = {
            (point.name, point.seed, point.attack, point.liars): replace(point, mean=mean, rounds=rounds)
            for point in found.points
        }
        numbers = {(each.name, each.seed): each for each in found.numbers}
        made = result(SMALL, {"points": points, "numbers": numbers})
        return {finding.quantity: finding.holds for finding in made.findings if finding.holds is not None}

    good, bad = judged(0.99, 1), judged(0.1, 5)
    assert len(good) == 4
    assert all(good.values())
    assert not any(bad.values())


def test_femnist_is_there_with_its_data_only() -> None:
    for data, names in ((None, {CANCER}), ("somewhere", {CANCER, FEMNIST})):
        config = replace(SMALL, data=data, names=(CANCER, FEMNIST))
        planned = cells_of(EXPERIMENT.cells(config, 0))
        assert {cell.keywords["name"] for cell in planned} == names


def test_every_data_set_has_its_clusters() -> None:
    for name in EXPERIMENT.full.names:
        if name != FEMNIST:
            things = load(name, None, 3, 150)
            assert len(things.truth) == len(things.X) == 150
            assert len(set(things.truth.tolist())) == things.clusters


def test_pictures(found: ClustersResult) -> None:
    assert list(EXPERIMENT.figures(found)) == ["clusters"]


def test_goals_on_digits() -> None:
    """18 of 31 in a clique, one seed that nothing was chosen on."""
    point = clusters_agreed(DIGITS, None, 13, 31, 100, 5000, "clique", 18)
    assert isinstance(point, ClusterPoint)
    assert point.mean > 0.55
    assert point.evidence < 0.05
