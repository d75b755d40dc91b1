"""What a participant opens with, which answers count, when it keeps its own decisions: by hand-made cases."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from folkmoot.datasets import homogeneous_votes
from folkmoot.simulation.kernels import rounds
from folkmoot.trust import Anchor, decide, heeded, kept, listen, opening
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


def test_who_keeps_its_own_decisions() -> None:
    opened = np.zeros((4, 200), dtype=np.int64)
    opened[3, 50:] = -1  # 50 decided
    talked = np.zeros((2, 4, 200), dtype=np.int8)
    talked[0, 0, :4] = 1  # 2%
    talked[0, 1, :5] = 1  # more
    talked[0, 2, :5] = -1  # to lose a decision is to change it
    talked[:, 3, 50:] = 1  # what was open may be settled
    talked[1, 3, :2] = 1  # 4% of what it decided, 1% of all
    assert kept(opened, talked).tolist() == [[False, True, True, False], [False, False, False, True]]
    assert kept(opened, talked, most=0.5).tolist() == [[False] * 4, [False] * 4]
    with pytest.raises(ValueError, match=r"the shape of opened \(4, 200\): got \(4, 199\)"):
        kept(opened, talked[0, :, 1:])
