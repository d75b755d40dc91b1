from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from folkmoot import Slush, deliberate, plot_convergence
from folkmoot.outcome import Outcome


def outcome(decisions: list[list[int]], honest: list[bool], classes: int = 3) -> Outcome:
    inputs = len(decisions[0])
    return Outcome(
        decisions=np.array(decisions, dtype=np.int8),
        honest=np.array(honest),
        classes=classes,
        converged=np.zeros(inputs, dtype=np.bool_),
        rounds=np.zeros(inputs, dtype=np.int64),
        queries=np.array(0),
    )


def test_ties_and_missing_majorities_are_visible() -> None:
    result = outcome(
        [[0, 0, 1, -1], [0, 1, 1, -1], [1, 2, 1, 0], [1, -1, 0, -1], [2, 2, 2, 2]], [True] * 4 + [False]
    )
    assert result.counts.tolist() == [[2, 2, 0], [1, 1, 1], [1, 3, 0], [1, 0, 0]]
    assert result.decision.tolist() == [-1, -1, 1, -1]
    assert result.agreement.tolist() == [0.5, 0.25, 0.75, 0.25]
    assert result.undecided == 3
    # Two of four against two; one, one and one of four; three of four; one of four.
    assert result.tied.tolist() == [[True, True, False], [True, True, True], [False] * 3, [False] * 3]
    assert result.accuracy([0, 1, 1, 0]) == pytest.approx((1 / 2 + 1 / 3 + 1 + 0) / 4)
    assert result.accuracies([0, 1, 1, 0]) == pytest.approx([(1 / 2 + 1 / 3 + 1 + 0) / 4])
    assert result.accuracy([-1, 1, 1, -1]) == pytest.approx(2 / 3)  # where the truth is known
    for bad in ([1], [1] * 5, 1):
        with pytest.raises(ValueError, match=r"one class per input \(4\)"):
            result.accuracy(bad)
    with pytest.raises(ValueError, match="at least one input"):
        result.accuracy([-1] * 4)


def test_repetitions_come_first() -> None:
    votes = np.random.default_rng(0).integers(0, 2, (9, 6))
    result = deliberate(votes, Slush(3, 2), repeats=4, record=True)
    assert result.decisions.shape == (4, 9, 6)
    assert (
        result.decision.shape
        == result.agreement.shape
        == result.converged.shape
        == result.rounds.shape
        == (4, 6)
    )
    assert result.queries.shape == (4,)
    right = [(result.decision[repetition] == 1).mean() for repetition in range(4)]
    assert result.accuracies(np.ones(6, dtype=np.int64)).tolist() == right
    assert result.accuracy(np.ones(6, dtype=np.int64)) == pytest.approx(sum(right) / 4)
    assert result.history is not None
    assert result.history.shape == (4, 6, 51, 2)
    assert len(plot_convergence(result).axes[0].get_lines()) == 6


def test_plot_draws_the_share_of_the_winner() -> None:
    votes = np.zeros((9, 2), dtype=np.int64)
    votes[:3, 1] = 1
    result = deliberate(votes, Slush(3, 2), record=True)
    first, second = plot_convergence(result).axes[0].get_lines()
    assert np.asarray(first.get_ydata())[0] == 1.0
    assert np.asarray(second.get_ydata())[0] == pytest.approx(6 / 9)
    assert np.asarray(second.get_ydata())[-1] == 1.0


def test_without_a_record_there_is_nothing_to_explain_or_draw() -> None:
    result = deliberate(np.zeros((5, 2), dtype=np.int64), Slush(3, 2))
    with pytest.raises(ValueError, match="record=True"):
        plot_convergence(result)
    with pytest.raises(ValueError, match="0 <= i < 2, the number of inputs: got i=2"):
        result.turns(2)


def test_answers_are_labels_and_none_where_undecided() -> None:
    result = outcome([[0, 0, 1, -1], [0, 1, 1, -1], [1, 2, 1, 0], [1, -1, 0, -1]], [True] * 4)
    assert result.decision.tolist() == [-1, -1, 1, -1]
    for labels in (["a", "b", "c"], ("a", "b", "c"), np.array(["a", "b", "c"])):
        named = replace(result, labels=labels)
        assert named.answers.tolist() == [None, None, "b", None]
        assert named.answers.dtype == object
    several = replace(named, decisions=np.stack([result.decisions, np.full_like(result.decisions, 2)]))
    assert several.answers.tolist() == [[None, None, "b", None], ["c"] * 4]
    odd = replace(result, labels=[None, (1, 2), [3]])
    assert odd.answers.tolist() == [None, None, (1, 2), None]
    numbers = replace(result, labels=np.array([7, 8, 9])).answers
    assert numbers.tolist() == [None, None, 8, None]
    assert type(numbers[2]) is int


def test_answers_need_labels_one_for_each_class() -> None:
    result = outcome([[0], [0], [1]], [True] * 3)
    with pytest.raises(ValueError, match="answers needs the names of the classes"):
        _ = result.answers
    with pytest.raises(ValueError, match=r"labels must hold one per class \(3\): got 2"):
        replace(result, labels=["a", "b"])
    with pytest.raises(ValueError, match=r"names must hold one per participant \(3\): got 1"):
        replace(result, names=["ann"])
    assert deliberate([[0], [0], [1]], Slush(1, 1)).labels is None
