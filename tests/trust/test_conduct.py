"""What a participant opens with, which answers count, when it keeps its own decisions: by hand-made cases."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from folkmoot.datasets import homogeneous_votes
from folkmoot.simulation.kernels import rounds
from folkmoot.trust import Anchor, decide, heeded, held_after, listen, opening
from folkmoot.trust.conduct import is_heeded

ROWS = arrays(np.int8, (2, 25), elements=st.integers(-1, 2))


def test_the_opening_is_the_decision_by_trust_or_nothing() -> None:
    votes = homogeneous_votes(7, p=0.8, inputs=300).votes
    trust = listen(2, votes, Anchor.of_counts(right=16, held_out=20))
    np.testing.assert_array_equal(opening(votes, trust), decide(votes, trust))
    assert (opening(votes, listen(2, votes, None)) == -1).all()
    few = votes[:, :20]
    with pytest.warns(match="at least 50"):  # everybody alike is no anchor
        assert (opening(few, listen(2, few, Anchor.of_counts(right=16, held_out=20))) == -1).all()


def test_who_is_heeded() -> None:
    held = np.array([0, 0, 1, 1, 0, -1])
    answers = np.array([[0, 0, 1, 1, 1, 0], [0, 0, 1, 0, 1, 0], [0, -1, -1, -1, 1, 1], [-1] * 6])
    # 4 of 5, 3 of 5, 1 of 2, nothing said
    assert heeded(held, answers).tolist() == [True, False, False, True]
    assert heeded(held, answers, least=0.5).tolist() == [True, True, True, True]
    assert heeded(held, answers[0]).tolist() == [True]
    with pytest.raises(ValueError, match=r"the same inputs \(6,\): got the shape \(1, 2\)"):
        heeded(held, [0, 1])


@given(rows=ROWS, tenths=st.integers(0, 10))
def test_the_compiled_comparison_is_the_same(rows: np.ndarray, tenths: int) -> None:
    """Against counting one input at a time, in fractions; half of a tenth away from every boundary."""
    least = Fraction(2 * tenths + 1, 21)
    both = [(mine, theirs) for mine, theirs in rows.T.tolist() if mine >= 0 and theirs >= 0]
    counts = not both or Fraction(sum(mine == theirs for mine, theirs in both), len(both)) >= least
    assert bool(is_heeded(rows[0], rows[1], float(least))) == counts
    assert rounds.is_heeded(rows[0], rows[1], float(least)) == counts


def test_the_talk_changes_the_least_sure_decisions_only() -> None:
    opened = np.array([0] * 250 + [-1] * 50)  # two may change: one of a hundred, rounded down
    sure = np.arange(300)[::-1] / 300
    talked = np.tile(opened, (2, 1))
    talked[0, [3, 7, 90, 140]] = 1
    talked[:, 250:] = 1  # what was open may be settled
    talked[1, :5] = -1  # where the talk came to nothing the own decision stays
    after = held_after(opened, talked, sure)
    assert np.flatnonzero(after[0, :250]).tolist() == [90, 140]
    assert (after[:, 250:] == 1).all()
    assert (after[1, :250] == 0).all()
    np.testing.assert_array_equal(held_after(opened, talked[0], sure, most=1.0), talked[0])
    assert not held_after(opened, talked[0], sure, most=0.0)[:250].any()
    level = held_after(opened, talked[0], np.zeros(300))  # equally sure: the first ones
    assert np.flatnonzero(level[:250]).tolist() == [3, 7]
    with pytest.raises(ValueError, match=r"the same inputs: got the shapes \(300,\), \(299,\) and \(300,\)"):
        held_after(opened, talked[0, 1:], sure)


@given(
    rows=arrays(np.int8, (2, 30), elements=st.integers(-1, 2)),
    sure=arrays(np.float64, 30, elements=st.floats(0, 1)),
    hundredths=st.integers(0, 100),
)
def test_whatever_is_said_little_is_lost(rows: np.ndarray, sure: np.ndarray, hundredths: int) -> None:
    """Against going through the changes one by one: the least sure first, until no more may go."""
    opened, talked = rows
    left = math.floor(Fraction(hundredths, 100) * int((opened >= 0).sum()))
    expected = np.where(opened >= 0, opened, talked)
    for i in sorted(range(30), key=lambda i: sure[i]):
        if left and opened[i] >= 0 and talked[i] not in (opened[i], -1):
            expected[i], left = talked[i], left - 1
    np.testing.assert_array_equal(held_after(opened, talked, sure, most=hundredths / 100), expected)
