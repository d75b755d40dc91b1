from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from folkmoot.sampling import Everyone, Others, log_binomials, log_tail


@given(st.integers(1, 60), st.data())
def test_log_tail_equals_exact_counts_for_any_set_of_counts(urn: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, urn))
    counts = data.draw(st.lists(st.booleans(), min_size=k + 1, max_size=k + 1))
    marked = np.arange(urn + 1)
    ours = log_tail(urn, k, np.array(counts), marked)
    for x in range(urn + 1):
        ways = sum(math.comb(x, j) * math.comb(urn - x, k - j) for j in range(k + 1) if counts[j])
        assert ours[x] == pytest.approx(oracle.log_ratio(ways, math.comb(urn, k)), abs=1e-12)
        assert ours[x] <= 0


def test_log_binomials_are_minus_infinity_where_there_is_no_choice() -> None:
    table = log_binomials(np.array([0, 3, 7]), 5)
    assert table.shape == (6, 3)
    for j in range(6):
        for column, x in enumerate((0, 3, 7)):
            exact = math.log(math.comb(x, j)) if j <= x else -math.inf
            assert table[j, column] == pytest.approx(exact, abs=1e-14)


def test_urns() -> None:
    assert Everyone().urn(10, 10) == 10
    assert Others().urn(10, 9) == 9
    with pytest.raises(ValueError, match="1 <= k <= n: got k=11, n=10"):
        Everyone().urn(10, 11)
    with pytest.raises(ValueError, match=r"1 <= k <= n-1 .*got k=10, n=10"):
        Others().urn(10, 10)
