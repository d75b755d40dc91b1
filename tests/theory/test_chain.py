from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot import Everyone, Neighbours, Others
from folkmoot.checks import ByzantineThresholdWarning
from folkmoot.theory import LocalSlushChain, SlushChain, threshold_accuracy
from support.oracles import exact as oracle
from support.strategies import chains, draws_itself, queries, quiet_chain

# (k, alpha, byzantine, self_sampling)
EXACT = [(10, 7, 0, True), (10, 6, 3, True), (20, 14, 5, True), (20, 11, 0, False), (3, 2, 4, False)]


def exact_absorption(
    n: int, k: int, alpha: int, f: int, self_sampling: bool
) -> tuple[list[float], list[float]]:
    """log B_b and log R_b from integers alone."""
    birth, death = oracle.rates(n, k, alpha, f, self_sampling)
    blue, red = oracle.absorption_sums(birth, death)
    if blue[-1]:
        return [oracle.log_ratio(x, blue[-1]) for x in blue], [oracle.log_ratio(x, blue[-1]) for x in red]
    # A product of the formula is 0/0 when no state has both rates: solve the little chain instead.
    c, logs = n - f, []
    for end in (c, 0):
        chances = oracle.hitting(oracle.moves(birth, death), (end,))
        logs.append([math.log(chances[b,]) if chances[b,] else -math.inf for b in range(c + 1)])
    return logs[0], logs[1]


def assert_close_logs(ours: np.ndarray, truth: list[float]) -> float:
    """Within 1e-9, and within 1e-9 of the log itself where that is small (a probability near 1)."""
    exact = np.array(truth)
    assert np.array_equal(np.isneginf(ours), np.isneginf(exact))
    finite = np.isfinite(exact)
    error = np.abs(ours[finite] - exact[finite])
    assert np.all(error <= 1e-9 * np.minimum(1.0, np.abs(exact[finite])) + 1e-300)
    return float(exact[finite].min(initial=0.0))


@pytest.mark.parametrize(("k", "alpha", "f", "self_sampling"), EXACT)
def test_absorption_equals_exact_rationals_for_n_up_to_501(
    k: int, alpha: int, f: int, self_sampling: bool
) -> None:
    """Every n up to 101 and every 45th beyond, odd and even in turn; the slow suite has them all."""
    assert_exact([*range(1, 102), *range(111, 502, 45), 501], k, alpha, f, self_sampling)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
@pytest.mark.parametrize(("k", "alpha", "f", "self_sampling"), EXACT)
def test_absorption_equals_exact_rationals_for_every_n_up_to_501(
    k: int, alpha: int, f: int, self_sampling: bool, block: int
) -> None:
    assert_exact([*range(1 + block, 502, 4)], k, alpha, f, self_sampling)


def assert_exact(sizes: list[int], k: int, alpha: int, f: int, self_sampling: bool) -> None:
    first = max(k if self_sampling else k + 1, f + 1)
    smallest = 0.0
    for n in (n for n in sizes if n >= first):
        chain = quiet_chain(n, k, alpha, byzantine=f, self_sampling=self_sampling)
        log_blue, log_red = exact_absorption(n, k, alpha, f, self_sampling)
        smallest = min(smallest, assert_close_logs(chain.log_blue, log_blue))
        smallest = min(smallest, assert_close_logs(chain.log_red, log_red))
    if k >= 10:  # the sweep really went below the smallest double
        assert smallest < math.log(1e-300)


