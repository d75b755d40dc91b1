"""Who trains and who is tested on: nobody twice, the same for the same seed, less where there are fewer."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.femnist.writers import choose, group, notes_on_groups, sizes_of_test_sets
from folkmoot.datasets import load_femnist
from folkmoot.datasets.femnist import femnist_counts
from support.femnist_samples import make_rows, write_parquet

pytestmark = pytest.mark.slow


def test_counts_are_those_of_the_rows(letters: str) -> None:
    names, counts = femnist_counts(letters)
    assert len(names) == 43
    assert counts.sum() == 43 * 60 - 3 * 30
    data = load_femnist(letters, task="characters", writers=["f0007"])
    for character in range(62):
        assert counts[names.tolist().index("f0007"), character] == (data.y == character).sum()


def test_choice(letters: str) -> None:
    choice = choose(letters, 0, 25, 10)
    assert (len(choice.train), len(choice.test)) == (25, 10)
    assert not set(choice.train) & set(choice.test)
    assert not [name for name in (*choice.train, *choice.test) if name.startswith("x")]  # one case only
    assert choose.__wrapped__(letters, 0, 25, 10) == choice
    assert choose(letters, 1, 25, 10) != choice
    fewer = choose(letters, 0, 21, 5)
    assert fewer.train == choice.train[:21]
    assert fewer.test == choice.test[:5]


def test_fewer_writers_than_wanted(letters: str) -> None:
    choice = choose(letters, 0, 101, 100)
    assert len(choice.test) == 40 * 100 // 201
    assert len(choice.train) == 21
    assert not set(choice.train) & set(choice.test)


def test_too_few_writers(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "few.parquet", make_rows(["a", "b", "c"], each=60))
    with pytest.raises(ValueError, match=r"at least 6 writers .*: got 3"):
        choose(str(path), 0, 101, 100)


def test_sizes_of_sets() -> None:
    assert sizes_of_test_sets((1, 10, 100), 100) == [1, 10, 100]
    assert sizes_of_test_sets((1, 10, 100), 7) == [1, 7]


def test_enough_writers_make_disjoint_groups(many_writers: str) -> None:
    groups = group(many_writers, 0, 5, 10, 3)
    assert groups.disjoint
    assert [len(each) for each in groups.members] == [33, 33, 34]
    everyone = [name for each in groups.members for name in each]
    assert len(set(everyone)) == 100
    assert not set(everyone) & set(choose(many_writers, 0, 5, 10).test)
    assert "No writer is in two groups" in notes_on_groups(["+".join(each) for each in groups.members], 3)[0]


def test_otherwise_groups_overlap(many_writers: str) -> None:
    groups = group(many_writers, 0, 5, 10, 4)
    assert not groups.disjoint
    assert [len(set(each)) for each in groups.members] == [33, 33, 34, 33]
    assert len(set(groups.members)) == 4
    assert not {name for each in groups.members for name in each} & set(choose(many_writers, 0, 5, 10).test)
    assert "groups overlap" in notes_on_groups(["+".join(each) for each in groups.members], 4)[0]
