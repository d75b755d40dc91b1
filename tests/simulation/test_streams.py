from __future__ import annotations

import numpy as np
from numba import njit
from scipy.stats import chisquare, kstest

from folkmoot.simulation.kernels.streams import below, mix, stream


@njit
def draw(seed: int, repetition: int, index: int, purpose: int, count: int, n: int):  # type: ignore[no-untyped-def]
    numbers = np.empty(count, np.int64)
    words = np.empty(count, np.uint64)
    word, step = stream(seed, repetition, index, purpose)
    for i in range(count):
        word += step
        number, rest = below(mix(word), np.uint64(n))
        numbers[i] = number
        words[i] = rest
    return numbers, words


def test_below_is_the_wide_product() -> None:
    @njit
    def halves(word: int, n: int):  # type: ignore[no-untyped-def]
        return below(np.uint64(word), np.uint64(n))

    rng = np.random.default_rng(0)
    for word in rng.integers(0, 2**64, 200, dtype=np.uint64).tolist():
        for n in (1, 2, 101, 2**31 - 1, 2**40):
            assert halves(np.uint64(word), n) == divmod(word * n, 2**64)


def test_numbers_are_uniform_and_the_rest_is_uniform_given_them() -> None:
    numbers, words = draw(1, 0, 5, 0, 200_000, 101)
    assert chisquare(np.bincount(numbers, minlength=101)).pvalue > 1e-4
    assert kstest(words / 2.0**64, "uniform").pvalue > 1e-4
    for which in (0, 50, 100):
        assert kstest(words[numbers == which] / 2.0**64, "uniform").pvalue > 1e-4


def test_streams_of_different_keys_do_not_resemble_each_other() -> None:
    keys = [(s, r, i, p) for s in (0, 1) for r in (0, 1) for i in (-1, 0, 1, 2) for p in (0, 1, 2, 3)]
    drawn = np.array([draw(*key, 4000, 2)[0] for key in keys])
    correlation = np.corrcoef(drawn)
    np.fill_diagonal(correlation, 0)
    assert np.abs(correlation).max() < 5 / np.sqrt(4000)  # 2016 pairs
