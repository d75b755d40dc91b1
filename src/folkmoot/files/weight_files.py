"""Weights files: what the answers of participants weigh, as JSON that any program may write."""

from __future__ import annotations

import json
import math
from pathlib import Path


def read_weight_file(path: Path) -> dict[str, float]:
    """Weights by participant; ValueError for any other file."""
    try:
        stored = json.loads(path.read_bytes())["weights"]
        found = {who: _weight(weight) for who, weight in stored.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        found = {}
    if not found:
        raise ValueError(
            f'{path} must be a weights file such as {{"weights": {{"a8b8cd72...": 7}}}}, '
            "with a finite number that is not negative for each participant"
        )
    return found


def _weight(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    if not (math.isfinite(value) and value >= 0):
        raise ValueError
    return float(value)
