"""Agreement counted in bits, against counting one input at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.trust import agreement_counts, pack_votes
from folkmoot.trust.counting import both_voted, joint_counts
from folkmoot.votes import Votes
from support.strategies import vote_tables


@given(vote_tables(), st.data())
def test_counts_are_those_of_a_loop(table: tuple[Votes, int], data: st.DataObject) -> None:
    votes, classes = table
    n, inputs = votes.shape
    own = data.draw(st.integers(0, n - 1))
    packed = pack_votes(votes, classes)
    rows = votes.tolist()
    pairs = [[sum(a == b != -1 for a, b in zip(x, y, strict=True)) for y in rows] for x in rows]
    assert agreement_counts(packed).tolist() == pairs
    assert agreement_counts(packed, own).tolist() == pairs[own]
    both = [sum(a != -1 != b for a, b in zip(rows[own], y, strict=True)) for y in rows]
    assert both_voted(packed, own).tolist() == both
    joint = joint_counts(packed, own)
    for j, y in enumerate(rows):
        for a in range(classes):
            for b in range(classes):
                assert joint[j, a, b] == sum((p, q) == (a, b) for p, q in zip(rows[own], y, strict=True))
    assert packed.inputs == inputs
    assert packed.cast.tolist() == [[row.count(c) for c in range(classes)] for row in rows]


def test_no_bit_is_lost_at_the_ends_of_words() -> None:
    for inputs in (1, 63, 64, 65, 128, 129):
        votes = np.zeros((2, inputs), dtype=np.int64)
        votes[1, -1] = 1
        counts = agreement_counts(pack_votes(votes))
        assert counts.tolist() == [[inputs, inputs - 1], [inputs - 1, inputs]]
