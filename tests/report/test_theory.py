"""Pictures hold the numbers they claim to hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.axes import Axes

from folkmoot.report import theory_figures as pictures
from folkmoot.theory import SlushChain, majority_accuracy, threshold_accuracy
from folkmoot.theory.bounds import chvatal_bound


def lines(axes: Axes) -> dict[str, tuple[list[float], list[float]]]:
    return {
        str(line.get_label()): (np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist())
        for line in axes.get_lines()
    }


def test_absorption_draws_the_chain_and_both_bounds() -> None:
    chain = SlushChain(61, 10, 7)
    left, right = pictures.absorption(chain).axes
    drawn = lines(left)
    assert drawn["$B_b$, all end blue"][1] == chain.blue.tolist()
    assert drawn["$R_b$, all end red"][1] == chain.red.tolist()
    assert drawn["$b/n$"] == (list(range(31, 62)), [b / 61 for b in range(31, 62)])
    assert drawn["Chvatal, one query"][1] == [1 - chvatal_bound(61, 10, 7, b) for b in range(31, 62)]
    b, logs = lines(right)["$B_b$"]
    assert logs == pytest.approx([chain.log_blue[int(x)] / math.log(10) for x in b])
    assert min(b) == 7  # B_b is 0 below alpha


def test_absorption_marks_the_smallest_double_where_it_matters() -> None:
    texts = [text.get_text() for text in pictures.absorption(SlushChain(501, 20, 14)).axes[1].texts]
    assert texts == ["smallest double"]


def test_absorption_draws_no_bound_that_does_not_hold() -> None:
    assert set(lines(pictures.absorption(SlushChain(61, 10, 7, byzantine=3)).axes[0])) == {
        "$B_b$, all end blue",
        "$R_b$, all end red",
    }


def test_accuracy_draws_majority_and_slush() -> None:
    chain = SlushChain(31, 10, 6, byzantine=2)
    (axes,) = pictures.accuracy(chain, delta=1, mark=0.6).axes
    p, slush = lines(axes)["Slush"]
    assert slush == [chain.accuracy(x) for x in p]
    assert lines(axes)["supermajority, delta=1"][1] == [
        majority_accuracy(31, x, delta=1, byzantine=2) for x in p
    ]
    even = lines(pictures.accuracy(SlushChain(30, 10, 6)).axes[0])["majority"]  # a tie counts half
    assert even[1] == pytest.approx([majority_accuracy(29, x) for x in p], rel=1e-11)
    assert "supermajority q=0.6" in lines(pictures.accuracy(SlushChain(30, 10, 6), q=0.6).axes[0])


@pytest.mark.parametrize("delta", [0, 3])
def test_threshold_marks_the_crossing(delta: int) -> None:
    chain = SlushChain(101, 20, 14)
    p_th = threshold_accuracy(101, 20, 14, delta=delta)
    (axes,) = pictures.threshold(chain, p_th, delta=delta).axes
    (text,) = axes.texts
    assert f"{p_th:.4f}" in text.get_text()
    slush, _ = lines(axes)["Slush ahead"]
    assert np.nanmax(slush) <= p_th


def test_rounds_draws_expectation_and_horizon() -> None:
    chain = SlushChain(31, 10, 8)
    left, right = pictures.rounds(chain, 500).axes
    assert np.asarray(left.get_lines()[0].get_ydata()).tolist() == (chain.expected_steps() / 31).tolist()
    assert np.asarray(right.get_lines()[0].get_ydata()).tolist() == chain.open_after(500).tolist()
    assert len(pictures.rounds(chain).axes) == 1
