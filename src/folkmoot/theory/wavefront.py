"""Gauss-Seidel passes over the states of ``LocalSlushChain`` on several threads: as on one, to the bit.

That is on one machine; another kind of processor may give other last bits.

A pass goes through the states in order and reads a state's neighbours: one more or one fewer blue in a group.
Blocks of states that share their first two digits (a, b) are neighbours only if a or b differs by one. So
those with the same a + b do not touch each other. They are shared out; one diagonal follows the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import numpy as np

from folkmoot.arrays import Floats, Ints
from folkmoot.machine import cores

# Chains with fewer states finish before threads start.
_WORTH_THREADS = 200_000


class Passes:
    """Passes over the states of a chain; ``sizes``, ``strides`` and ``rates`` as the kernels have them."""

    def __init__(
        self, sizes: Ints, strides: Ints, rates: Floats, pool: ThreadPoolExecutor | None, threads: int
    ) -> None:
        self._tables = sizes, strides, rates
        self._pool, self._threads = pool, threads
        lines = int(np.prod(sizes[:-1] + 1))
        if pool is None:
            self._block, self._diagonals = lines, [np.zeros(1, dtype=np.int64)]
        else:
            wide, deep = int(sizes[0]) + 1, int(sizes[1]) + 1
            self._block = lines // (wide * deep)
            where = np.add.outer(np.arange(wide), np.arange(deep)).reshape(-1)
            self._diagonals = [np.flatnonzero(where == s) * self._block for s in range(wide + deep - 1)]

    def __call__(self, h: Floats, *, forward: bool, update: bool) -> float:
        """One pass; returns the largest change, nan if one left the range of double precision."""
        from folkmoot.theory import local_kernels

        worst = []
        for lines in self._diagonals if forward else reversed(self._diagonals):
            play = partial(local_kernels.sweep, h, *self._tables)
            rest = []
            if self._pool is not None:
                shares = [lines[start :: self._threads] for start in range(min(self._threads, lines.size))]
                lines, *others = shares
                rest = [self._pool.submit(play, other, self._block, forward, update) for other in others]
            worst.append(play(lines, self._block, forward, update))
            worst.extend(each.result() for each in rest)
        return float(np.max(worst))  # nan if any is, unlike max()


@contextmanager
def passes(sizes: Ints, strides: Ints, rates: Floats) -> Iterator[Passes]:
    """Passes on as many threads as there are cores, where the chain is large enough to be worth them."""
    threads = cores()
    if sizes.size < 3 or threads == 1 or np.prod(sizes + 1) < _WORTH_THREADS:
        yield Passes(sizes, strides, rates, None, 1)
        return
    with ThreadPoolExecutor(threads - 1) as pool:
        yield Passes(sizes, strides, rates, pool, threads)
