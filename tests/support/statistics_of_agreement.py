"""How two executions are held to the same probabilities: fixed seeds, stated bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import chisquare

Z_BOUND = 4.5  # a right program fails a test with probability 7e-6; seeds are fixed, so it never does
P_BOUND = 1e-5


def assert_rate(successes: int, trials: int, chance: float) -> None:
    """The share of successes is the chance, within ``Z_BOUND`` standard errors."""
    error = np.sqrt(max(chance * (1 - chance), 1e-12) / trials)
    z = (successes / trials - chance) / error
    assert abs(z) < Z_BOUND, f"z = {z:.2f}: {successes} of {trials}, expected {chance:.6f}"


def assert_mean(values: np.ndarray[Any, np.dtype[np.float64]], expected: float) -> None:
    """The mean of independent values, within ``Z_BOUND`` of their own standard error."""
    error = values.std(ddof=1) / np.sqrt(values.size)
    z = (values.mean() - expected) / max(float(error), 1e-12)
    assert abs(z) < Z_BOUND, f"z = {z:.2f}: mean {values.mean():.6f}, expected {expected:.6f}"


def assert_law(observed: Mapping[Any, int], expected: Mapping[Any, float]) -> None:
    """Counts follow the law: chi-square over the cells that expect five or more, the rest pooled."""
    trials = sum(observed.values())
    impossible = {cell for cell in observed if expected.get(cell, 0) == 0}
    assert not impossible, f"seen but impossible: {sorted(impossible)[:5]}"
    large = [cell for cell, chance in expected.items() if chance * trials >= 5]
    seen = [observed.get(cell, 0) for cell in large]
    wanted = [expected[cell] * trials for cell in large]
    rest = trials - sum(wanted)
    if rest > 1e-6 * trials:
        seen.append(trials - sum(seen))
        wanted.append(rest)
    else:
        assert trials == sum(seen)
    if len(seen) > 1:
        p = float(chisquare(seen, np.array(wanted) * (sum(seen) / sum(wanted))).pvalue)
        assert p > P_BOUND, f"p = {p:.2e} over {len(seen)} cells, {trials} trials"


def counted(values: np.ndarray[Any, np.dtype[Any]]) -> dict[Any, int]:
    """How often each row (or number) occurs."""
    rows, counts = np.unique(values, axis=0, return_counts=True)
    keys = (tuple(row.tolist()) if np.ndim(row) else int(row) for row in rows)
    return dict(zip(keys, counts.tolist(), strict=True))
