"""Splits: every row exactly once, the promised law, the same seed the same split."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.datasets import split_dirichlet
from folkmoot.datasets.splits import Split, split_by_group

labels = st.lists(st.integers(0, 5), min_size=1, max_size=80)


def assert_covers(split: Split, rows: int) -> None:
    assert sorted(row for mine in split for row in mine.tolist()) == list(range(rows))
    groups = split.groups(rows)
    for i in range(len(split)):
        assert np.array_equal(split[i], np.flatnonzero(groups == split.names[i]))


def same(one: Split, other: Split) -> bool:
    return len(one) == len(other) and all(map(np.array_equal, one, other))


@given(labels, st.data())
def test_every_row_goes_to_exactly_one_participant(y: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(y)))
    seed = data.draw(st.integers(0, 5))
    alpha = data.draw(st.floats(1e-3, 1e3))
    ways: list[Callable[[int], Split]] = [
        lambda s: split_dirichlet(y, n, alpha, s),
        lambda _: split_by_group(y),
    ]
    for way in ways:
        split = way(seed)
        assert_covers(split, len(y))
        assert min(split.sizes) >= 1
        assert same(split, way(seed))


@given(labels, st.data())
def test_dirichlet_gives_everyone_what_was_asked(y: list[int], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, max(1, len(y) // 2)))
    least = data.draw(st.integers(0, len(y) // n))
    variety = data.draw(st.integers(0, min(2, len(set(y)), len(y) // n)))
    # Two classes each are possible exactly if there are n rows outside the largest class.
    outside = len(y) - max(y.count(c) for c in y)
    if variety == 2 and outside < n:
        with pytest.raises(ValueError, match="min_classes=2 cannot be given to every participant"):
            split_dirichlet(y, n, 0.1, 0, min_rows=least, min_classes=2)
        return
    split = split_dirichlet(y, n, 0.1, 0, min_rows=least, min_classes=variety)
    assert_covers(split, len(y))
    assert min(split.sizes) >= least
    assert min(len({y[row] for row in mine}) for mine in split) >= variety


def test_dirichlet_shares_follow_the_law() -> None:
    # A share of Dirichlet(a, ..., a) over n has mean 1/n and variance (1/n)(1 - 1/n) / (n a + 1).
    n, alpha, rows = 5, 0.7, 10_000
    y = np.zeros(rows, dtype=int)
    shares = np.array([split_dirichlet(y, n, alpha, s, min_rows=0).sizes / rows for s in range(400)])
    variance = (1 / n) * (1 - 1 / n) / (n * alpha + 1)
    assert shares.mean(axis=0) == pytest.approx(np.full(n, 1 / n), abs=4 * np.sqrt(variance / 400))
    assert shares.var(axis=0).mean() == pytest.approx(variance, rel=0.15)


def test_repair_moves_no_row_that_need_not() -> None:
    y = np.arange(60) % 3
    drawn = split_dirichlet(y, 12, 0.2, 1, min_rows=0)
    repaired = split_dirichlet(y, 12, 0.2, 1, min_rows=2)
    missing = int(np.maximum(2 - drawn.sizes, 0).sum())
    assert missing > 0
    assert int((drawn.groups() != repaired.groups()).sum()) == missing
    assert same(split_dirichlet(y, 2, 50.0, 1, min_rows=0), split_dirichlet(y, 2, 50.0, 1, min_rows=2))


def test_extreme_alphas_give_each_class_to_one_or_to_all_alike() -> None:
    y = np.repeat(np.arange(4), 25)
    split = split_dirichlet(y, 10, 1e-300, 3, min_rows=0)
    assert all(len(set(split.groups()[y == c])) == 1 for c in range(4))
    assert split_dirichlet(y, 10, 1e308, 3).sizes.tolist() == pytest.approx([10] * 10, abs=4)


def test_groups_keep_their_names() -> None:
    split = split_by_group(["va", "basel", "va", "budapest"])
    assert split.names.tolist() == ["basel", "budapest", "va"]
    assert [mine.tolist() for mine in split] == [[1], [3], [0, 2]]
    assert split.groups(4).tolist() == ["va", "basel", "va", "budapest"]
    with pytest.raises(ValueError, match=r"n_rows must be the number of rows that were split \(4\): got 5"):
        split.groups(5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: split_dirichlet([0, 1], 3), "n must satisfy n <= rows: got n=3 participants, 2 rows"),
        (lambda: split_dirichlet([0, 1], 0), "n must satisfy n >= 1: got n=0"),
        (lambda: split_dirichlet([0, 1], 2, 0.0), "alpha must satisfy 0 < alpha < infinity: got alpha=0.0"),
        (lambda: split_dirichlet([0, 1], 2, float("nan")), "got alpha=nan"),
        (lambda: split_dirichlet([0, 1, 1], 2, min_rows=2), "n \\* min_rows <= rows: got n=2, min_rows=2"),
        (lambda: split_dirichlet([1, 1, 1, 1], 2, min_classes=2), "got min_classes=2, 1 classes"),
        (lambda: split_dirichlet([[0], [1]], 1), "y must be one value per row: got an array of shape"),
        (lambda: split_dirichlet([], 1), "y must be one value per row"),
    ],
)
def test_bad_input_is_named(call: Callable[[], Split], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
