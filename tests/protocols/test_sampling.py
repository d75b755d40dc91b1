from __future__ import annotations

import math
from fractions import Fraction

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.protocols.sampling import (
    Everyone,
    Neighbours,
    Others,
    log_binomials,
    log_tail,
    tails,
)
from support.oracles import exact as oracle


@given(st.integers(1, 60), st.data())
def test_log_tail_equals_exact_counts_for_any_set_of_counts(population: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, population))
    counts = data.draw(st.lists(st.booleans(), min_size=k + 1, max_size=k + 1))
    marked = np.arange(population + 1)
    ours = log_tail(population, k, np.array(counts), marked)
    for x in range(population + 1):
        ways = sum(math.comb(x, j) * math.comb(population - x, k - j) for j in range(k + 1) if counts[j])
        assert ours[x] == pytest.approx(oracle.log_ratio(ways, math.comb(population, k)), abs=1e-12)
        assert ours[x] <= 0


@given(st.integers(1, 200), st.data())
def test_tails_are_the_exact_counts_to_some_roundings(population: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, population))
    row = st.lists(st.booleans(), min_size=k + 1, max_size=k + 1)
    counts = np.array(data.draw(st.lists(row, min_size=1, max_size=3)))
    ours = tails(population, k, counts, np.arange(population + 1))
    assert ours.shape == (len(counts), population + 1)
    for row, allowed in zip(ours.tolist(), counts.tolist(), strict=True):
        for x, chance in enumerate(row):
            ways = sum(math.comb(x, j) * math.comb(population - x, k - j) for j in range(k + 1) if allowed[j])
            exact = Fraction(ways, math.comb(population, k))
            assert abs(Fraction(chance) - exact) <= exact * Fraction(8 * k + 8, 2**53)


def test_tails_of_a_large_urn_are_exact_where_they_are_rare_and_where_they_are_sure() -> None:
    marked = np.array([0, 3, 5, 6, 7, 500_000, 999_990, 999_999])
    (ours,) = tails(999_999, 10, np.arange(11)[None] >= 6, marked)
    for x, chance in zip(marked.tolist(), ours.tolist(), strict=True):
        ways = sum(math.comb(x, j) * math.comb(999_999 - x, 10 - j) for j in range(6, 11))
        exact = Fraction(ways, math.comb(999_999, 10))
        assert abs(Fraction(chance) - exact) <= exact * Fraction(100, 2**53)
    assert ours[-1] == 1


def test_log_binomials_are_minus_infinity_where_there_is_no_choice() -> None:
    table = log_binomials(np.array([0, 3, 7]), 5)
    assert table.shape == (6, 3)
    for j in range(6):
        for column, x in enumerate((0, 3, 7)):
            exact = math.log(math.comb(x, j)) if j <= x else -math.inf
            assert table[j, column] == pytest.approx(exact, abs=1e-14)


def test_urns() -> None:
    assert Everyone().peer_count(10, 10) == 10
    assert Others().peer_count(10, 9) == 9
    with pytest.raises(ValueError, match="1 <= k <= n: got k=11, n=10"):
        Everyone().peer_count(10, 11)
    with pytest.raises(ValueError, match=r"1 <= k <= n-1 .*got k=10, n=10"):
        Others().peer_count(10, 10)


def test_neighbours_from_matrices_and_graphs() -> None:
    graph = networkx.cycle_graph(5)
    for form in (
        graph,
        networkx.to_numpy_array(graph),
        networkx.to_scipy_sparse_array(graph),
        networkx.DiGraph(graph),
        networkx.to_numpy_array(graph).tolist(),
    ):
        law = Neighbours(form)
        assert law.starts.tolist() == [0, 2, 4, 6, 8, 10]
        assert law.peers.tolist() == [1, 4, 0, 2, 1, 3, 2, 4, 0, 3]
        law.check(5, 2)


def test_direction_says_who_may_ask_whom() -> None:
    law = Neighbours(networkx.DiGraph([(0, 1), (0, 2), (1, 2), (2, 0)]))
    assert law.starts.tolist() == [0, 2, 3, 4]
    assert law.peers.tolist() == [1, 2, 2, 0]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.ones((2, 3)), r"square: got shape \(2, 3\)"),
        (np.ones((3, 3)), "node 0 is its own neighbour"),
        (networkx.path_graph(["a", "b"]), r"must be 0\.\.n-1"),
        (np.zeros((0, 0)), "square"),
    ],
)
def test_bad_graphs(graph: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Neighbours(graph)


def test_graphs_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="at least k=3 neighbours: node 0 has 2"):
        Neighbours(networkx.cycle_graph(5)).check(5, 3)
    with pytest.raises(ValueError, match=r"a node per participant \(6\): got 5"):
        Neighbours(networkx.cycle_graph(5)).check(6, 2)
