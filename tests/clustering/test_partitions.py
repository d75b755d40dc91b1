"""Partitions against scikit-learn's index, a brute-force search over matchings, and by cases."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from folkmoot.clustering.partitions import check_partitions, cross, matching, medoid, renamed
from folkmoot.votes import numbered
from support.planted import planted


def test_indices_are_those_of_scikit_learn() -> None:
    partitions, _ = planted(7, 120, 4, 0.4, seed=0)
    partitions[3] //= 2  # another number of clusters
    indices = cross(partitions).rand
    for i, one in enumerate(partitions):
        for j, other in enumerate(partitions):
            assert indices[i, j] == pytest.approx(adjusted_rand_score(one, other), abs=1e-12)


def test_indices_are_of_the_objects_that_both_have_seen() -> None:
    partitions, _ = planted(6, 150, 3, 0.3, seed=1, unseen=0.4)
    indices = cross(partitions).rand
    for i, one in enumerate(partitions):
        for j, other in enumerate(partitions):
            both = (one >= 0) & (other >= 0)
            assert indices[i, j] == pytest.approx(adjusted_rand_score(one[both], other[both]), abs=1e-12)


def test_a_partition_that_says_nothing_is_like_none() -> None:
    one, apart = np.zeros(6, dtype=np.int64), np.arange(6)
    assert not cross(np.array([one, one, apart, apart])).rand.any()


def test_few_objects_in_common() -> None:
    indices = cross(np.array([[0, 0, 1, -1, -1], [-1, -1, 0, 0, 1]])).rand  # they share one object
    assert indices[0, 1] == 0
    assert indices[0, 0] == 1


def test_numbered_keeps_the_partition_and_nothing_else() -> None:
    assert numbered(np.array([[7, 3, -1, 7, 0], [0, 1, 2, 3, 4]])).tolist() == [
        [0, 1, -1, 0, 2],
        [0, 1, 2, 3, 4],
    ]


@pytest.mark.parametrize(("rows", "columns"), [(4, 4), (3, 5), (5, 3)])
def test_matching_is_the_best_of_all(rows: int, columns: int) -> None:
    table = np.random.default_rng(rows).integers(0, 50, (rows, columns)).astype(np.float64)
    names = matching(table)
    assert len(set(names.tolist())) == columns
    square = np.zeros((max(rows, columns),) * 2)
    square[:rows, :columns] = table
    best = max(sum(square[r, c] for c, r in enumerate(each)) for each in permutations(range(len(square))))
    assert sum(square[name, c] for c, name in enumerate(names)) == best


def test_renamed_leaves_what_was_not_seen() -> None:
    assert renamed(np.array([0, -1, 1]), np.array([5, 3])).tolist() == [5, -1, 3]


def test_medoid_is_the_most_typical() -> None:
    partitions = np.array([[0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]])
    assert medoid(partitions) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0, 1, 1], [0, 1]], r"of one length.*participant 0 has 3 objects, participant 1 has 2"),
        ([0, 1, 1], r"shape \(participant, object\): got the shape \(3,\)"),
        ([[0, 1, 1]], "at least two participants: got 1"),
        ([[], []], "at least two objects: got 0"),
        ([[0.0, float("nan")], [0.0, 1.0]], r"partitions\[0, 1\] must be a cluster number.*got nan"),
        ([[0.0, 1.5], [0.0, 1.0]], r"partitions\[0, 1\] must be a cluster number.*got 1.5"),
        ([[0, 1], [-2, 1]], r"partitions\[1, 0\].*or -1.*got -2"),
        ([[0, 1], [-1, -1]], r"partitions\[1\] must say something.*all -1"),
    ],
)
def test_what_is_no_table_of_clusters_is_refused(given: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        check_partitions(given)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("given", [[["a", "b"], ["a", "a"]], [[None, 1], [0, 1]]])
def test_names_are_refused_with_what_to_do(given: list[list[object]]) -> None:
    with pytest.raises(TypeError, match=r"whole numbers.*LabelEncoder"):
        check_partitions(given)  # type: ignore[arg-type]


def test_whole_floats_are_taken() -> None:
    assert check_partitions([[0.0, 1.0], [-1.0, 1.0]]).tolist() == [[0, 1], [-1, 1]]
