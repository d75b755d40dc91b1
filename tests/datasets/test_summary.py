"""The table counts rows, the picture draws the table."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from folkmoot.datasets import split_dirichlet
from folkmoot.datasets.splits import split_by_group
from folkmoot.datasets.summary import summarise

GROUPS = ["va", "basel", "va", "va", "basel"]
Y = [0, 1, 1, 1, 1]


def test_counts() -> None:
    summary = split_by_group(GROUPS).summary(Y)
    assert summary.participants.tolist() == ["basel", "va"]
    assert summary.counts.tolist() == [[0, 2], [1, 2]]
    assert summary.sizes.tolist() == [2, 3]
    assert summary.classes_each.tolist() == [1, 2]


def test_print() -> None:
    assert str(summarise(GROUPS, Y)).splitlines() == [
        "2 participants, 5 rows, 2 classes",
        "rows each:    2 to 3, median 2.5",
        "classes each: 1 to 2, median 1.5",
        "",
        "participant  rows  0  1",
        "basel           2  0  2",
        "va              3  1  2",
    ]


def test_print_stays_short() -> None:
    y = np.arange(1000) % 62
    text = str(split_dirichlet(y, 101).summary(y))
    assert text.splitlines()[4].split() == ["participant", "rows", "classes"]
    assert text.endswith("... and 89 more")
    assert max(map(len, text.splitlines())) < 80


def test_participants_without_rows_are_in_the_table() -> None:
    assert summarise([2, 0, 2], [1, 1, 1], participants=[2, 1, 0]).counts.tolist() == [[2], [0], [1]]


def test_bars_stack_up_to_the_sizes() -> None:
    y = np.arange(300) % 10
    split = split_dirichlet(y, 101)
    (axes,) = split.summary(y).plot().axes
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    assert len(bars) == 101 * 10
    tops = np.array([bar.get_y() + bar.get_height() for bar in bars]).reshape(10, 101)
    assert tops[-1].tolist() == split.sizes.tolist()


def test_many_classes_become_a_heat_map() -> None:
    y = np.arange(300) % 62
    summary = split_dirichlet(y, 4).summary(y)
    axes, _ = summary.plot().axes
    (image,) = axes.images
    assert np.asarray(image.get_array()).tolist() == summary.counts.T.tolist()


def test_labels_must_fit_the_rows() -> None:
    with pytest.raises(ValueError, match="y must hold one label per row"):
        summarise(GROUPS, Y[:-1])
