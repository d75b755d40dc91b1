"""Past performance in a file of ``folkmoot chain record --weights``: what the votes of addresses weigh."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from folkmoot.durable import replace_file
from folkmoot.wallets import checksummed


def write_weight_file(path: Path, weights: Mapping[str, float], **about: object) -> None:
    """Write weights by address, and where they come from."""
    replace_file(path, (json.dumps({**about, "weights": dict(weights)}, indent=1) + "\n").encode())


def read_weight_file(path: Path) -> dict[str, float]:
    """Weights by address, with checksums; ValueError for any other file."""
    try:
        stored = json.loads(path.read_bytes())["weights"]
        found = {checksummed(who): float(weight) for who, weight in stored.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        found = {}
    if not found or not all(math.isfinite(weight) and weight >= 0 for weight in found.values()):
        raise ValueError(f"{path} must be a file that folkmoot chain record --weights wrote")
    return found
