from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import lil_matrix
from scipy.sparse.linalg import spsolve

from folkmoot import Others, StrongConfidence
from folkmoot.checks import ByzantineThresholdWarning
from folkmoot.theory import LocalSlushChain, SlushChain, fixed_point, wavefront
from folkmoot.votes import BLUE, RED
from support.oracles import exact as oracle
from support.strategies import chains, law_of


def group_counts(chain: LocalSlushChain, colours: tuple[int, ...]) -> list[int]:
    return [
        sum(colour for colour, alpha in zip(colours, chain.alphas, strict=True) if alpha == group)
        for group in chain.thresholds
    ]


@pytest.mark.parametrize(
    ("alphas", "k", "f", "self_sampling"),
    [
        ([2, 2, 3, 3, 3], 3, 0, True),
        ([3, 4, 3, 3, 4], 4, 0, False),
        ([3, 3, 4, 5], 5, 1, True),
        ([3, 4, 3, 3], 4, 2, False),
        ([1, 1, 1, 1], 1, 0, True),
        ([3, 3, 5, 5, 5], 5, 0, True),  # three with alpha = 5 may hear neither colour five times
        ([2, 3, 3, 3], 3, 1, False),
    ],
)
def test_equals_brute_force_over_all_colourings_and_samples(
    alphas: list[int], k: int, f: int, self_sampling: bool
) -> None:
    chain = LocalSlushChain(alphas, k, byzantine=f, sampling=law_of(self_sampling))
    truth = oracle.brute_force_blue(alphas, k, f, self_sampling)
    for colours, (blue, red) in truth.items():
        counts = group_counts(chain, colours)
        assert chain.blue(counts) == pytest.approx(float(blue), abs=1e-10)
        assert chain.red(counts) == pytest.approx(float(red), abs=1e-10)
    p = np.linspace(0.3, 0.9, len(alphas))
    exact = sum(
        float(blue) * np.prod(np.where(np.array(colours) == 1, p, 1 - p))
        for colours, (blue, _) in truth.items()
    )
    assert chain.accuracy(p) == pytest.approx(exact, abs=1e-10)


def test_participants_that_never_hear_enough_of_either_colour() -> None:
    # Six high thresholds blue, six red, three low ones that flip for ever: neither colour wins.
    alphas = [6] * 3 + [10] * 12
    chain = LocalSlushChain(alphas, 10)
    for low in range(4):
        assert chain.blue([low, 6]) == chain.red([low, 6]) == 0.0
    assert chain.blue([3, 12]) == chain.red([0, 0]) == 1.0


def local_copy(chain: SlushChain) -> LocalSlushChain:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ByzantineThresholdWarning)
        return LocalSlushChain(
            [chain.alpha] * chain.honest,
            chain.k,
            byzantine=chain.byzantine,
            sampling=chain.sampling,
        )


@settings(max_examples=40)
@given(chains(most=60).filter(lambda chain: chain.k > 1))
def test_sweeps_over_one_group_find_the_slush_chain(chain: SlushChain) -> None:
    local = local_copy(chain)
    assert local._sweep(BLUE) == pytest.approx(chain.blue, abs=1e-8)
    assert local._sweep(RED) == pytest.approx(chain.red, abs=1e-8)


@pytest.mark.parametrize("n", [101, 501])
def test_sweeps_over_one_large_group_find_the_slush_chain(n: int) -> None:
    local = LocalSlushChain([7] * n, 10)
    assert local._sweep(BLUE) == pytest.approx(SlushChain(n, 10, 7).blue, abs=1e-8)


@given(chains(most=300))
def test_one_group_is_the_slush_chain(chain: SlushChain) -> None:
    local = local_copy(chain)
    assert local.blue_probabilities == pytest.approx(chain.blue, abs=1e-12)
    assert local.red_probabilities == pytest.approx(chain.red, abs=1e-12)
    assert local.accuracy(0.6) == pytest.approx(chain.accuracy(0.6), abs=1e-12)
    assert local.residual <= 1e-10  # the closed form satisfies the equations of the sweeps


def test_chances_below_the_smallest_double_freeze_nobody() -> None:
    # Two groups that differ by one vote of 600: between the chains of either threshold alone.
    chain = LocalSlushChain([600] * 600 + [599] * 601, 600)
    for blue in (600, 601, 605):
        value = chain.blue([min(blue, 601), max(blue - 601, 0)])
        assert 0 <= value <= 1
    assert chain.blue([601, 600]) == 1.0
    assert chain.blue([300, 300]) + chain.blue([301, 300]) == pytest.approx(1.0, abs=1e-8)
    assert chain.residual < 1e-10


@pytest.mark.parametrize(("f", "self_sampling"), [(0, True), (3, False)])
def test_three_groups_equal_a_direct_sparse_solution(f: int, self_sampling: bool) -> None:
    # Written out state by state from the rates of the oracle, and solved by sparse elimination.
    sizes, alphas, k = (7, 6, 8), (6, 8, 10), 10
    n = sum(sizes) + f
    tails = {
        alpha: [
            oracle.tail(n if self_sampling else n - 1, x, k, alpha)
            for x in range(n if not self_sampling else n + 1)
        ]
        + [0]
        for alpha in alphas
    }
    states = list(product(*(range(size + 1) for size in sizes)))
    index = {state: i for i, state in enumerate(states)}
    matrix = lil_matrix((len(states), len(states)))
    right = np.zeros(len(states))
    for state in states:
        i = index[state]
        matrix[i, i] = 1.0
        if state == sizes:
            right[i] = 1.0
        if state in (sizes, (0, 0, 0)):
            continue
        total = sum(state)
        rates = {}
        for g, alpha in enumerate(alphas):
            step = np.eye(3, dtype=int)[g]
            if state[g] < sizes[g]:
                rates[tuple(np.add(state, step))] = float((sizes[g] - state[g]) * tails[alpha][total])
            if state[g]:
                rates[tuple(np.subtract(state, step))] = float(state[g] * tails[alpha][n - total])
        whole = sum(rates.values())
        for after, rate in rates.items():
            matrix[i, index[after]] = -rate / whole if whole else 0.0
    truth = spsolve(matrix.tocsr(), right)
    chain = LocalSlushChain(np.repeat(alphas, sizes), k, byzantine=f, sampling=law_of(self_sampling))
    assert chain.blue_probabilities.ravel() == pytest.approx(truth, abs=1e-9)
    assert chain.residual < 1e-10