@pytest.mark.parametrize("self_sampling", [True, False])
@pytest.mark.parametrize("f", [0, 1, 2])
@pytest.mark.parametrize("honest", [3, 4, 5])
def test_absorption_equals_brute_force_over_all_colourings_and_samples(
    honest: int, f: int, self_sampling: bool
) -> None:
    n = honest + f
    for k in range(1, n + 1 if self_sampling else n):
        for alpha in range(k // 2 + 1, k + 1):
            chain = quiet_chain(n, k, alpha, byzantine=f, self_sampling=self_sampling)
            for state, (blue, red) in oracle.brute_force_blue([alpha] * honest, k, f, self_sampling).items():
                assert chain.blue[sum(state)] == pytest.approx(float(blue), rel=1e-12, abs=0)
                assert chain.red[sum(state)] == pytest.approx(float(red), rel=1e-12, abs=0)


@given(chains(most=40))
def test_rates_equal_exact_fractions(chain: SlushChain) -> None:
    birth, death = oracle.rates(chain.n, chain.k, chain.alpha, chain.byzantine, draws_itself(chain))
    unit = math.comb(chain.n if draws_itself(chain) else chain.n - 1, chain.k)
    assert chain.birth == pytest.approx([float(Fraction(x, unit)) for x in birth], rel=1e-12, abs=0)
    assert chain.death[:-1] == pytest.approx([float(Fraction(x, unit)) for x in death[:-1]], rel=1e-12, abs=0)
    assert chain.death[-1] == 0


def test_large_k_is_built_in_blocks() -> None:
    chain = SlushChain(2001, 1500, 751)
    for b in (751, 1000, 1200):
        exact = oracle.log_ratio(oracle.tail(2001, b, 1500, 751), math.comb(2001, 1500)) + math.log(2001 - b)
        assert chain.birth[b] == pytest.approx(math.exp(exact), rel=1e-9)


def test_frozen_states_end_in_neither_colour() -> None:
    chain = SlushChain(7, 7, 6)  # 2..5 of 7: neither colour can show six answers
    assert chain.blue.tolist() == [0, 0, 0, 0, 0, 0, 1, 1]
    assert chain.red.tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    assert np.isinf(chain.expected_steps()).tolist() == [False, False, True, True, True, True, False, False]


def test_without_byzantine_the_chain_is_symmetric_to_the_last_bit() -> None:
    chain = SlushChain(1001, 20, 13)
    assert np.array_equal(chain.log_red, chain.log_blue[::-1])


def transition_matrix(chain: SlushChain) -> list[list[Fraction]]:
    """The real process, all-blue included, in fractions."""
    birth, death = oracle.rates(chain.n, chain.k, chain.alpha, chain.byzantine, draws_itself(chain))
    unit = math.comb(chain.n if draws_itself(chain) else chain.n - 1, chain.k) * chain.honest
    c = chain.honest
    matrix = [[Fraction(0)] * (c + 1) for _ in range(c + 1)]
    for b in range(c + 1):
        if b < c:
            matrix[b][b + 1] = Fraction(birth[b], unit)
        if b:
            matrix[b][b - 1] = Fraction(death[b], unit)
        matrix[b][b] = 1 - sum(matrix[b], Fraction(0))
    return matrix


@given(chains(most=9), st.integers(0, 60))
def test_distribution_equals_exact_matrix_powers(chain: SlushChain, steps: int) -> None:
    matrix = transition_matrix(chain)
    c = chain.honest
    power = [[Fraction(int(i == j)) for j in range(c + 1)] for i in range(c + 1)]
    for _ in range(steps):
        power = [
            [sum((power[i][m] * matrix[m][j] for m in range(c + 1)), Fraction(0)) for j in range(c + 1)]
            for i in range(c + 1)
        ]
    for b in range(c + 1):
        law = chain.distribution(b, steps)
        assert law == pytest.approx([float(x) for x in power[b]], rel=1e-10, abs=1e-14)
    assert chain.blue_after(steps) == pytest.approx([float(row[c]) for row in power], rel=1e-10, abs=1e-14)
    assert chain.red_after(steps) == pytest.approx([float(row[0]) for row in power], rel=1e-10, abs=1e-14)
    interior = [float(sum(row[1:c], Fraction(0))) if c > 1 else 0.0 for row in power]
    assert chain.open_after(steps) == pytest.approx(interior, rel=1e-10, abs=1e-300)


@given(chains(most=9), st.integers(0, 40), st.data())
def test_accuracy_after_steps_equals_exact_matrix_powers(
    chain: SlushChain, steps: int, data: st.DataObject
) -> None:
    c = chain.honest
    p = data.draw(st.lists(st.fractions(0, 1, max_denominator=20), min_size=c, max_size=c))
    law = oracle.poisson_binomial(p)
    matrix = transition_matrix(chain)
    for _ in range(steps):
        law = [sum((law[m] * matrix[m][j] for m in range(c + 1)), Fraction(0)) for j in range(c + 1)]
    truth = sum((law[b] for b in range(c + 1) if 2 * b > c), Fraction(0))
    truth += sum((law[b] / 2 for b in range(c + 1) if 2 * b == c), Fraction(0))
    ours = chain.accuracy([float(x) for x in p], steps=steps)
    assert ours == pytest.approx(float(truth), rel=1e-10, abs=1e-14)


def test_no_probability_is_lost_in_a_million_million_steps() -> None:
    # All-blue is left about once in 1e12 steps here; the rest of the law has to be there still.
    chain = quiet_chain(101, 20, 11, byzantine=11)
    for steps in (10**6, 10**12, 10**18):
        law = chain.distribution(90, steps)
        assert law.sum() == pytest.approx(1.0, abs=1e-12)
        total = chain.blue_after(steps) + chain.red_after(steps) + chain.open_after(steps)
        assert total == pytest.approx(np.ones(91), abs=1e-12)


def test_all_blue_is_left_at_the_exact_rate() -> None:
    # Two states only (one honest participant): all-blue is left with chance x, all-red never.
    chain = quiet_chain(5, 3, 3, byzantine=4)
    stay = 1 - Fraction(oracle.tail(5, 4, 3, 3), math.comb(5, 3))
    for steps in (1, 10, 40):
        assert chain.blue_after(steps)[1] == pytest.approx(float(stay**steps), rel=1e-12, abs=1e-300)


def test_expected_steps_beyond_the_largest_double_is_infinite_and_silent() -> None:
    steps = SlushChain(2001, 900, 900).expected_steps()
    assert not np.isnan(steps).any()
    assert steps[1] == pytest.approx(2001 * 2001 / 1101)  # its turn, and not drawing itself
    assert np.isinf(steps[1000])


def test_stepping_and_squaring_agree() -> None:
    chain = SlushChain(301, 10, 6, byzantine=4)
    few, many = 500, 20_000  # the first is stepped, the second squared
    once = chain.distribution(150, many)
    again = chain.distribution(150, few)
    for _ in range(many // few - 1):
        again = chain.distribution(again / again.sum(), few)
    assert once == pytest.approx(again, rel=1e-8, abs=1e-13)


@given(chains(most=10))
def test_expected_steps_equals_the_solution_of_its_equations(chain: SlushChain) -> None:
    matrix = transition_matrix(chain)  # its last row, out of all-blue, is not used
    c = chain.honest
    inner = [b for b in range(1, c) if matrix[b][b] != 1]
    steps = chain.expected_steps()
    # Gauss over the fractions: (I - Q) h = 1 on the states that move.
    rows = [[Fraction(int(i == j)) - matrix[i][j] for j in inner] + [Fraction(1)] for i in inner]
    for i in range(len(rows)):
        pivot = rows[i][i]
        rows[i] = [x / pivot for x in rows[i]]
        for r in range(len(rows)):
            if r != i:
                factor = rows[r][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    for b, row in zip(inner, rows, strict=True):
        assert steps[b] == pytest.approx(float(row[-1]), rel=1e-11)
    assert steps[0] == steps[c] == 0
    assert all(math.isinf(steps[b]) for b in range(1, c) if b not in inner)


def test_expected_steps_of_the_voter_model_has_its_closed_form() -> None:
    # k = alpha = 1 among the others: b leaves at rate 2 b (n-b) / (n-1); the classical answer from b is
    # (n-1) [(n-b) sum_{i<=b} 1/(n-i) + b sum_{b<i<n} 1/i] steps.
    n = 50
    steps = SlushChain(n, 1, 1, sampling=Others()).expected_steps()
    for b in range(1, n):
        exact = (n - 1) * (
            (n - b) * sum(Fraction(1, n - i) for i in range(1, b + 1))
            + b * sum(Fraction(1, i) for i in range(b + 1, n))
        )
        assert steps[b] == pytest.approx(float(exact), rel=1e-12)


@given(chains(most=14), st.data())
def test_accuracy_equals_exact_sums(chain: SlushChain, data: st.DataObject) -> None:
    c = chain.honest
    p = data.draw(st.lists(st.fractions(0, 1, max_denominator=50), min_size=c, max_size=c))
    log_blue, _ = exact_absorption(chain.n, chain.k, chain.alpha, chain.byzantine, draws_itself(chain))
    law = oracle.poisson_binomial(p)
    truth = math.fsum(float(chance) * math.exp(log) for chance, log in zip(law, log_blue, strict=True))
    assert chain.accuracy([float(x) for x in p]) == pytest.approx(truth, rel=1e-10, abs=1e-300)
    same = [p[0]] * c
    homogeneous = chain.accuracy([float(x) for x in same])
    assert chain.accuracy(float(p[0])) == pytest.approx(homogeneous, rel=1e-10, abs=1e-300)


def test_finite_horizon_tends_to_the_limit_and_50_rounds_per_node_can_be_too_few() -> None:
    for alpha, most_open in ((6, 1e-13), (9, 0.04)):
        chain = SlushChain(101, 10, alpha)
        horizon = 50 * chain.honest
        worst = chain.open_after(horizon).max()
        assert worst < most_open
        assert chain.accuracy(0.6, steps=100 * horizon) == pytest.approx(chain.accuracy(0.6), abs=1e-9)
    assert worst > 0.03
    assert chain.accuracy(0.6, steps=0) == pytest.approx(
        math.fsum(math.comb(101, b) * 0.6**b * 0.4 ** (101 - b) for b in range(51, 102)), rel=1e-12
    )


def test_f_at_least_alpha_warns_and_follows_the_paper_only_in_the_limit() -> None:
    with pytest.warns(ByzantineThresholdWarning, match="6 Byzantine participants reach alpha = 6"):
        chain = SlushChain(31, 10, 6, byzantine=6)
    assert chain.death[-1] == 0
    assert chain.blue[-1] == 1
    left = chain.distribution(chain.honest, 1)  # the real process leaves all-blue again
    exact = Fraction(oracle.tail(31, 6, 10, 6), math.comb(31, 10))
    assert left[-2] == pytest.approx(float(exact), rel=1e-12)


def test_arrays_cannot_be_overwritten() -> None:
    chain = SlushChain(11, 3, 2)
    for name in ("birth", "death", "blue", "red", "log_blue", "log_red", "log_not_blue"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(chain, name)[0] = 0.5


def test_repr_can_be_typed_back() -> None:
    chain = SlushChain(101, 10, 7, byzantine=5, sampling=Others())
    assert repr(eval(repr(chain))) == repr(chain)  # noqa: S307


@given(queries())
def test_k_and_alpha_are_those_given(query: tuple[int, int]) -> None:
    chain = SlushChain(60, *query)
    assert (chain.k, chain.alpha, chain.n, chain.honest, chain.sampling) == (*query, 60, 60, Everyone())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 10, "k": 11, "alpha": 6}, r"k must satisfy 1 <= k <= n: got k=11, n=10"),
        ({"n": 10, "k": 10, "alpha": 6, "sampling": Others()}, r"1 <= k <= n-1 .*got k=10, n=10"),
        ({"n": 10, "k": 0, "alpha": 1}, r"k >= 1: got k=0"),
        ({"n": 20, "k": 10, "alpha": 5}, r"k/2 < alpha <= k: got alpha=5, k=10"),
        ({"n": 20, "k": 10, "alpha": 11}, r"k/2 < alpha <= k: got alpha=11, k=10"),
        ({"n": 20, "k": 10, "alpha": 6, "byzantine": 20}, r"0 <= byzantine < n: got byzantine=20, n=20"),
        ({"n": 20, "k": 10, "alpha": 6, "byzantine": -1}, r"0 <= byzantine < n: got byzantine=-1, n=20"),
        ({"n": 0, "k": 1, "alpha": 1}, r"n >= 1: got n=0"),
    ],
)
def test_bad_chains_name_the_broken_inequality(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SlushChain(**arguments)


@pytest.mark.parametrize("sampling", [Neighbours(np.ones((5, 5)) - np.eye(5)), Others, None, False])
def test_only_the_two_laws_of_the_complete_graph_have_a_chain(sampling: Any) -> None:
    for build in (
        lambda: SlushChain(5, 3, 2, sampling=sampling),
        lambda: LocalSlushChain([2, 2, 3, 3, 3], 3, sampling=sampling),
        lambda: threshold_accuracy(5, 3, 2, sampling=sampling),
    ):
        with pytest.raises(TypeError, match=r"sampling must be Everyone\(\) or Others\(\): got "):
            build()


@pytest.mark.parametrize("n", [10.0, "10", None, True, math.nan])
def test_numbers_of_participants_are_integers(n: object) -> None:
    with pytest.raises(TypeError, match="n must be an integer"):
        SlushChain(n, 3, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (1.5, r"0 <= p <= 1: got p=1.5"),
        (-0.1, r"0 <= p <= 1: got p=-0.1"),
        (math.nan, r"0 <= p <= 1: got p=nan"),
        ([], "empty"),
        ([0.5] * 10, r"\(n - byzantine = 11\): got 10 values"),
        ([0.5] * 10 + [math.nan], r"got p\[10\]=nan"),
        ([0.5] * 10 + [2.0], r"got p\[10\]=2.0"),
        (np.full((11, 1), 0.5), "one-dimensional"),
    ],
)
def test_bad_accuracies_are_refused(p: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SlushChain(11, 3, 2).accuracy(p)  # type: ignore[arg-type]


@pytest.mark.parametrize("p", [["a"] * 11, None, "half"])
def test_accuracies_that_are_no_numbers(p: object) -> None:
    with pytest.raises(TypeError, match="p must be a number"):
        SlushChain(11, 3, 2).accuracy(p)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start", "steps", "message"),
    [
        (12, 1, "0 <= start <= n - byzantine: got start=12"),
        (-1, 1, "got start=-1"),
        (5, -1, "steps >= 0: got steps=-1"),
        ([1.0, 0.0], 1, r"\(12 values\): got shape \(2,\)"),
        (np.full(12, 0.5), 1, "sum 1"),
        (np.full(12, math.nan), 1, "sum 1"),
    ],
)
def test_bad_starts_are_refused(start: object, steps: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SlushChain(11, 3, 2).distribution(start, steps)  # type: ignore[arg-type]


@pytest.mark.slow
def test_absorption_of_100001_participants_equals_forty_digit_arithmetic() -> None:
    import mpmath

    n, k, alpha = 100_001, 10, 7
    chain = SlushChain(n, k, alpha)
    with mpmath.workdps(40):
        tails = [mpmath.mpf(oracle.tail(n, x, k, alpha)) for x in range(n + 1)]
        weight = mpmath.mpf(1)
        partial = [weight]
        for b in range(alpha, n - alpha + 1):
            weight *= (b * tails[n - b]) / ((n - b) * tails[b])
            partial.append(partial[-1] + weight)
        for b in (alpha, 100, 20_000, 49_900, 50_000, 50_001, 50_100, 80_000, n - alpha):
            blue = partial[b - alpha] / partial[-1]
            truth = float(mpmath.log(blue))
            assert chain.log_blue[b] == pytest.approx(truth, rel=1e-9, abs=1e-18)


@pytest.mark.parametrize(("n", "byzantine"), [(7, 0), (7, 3), (410, 4)])
def test_by_round_is_the_distribution_after_each_round(n: int, byzantine: int) -> None:
    """By dense rounds and, from 300 honest on, in compiled steps; from one law or several."""
    chain = quiet_chain(n, 4, 3, byzantine=byzantine, self_sampling=False)
    honest = n - byzantine
    laws = np.stack([np.eye(honest + 1)[honest // 2], np.full(honest + 1, 1 / (honest + 1))])
    for done, (one, several) in enumerate(
        zip(islice(chain.by_round(honest // 2), 4), chain.by_round(laws), strict=False)
    ):
        expected = chain.distribution(honest // 2, done * honest)
        assert one == pytest.approx(expected, abs=1e-12)
        assert several[0] == pytest.approx(expected, abs=1e-12)
        assert several[1] == pytest.approx(chain.distribution(laws[1], done * honest), abs=1e-12)
