"""``folkmoot.cluster``: planted truths, liars with stated bounds, and that names mean nothing."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from folkmoot import cluster
from folkmoot.arrays import Ints
from folkmoot.clustering.adversaries import PARTITION_ATTACKS, ColludingPartition, partitions_handed_in
from folkmoot.clustering.clustering import Clustering, ClusteringWarning
from folkmoot.clustering.consensus_partitions import bipartite_consensus, evidence_accumulation
from support.planted import planted

N, LIARS = 15, 8
SETTING = (N, 400, 5, 0.35, 7)
BYZANTINE = tuple(range(N - LIARS, N))


@pytest.fixture(scope="module")
def setting() -> tuple[Ints, Ints]:
    return planted(*SETTING)


@cache
def settled(name: str | None) -> Clustering:
    """What comes of the setting with these liars; several tests look at it."""
    liars = {} if name is None else dict.fromkeys(BYZANTINE, PARTITION_ATTACKS[name])
    return cluster(planted(*SETTING)[0], 5, adversaries=liars, seed=3)


def test_nobody_lies(setting: tuple[Ints, Ints]) -> None:
    partitions, truth = setting
    result = settled(None)
    assert result.unanimous
    assert result.rounds <= 3
    assert result.judges.all()
    score = adjusted_rand_score(truth, result.labels)
    for rule in (evidence_accumulation, bipartite_consensus):
        assert score >= adjusted_rand_score(truth, rule(partitions, 5)) - 0.02
    assert score > 0.9
    assert (result.agreement == 1).all()
    assert (result.held == result.labels).all()


@pytest.mark.parametrize("name", PARTITION_ATTACKS)
def test_more_than_half_lie(setting: tuple[Ints, Ints], name: str) -> None:
    """8 of 15 lie; the worst of the other 7 stays above .80, each alone has .35 (a centre: see below)."""
    partitions, truth = setting
    result = settled(name)
    honest = np.arange(N - LIARS)
    own = [adjusted_rand_score(truth, partitions[i]) for i in honest]
    assert max(own) < 0.5
    assert min(adjusted_rand_score(truth, result.held[i]) for i in honest) > 0.8
    assert result.unanimous
    assert result.rounds <= 3
    assert not result.judges[list(BYZANTINE)].any()
    assert (result.held[list(BYZANTINE)] == -1).all()


def test_a_centre_follows_the_clique(setting: tuple[Ints, Ints]) -> None:
    partitions, truth = setting
    handed = partitions_handed_in(
        partitions, dict.fromkeys(BYZANTINE, ColludingPartition()), clusters=5, seed=3
    )
    for rule in (evidence_accumulation, bipartite_consensus):
        assert adjusted_rand_score(truth, rule(handed, 5)) < 0.1


def test_who_lies_need_not_be_known(setting: tuple[Ints, Ints]) -> None:
    """Clique members that follow the rule from their lie hold it to the end, and are one voice in labels."""
    partitions, truth = setting
    handed = partitions_handed_in(
        partitions, dict.fromkeys(BYZANTINE, ColludingPartition()), clusters=5, seed=3
    )
    result = cluster(handed, 5)
    assert adjusted_rand_score(truth, result.labels) > 0.8
    assert result.effective_votes[list(BYZANTINE)].sum() == pytest.approx(1, abs=0.01)
    assert not result.weights[:7, 7:].any()
    assert (result.likeness[7:] < 0.05).all()


def test_honest_participants_that_are_alike_are_no_copies_to_a_reader_from_outside() -> None:
    """Ten of fifteen are nearly right, so that they are alike; five reveal noisy copies of one lie."""
    partitions, truth = planted(N, 400, 5, 0.1, seed=7)
    liars = dict.fromkeys(range(10, N), ColludingPartition(noise=0.2))
    result = cluster(partitions_handed_in(partitions, liars, clusters=5, seed=3), 5)
    assert result.effective_votes[:10].sum() < result.effective_votes[10:].sum()  # as participants listen
    assert adjusted_rand_score(truth, result.labels) > 0.95


def test_names_of_clusters_and_participants_mean_nothing(setting: tuple[Ints, Ints]) -> None:
    partitions, _ = setting
    rng = np.random.default_rng(8)
    order = rng.permutation(N)
    renamed = np.array([rng.permutation(50)[row] for row in partitions])[order]
    first, second = settled(None), cluster(renamed, 5)
    assert (first.labels == second.labels).all()
    assert (first.agreement == second.agreement).all()
    assert (first.held[order] == second.held).all()
    assert (first.weights[np.ix_(order, order)] == second.weights).all()
    assert (first.effective_votes[order] == second.effective_votes).all()


def test_objects_that_some_have_not_seen() -> None:
    partitions, truth = planted(N, 400, 4, 0.25, seed=9, unseen=0.5)
    partitions[:, 17] = -1
    result = cluster(partitions, 4)
    assert result.labels[17] == -1
    seen = result.labels >= 0
    assert seen.sum() == 399
    assert adjusted_rand_score(truth[seen], result.labels[seen]) > 0.9
    assert "1 objects have no label" in str(result)


def test_weights_by_hand() -> None:
    """max(A - max(.02, 4/M), 0)^1.5 / sum A^4, own weight that of the best peer; A by scikit-learn."""
    from folkmoot.clustering.listening import Revealed
    from folkmoot.votes import numbered

    partitions, _ = planted(5, 200, 3, 0.3, seed=10)
    partitions[4] = partitions[3]
    index = np.array([[adjusted_rand_score(a, b) for b in partitions] for a in partitions])
    voice = 1 / (np.maximum(index, 0) ** 4).sum(axis=1)
    expected = np.maximum(index[0] - 0.02, 0) ** 1.5 * voice
    expected[0] = expected[1:].max()
    assert Revealed.of(numbered(partitions)).first_weights(0) == pytest.approx(expected)


def test_two_groups_that_are_tied_on_one_object_take_the_partition_most_like_what_was_revealed() -> None:
    from folkmoot.clustering.listening import Revealed
    from folkmoot.clustering.rounds import agree

    one = np.repeat([0, 1], 10)
    other = np.where(np.arange(20) == 3, 1, one)
    said = np.stack([one, one, one, other, other, other])
    said[np.arange(6), np.arange(10, 16)] = 0  # each with a mistake of its own
    said[4, 3] = 0  # four of six put object 3 where the first group does
    held = np.stack([one, one, one, other, other, other])
    weights = np.where(np.kron(np.eye(2), np.ones((3, 3))) > 0, 1.9, 0.9)  # each group trusts itself more
    everybody, revealed = np.arange(6), Revealed.of(said)
    like = [sum(adjusted_rand_score(each, mine) for each in said) for mine in (one, other)]
    assert like[0] > like[1]
    tied = agree(held, weights, everybody, everybody, 2, revealed)
    assert not tied.unanimous
    assert (tied.held == held).all()  # object by object neither group gives way
    found = agree(held, weights, everybody, everybody, 10, revealed)
    assert (found.unanimous, found.rounds) == (True, 3)
    assert (found.held == one).all()


def test_number_of_clusters_is_where_the_spectrum_falls_most_among_those_that_were_made() -> None:
    """Three clusters; six of nine have split one or two of them, each by dice of its own."""
    partitions, truth = planted(9, 400, 3, 0.1, seed=4)
    draw = np.random.default_rng(5)
    for i in range(3, 9):
        for old in range(1 if i < 6 else 2):
            partitions[i] = np.where(
                (partitions[i] == old) & (draw.random(400) < 0.5), 10 + old, partitions[i]
            )
    result = cluster(partitions)
    assert [len(set(row.tolist())) for row in partitions] == [3] * 3 + [4] * 3 + [5] * 3
    assert (result.n_clusters, result.suggested_clusters, result.usual_clusters) == (3, 3, 4)
    assert adjusted_rand_score(truth, result.labels) > 0.95
    assert result.unsure
    assert "(number agreed on; unsure: the spectrum suggests 3, participants usually made 4)" in str(result)
    assert cluster(partitions[:, :60], 3).unsure is False  # the number is given


def test_the_fall_of_the_spectrum_by_hand() -> None:
    """The eigenvalues are those of the dense, normalised graph; none is looked at beyond the range."""
    from folkmoot.clustering.consensus_partitions import Bipartite
    from folkmoot.votes import numbered

    partitions = numbered(planted(6, 90, 4, 0.3, seed=2)[0])
    weights = np.array([1.0, 2.0, 0.5, 0.0, 1.5, 1.0])
    dense = np.hstack([w * np.eye(row.max() + 1)[row] for w, row in zip(weights, partitions, strict=True)])
    kept = dense[:, dense.any(axis=0)]
    graph = kept / np.sqrt(kept.sum(axis=1, keepdims=True)) / np.sqrt(kept.sum(axis=0))
    values = np.linalg.svd(graph, compute_uv=False) ** 2
    falls = {k: values[k - 1] - values[k] for k in range(2, len(values))}
    for least, most in ((2, 19), (2, 3), (5, 9), (7, 7)):
        best = max(range(least, most + 1), key=lambda k: falls.get(k, 0.0))
        assert Bipartite.of(partitions).eigengap(weights, least, most) == best


def test_number_of_clusters_is_the_median_of_those_who_are_trusted(setting: tuple[Ints, Ints]) -> None:
    partitions, truth = setting
    coarse = partitions.copy()
    coarse[list(BYZANTINE)] = np.arange(400) % 2  # a clique of another number of clusters
    result = cluster(coarse)
    assert result.n_clusters == 5
    assert not result.given
    assert result.suggested_clusters == 5
    assert adjusted_rand_score(truth, result.labels) > 0.8


def test_everybody_identical() -> None:
    with pytest.warns(ClusteringWarning, match="all partitions are the same"):
        result = cluster([[0, 0, 1, 1, 2, 2]] * 4)
    assert result.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert result.unanimous


def test_everybody_different() -> None:
    partitions = np.random.default_rng(11).integers(0, 4, (8, 300))
    with pytest.warns(ClusteringWarning, match="no participant found enough others to agree with"):
        result = cluster(partitions, 4)
    assert not result.judges.any()
    assert (result.labels >= 0).all()


def test_more_clusters_than_can_be_told_apart() -> None:
    partitions = [[0, 0, 0, 0, 1, 1, 1, 1]] * 3 + [[0, 0, 0, 0, 1, 1, 1, 0]]
    with pytest.warns(ClusteringWarning, match="fewer than n_clusters=6"):
        result = cluster(partitions, 6)
    assert result.n_clusters < 6


def test_a_participant_with_one_cluster_changes_nothing(setting: tuple[Ints, Ints]) -> None:
    partitions, truth = setting
    more = np.vstack([partitions, np.zeros((1, 400), dtype=np.int64)])
    result = cluster(more, 5)
    assert adjusted_rand_score(result.labels, settled(None).labels) == 1
    assert not result.judges[-1]
    assert result.judges[:-1].all()
    assert adjusted_rand_score(truth, result.labels) > 0.9


@pytest.mark.parametrize("clusters", [1, 0, 401])
def test_impossible_numbers(setting: tuple[Ints, Ints], clusters: int) -> None:
    with pytest.raises(ValueError, match=r"2 <= n_clusters <= the number of objects \(400\)"):
        cluster(setting[0], clusters)


def test_other_bad_input(setting: tuple[Ints, Ints]) -> None:
    partitions, _ = setting
    with pytest.raises(TypeError, match="n_clusters must be an integer"):
        cluster(partitions, 2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rounds >= 1"):
        cluster(partitions, 5, rounds=0)
    with pytest.raises(ValueError, match=r"participants 0..14: got 15"):
        cluster(partitions, 5, adversaries={15: ColludingPartition()})
    with pytest.raises(TypeError, match="must map participants to PartitionAdversary"):
        cluster(partitions, 5, adversaries={0: "clique"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="byzantine < n"):
        cluster(partitions, 5, adversaries=15)
    with pytest.raises(ValueError, match="at least one honest"):
        cluster(partitions, 5, adversaries=dict.fromkeys(range(N), ColludingPartition()))
    with pytest.raises(ValueError, match=r"names must hold one for each participant \(15\): got 2"):
        cluster(partitions, 5, names=["a", "b"])


def test_a_number_of_adversaries_is_a_clique_at_the_end(setting: tuple[Ints, Ints]) -> None:
    partitions, _ = setting
    liars = dict.fromkeys(range(9, 15), ColludingPartition())
    first, second = cluster(partitions, 5, adversaries=6), cluster(partitions, 5, adversaries=liars)
    assert (first.labels == second.labels).all()
    assert first.honest.tolist() == [True] * 9 + [False] * 6


def test_two_participants_are_told_that_they_cannot_judge() -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = cluster([[0, 0, 1, 1, 2, 2, 2, 0], [0, 0, 1, 1, 2, 2, 1, 0]], 3)
    assert len(said) == 1
    assert not result.judges.any()


def test_how_it_is_told() -> None:
    result = settled("clique")
    text = str(result)
    assert "15 participants, 400 objects: 5 clusters" in text
    assert "unanimous: all 7 that count hold it" in text
    assert "7 of 7 can judge" in text
    told = result.to_dict()
    assert told["labels"] == result.labels.tolist()
    assert told["clusters"] == 5
    assert told["participants"][0]["holds"] == 1
    assert told["participants"][-1] == {
        "name": "participant 14",
        "honest": False,
        "anchored": False,
        "voice": pytest.approx(1 / 8, abs=0.01),
        "likeness": pytest.approx(0, abs=0.05),
        "holds": None,
    }
    assert result._repr_html_().startswith("<p>15 participants")
    assert len(result.plot().axes) == 2


def test_progress_is_told(setting: tuple[Ints, Ints]) -> None:
    calls: list[tuple[int, int]] = []
    cluster(setting[0][:4], 5, progress=lambda done, whole: calls.append((done, whole)))
    assert calls == [(i, 4) for i in range(1, 5)]