def test_accuracy_does_not_depend_on_the_order_of_participants() -> None:
    rng = np.random.default_rng(5)
    p = rng.uniform(0.5, 0.95, 31)
    alphas = StrongConfidence(p).thresholds(10)
    order = rng.permutation(31)
    one = LocalSlushChain(StrongConfidence(p), 10).accuracy(p)
    other = LocalSlushChain(alphas[order], 10).accuracy(p[order])
    assert one == pytest.approx(other, abs=1e-12)
    assert LocalSlushChain(alphas, 10).accuracy(0.7) == pytest.approx(
        LocalSlushChain(alphas, 10).accuracy([0.7] * 31), abs=1e-12
    )


def test_byzantine_at_least_the_least_threshold_warns() -> None:
    with pytest.warns(ByzantineThresholdWarning, match="6 Byzantine participants reach alpha = 6"):
        LocalSlushChain([6, 6, 8, 8, 8], 10, byzantine=6)


@pytest.mark.parametrize(
    ("alphas", "k", "options", "message"),
    [
        ([], 3, {}, "one threshold per honest participant"),
        ([[2, 2]], 3, {}, "one threshold per honest participant"),
        ([2, 1, 2], 3, {}, "k/2 < alpha <= k: got alpha=1, k=3"),
        ([2, 2, 4], 3, {}, "k/2 < alpha <= k: got alpha=4, k=3"),
        ([2, 2], 3, {}, "1 <= k <= n: got k=3, n=2"),
        ([2, 2, 2], 3, {"sampling": Others()}, "1 <= k <= n-1"),
        (StrongConfidence([0.7, 0.7]), 3, {}, "1 <= k <= n: got k=3, n=2"),
        (StrongConfidence(), 3, {}, r"give them, StrongConfidence\(p\)"),
        ([2, 2, 2], 3, {"byzantine": -1}, "byzantine >= 0: got byzantine=-1"),
        ([2, 2, 2], 3, {"tolerance": 0.0}, "0 < tolerance < 1"),
        (list(range(11, 21)) * 10, 20, {}, r"25,937,424,601 states \(10 groups"),
    ],
)
def test_bad_input(alphas: object, k: int, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LocalSlushChain(alphas, k, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("alphas", [[2.5, 2.5, 2.5], [2, None, 2], [2, math.nan, 2]])
def test_thresholds_that_are_no_integers_are_refused(alphas: list[object]) -> None:
    with pytest.raises(TypeError, match="alpha must be an integer"):
        LocalSlushChain(alphas, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("counts", "message"),
    [([1], "2 groups"), ([1, 2, 3], "2 groups"), ([3, 0], "0 <= counts"), ([-1, 0], "0 <=")],
)
def test_bad_counts(counts: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LocalSlushChain([2, 2, 3, 3], 3).blue(counts)


@pytest.mark.parametrize("sizes", [(4, 3, 5), (2, 3, 2, 4)])
@pytest.mark.parametrize("threads", [2, 3])
def test_many_threads_sweep_to_the_bits_of_one(
    sizes: tuple[int, ...], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    alphas = np.repeat(np.arange(4, 4 + len(sizes)), sizes)
    one = LocalSlushChain(alphas, 7)
    alone = one.blue_probabilities, one.red_probabilities
    told = one.residual
    monkeypatch.setattr(wavefront, "_WORTH_THREADS", 1)
    monkeypatch.setattr(wavefront, "cores", lambda: threads)
    monkeypatch.setattr(fixed_point, "_PIECE", 16)
    many = LocalSlushChain(alphas, 7)
    assert many.blue_probabilities == pytest.approx(alone[0], abs=1e-10)  # sums of other pieces
    monkeypatch.setattr(fixed_point, "_PIECE", 2**18)
    many = LocalSlushChain(alphas, 7)
    assert np.array_equal(many.blue_probabilities, alone[0])
    assert np.array_equal(many.red_probabilities, alone[1])
    assert many.residual == told


def test_a_sweep_out_of_range_is_not_taken_for_convergence() -> None:
    with pytest.raises(ArithmeticError, match="double precision"):
        fixed_point.solve(lambda _: math.nan, np.zeros(4), tolerance=1e-9)


def test_a_search_that_does_not_end_says_so() -> None:
    with pytest.raises(RuntimeError, match="no convergence in 3 sweeps"):
        fixed_point.solve(lambda _: 1.0, np.zeros(4), tolerance=1e-9, most_sweeps=3)


@pytest.mark.slow
def test_five_groups_of_101_participants() -> None:
    chain = LocalSlushChain(np.repeat([6, 7, 8, 9, 10], [21, 20, 20, 20, 20]), 10)
    blue = chain.blue_probabilities
    assert chain.states == 4_278_582
    assert chain.residual < 1e-10
    # Without Byzantine participants colours can be swapped, which the solver does not know.
    mirrored = blue[::-1, ::-1, ::-1, ::-1, ::-1]
    assert np.abs(blue + mirrored - 1).max() < 1e-8
