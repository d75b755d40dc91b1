"""Consensus by a centre: against pairs counted one by one, a dense normalised graph, and planted truths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from folkmoot.arrays import Floats, Ints
from folkmoot.clustering.consensus_partitions import Bipartite, bipartite_consensus, evidence_accumulation
from folkmoot.votes import numbered
from support.planted import planted


def together(partitions: Ints) -> Floats:
    """Co-association, pair by pair."""
    objects = partitions.shape[1]
    shares = np.zeros((objects, objects))
    for a in range(objects):
        for b in range(objects):
            seen = [(row[a], row[b]) for row in partitions if row[a] >= 0 and row[b] >= 0]
            shares[a, b] = sum(x == y for x, y in seen) / len(seen) if seen else 0.0
    return shares


@pytest.mark.parametrize("unseen", [0.0, 0.3])
def test_evidence_accumulation_is_average_linkage_on_pairs(unseen: float) -> None:
    partitions, _ = planted(6, 25, 3, 0.3, seed=2, unseen=unseen)
    shares = together(partitions)
    distances = [1 - shares[a, b] for a in range(25) for b in range(a + 1, 25)]
    expected = fcluster(linkage(distances, "average"), 3, "maxclust")
    assert adjusted_rand_score(expected, evidence_accumulation(partitions, 3)) == 1


@pytest.mark.parametrize("unseen", [0.0, 0.3])
def test_spectrum_is_that_of_the_whole_graph(unseen: float) -> None:
    """The (cluster, cluster) matrix against singular values of the dense normalised (object, cluster) one."""
    partitions, _ = planted(5, 40, 3, 0.2, seed=3, unseen=unseen)
    weights = np.array([1.0, 0.5, 2.0, 0.0, 0.7])
    graph = Bipartite.of(numbered(partitions))
    values, _ = graph._vectors(graph._side(weights), 6)
    rows = []
    for weight, row in zip(weights, numbered(partitions), strict=True):
        if weight:
            rows += [weight * (row == c) for c in range(row.max() + 1)]
    dense = np.array(rows, dtype=np.float64).T
    dense = dense[dense.sum(axis=1) > 0]
    scaled = dense / np.sqrt(dense.sum(axis=1, keepdims=True)) / np.sqrt(dense.sum(axis=0, keepdims=True))
    assert values == pytest.approx(np.linalg.svd(scaled, compute_uv=False)[:6] ** 2)


@pytest.mark.parametrize("rule", [evidence_accumulation, bipartite_consensus])
@pytest.mark.parametrize("unseen", [0.0, 0.4])
def test_planted_clusters_are_found(rule: object, unseen: float) -> None:
    partitions, truth = planted(15, 300, 5, 0.3, seed=4, unseen=unseen)
    found = rule(partitions, 5)  # type: ignore[operator]
    assert adjusted_rand_score(truth, found) > (0.95 if not unseen else 0.85)
    assert max(adjusted_rand_score(truth[row >= 0], row[row >= 0]) for row in partitions) < 0.65


def test_weights_decide_whose_clusters_are_cut() -> None:
    one, other = np.arange(60) % 2, np.arange(60) // 30
    for weights, winner in (([1, 1, 0, 0], one), ([0, 0, 1, 1], other)):
        found = bipartite_consensus([one, one, other, other], 2, weights)
        assert adjusted_rand_score(found, winner) == 1


def test_objects_that_nobody_of_weight_has_seen_have_no_cluster() -> None:
    found = bipartite_consensus([[0, 0, 1, 1, -1], [0, 0, 1, 1, 1]], 2, [1, 0])
    assert found.tolist() == [0, 0, 1, 1, -1]


def test_the_gap_is_after_the_planted_number() -> None:
    partitions, _ = planted(15, 300, 4, 0.2, seed=5)
    assert Bipartite.of(numbered(partitions)).eigengap(np.ones(15)) == 4


@pytest.mark.parametrize("rule", [evidence_accumulation, bipartite_consensus])
@pytest.mark.parametrize("clusters", [1, 6, 0, -3])
def test_impossible_numbers_of_clusters(rule: object, clusters: int) -> None:
    with pytest.raises(ValueError, match=r"2 <= n_clusters <= the number of objects \(5\)"):
        rule([[0, 0, 1, 1, 1], [0, 1, 1, 1, 0]], clusters)  # type: ignore[operator]


def test_too_many_pairs() -> None:
    with pytest.raises(ValueError, match=r"5001 objects are more than 5000; take bipartite_consensus"):
        evidence_accumulation(np.zeros((2, 5001), dtype=np.int64), 2)


def test_weights_that_are_none() -> None:
    for weights in ([0, 0], [1], [1, -1], [1, np.nan]):
        with pytest.raises(ValueError, match="one number >= 0 for each participant"):
            bipartite_consensus([[0, 1, 1], [0, 0, 1]], 2, weights)
