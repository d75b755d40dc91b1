"""Numbers on a grid, as whole multiples of its step: their trimmed mean and their median."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from folkmoot.arrays import Bools, Ints

# Twice the sum over the largest moot stays within 64 bits.
MOST: Final = 1 << 48


def trimmed_mean(numbers: Ints, there: Bools, *, liars: int) -> tuple[Ints, Bools]:
    """The mean of each input without the lowest and highest ``liars`` numbers, rounded to the grid.

    ``numbers`` and ``there`` are (member, input). Halves are rounded up. Also says which inputs have an
    answer: those with more than 2 ``liars`` numbers.
    """
    _check(numbers)
    return _combined(numbers, there, lambda column: _rounded(column[liars : len(column) - liars]), 2 * liars)


def median(numbers: Ints, there: Bools, *, liars: int) -> tuple[Ints, Bools]:
    """The median of each input, halves rounded up; there must be more than 2 ``liars`` numbers."""
    _check(numbers)
    return _combined(numbers, there, _middle, 2 * liars)


def _check(numbers: Ints) -> None:
    if numbers.size and max(-int(numbers.min()), int(numbers.max())) > MOST:
        raise ValueError(f"numbers must be within -{MOST}..{MOST} steps of the grid: got others")


def _combined(
    numbers: Ints, there: Bools, rule: Callable[[list[int]], int], more_than: int
) -> tuple[Ints, Bools]:
    answers = np.zeros(numbers.shape[1], dtype=np.int64)
    able = there.sum(axis=0) > more_than
    for i in np.flatnonzero(able).tolist():
        answers[i] = rule(sorted(numbers[there[:, i], i].tolist()))
    return answers, able


def _middle(ordered: list[int]) -> int:
    """The one in the middle, or the mean of both."""
    return _rounded(ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1])


def _rounded(kept: list[int]) -> int:
    """The mean of whole numbers, halves rounded up."""
    return (2 * sum(kept) + len(kept)) // (2 * len(kept))
