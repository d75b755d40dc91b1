"""Checks of arguments that loaders and splitters share, in the form of ``folkmoot.checks``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from folkmoot import checks
from folkmoot.arrays import Array


def number(name: str, value: object) -> float:
    """``value`` as a float."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number: got {name}={value!r}") from None


def column(name: str, values: npt.ArrayLike) -> Array:
    """One value per row, and at least one row."""
    result = np.asarray(values)
    if result.ndim != 1 or result.size == 0:
        raise ValueError(f"{name} must be one value per row: got an array of shape {result.shape}")
    return result


def generator(seed: object) -> np.random.Generator:
    """Random numbers of this seed."""
    return np.random.default_rng(checks.integer("seed", seed, least=0))
