"""First votes counted, against Python's own counter."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from folkmoot.network.wire.tally import majorities, majority, tallies


@pytest.mark.parametrize(("n", "classes"), [(1, 2), (2, 2), (7, 3), (25, 10), (40, 127)])
def test_a_tally_is_the_count_of_each_label(n: int, classes: int) -> None:
    rng = np.random.default_rng(n)
    votes = rng.integers(-1, classes, (n, 300)).astype(np.int8)
    votes[:, 0], votes[:, 1], votes[:, 2] = -1, 0, classes - 1
    labels = [f"label {colour}" for colour in range(classes)]
    assert majorities(tallies(votes, labels)) == [majority(tally) for tally in tallies(votes, labels)]
    for i, found in enumerate(tallies(votes, labels)):
        assert found == Counter(labels[vote] for vote in votes[:, i] if vote >= 0)
        assert list(found) == sorted(found, key=labels.index)
        ranked = Counter(found).most_common(2)
        level = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
        assert majority(found) == (None if level or not ranked else ranked[0][0])


def test_nobody_closed() -> None:
    assert tallies(np.zeros((0, 2), dtype=np.int8), ["a", "b"]) == [{}, {}]
    assert majority({}) is None


def test_many_inputs_of_few_kinds_take_little_room() -> None:
    votes = np.tile(np.arange(1000, dtype=np.int16) % 2, (5, 1)).astype(np.int8)
    assert len({id(tally) for tally in tallies(votes, ["a", "b"])}) == 2
