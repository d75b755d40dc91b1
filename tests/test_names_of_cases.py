"""Every process collects the same tests under the same names: pytest-xdist refuses to start otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def collected(seed: int) -> list[str]:
    """The names of all tests; long values in names stay whole, as older versions of pytest have them."""
    whole = ("-m", "", "-o", "parametrize_long_str_id_strategy=legacy")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *whole],
        cwd=Path(__file__).parents[1],
        env=os.environ | {"PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert result.returncode == 0, result.stdout[-2000:]
    return [line for line in result.stdout.splitlines() if "::" in line]


@pytest.mark.slow
def test_two_processes_collect_the_same() -> None:
    first = collected(1)
    assert len(first) > 1000
    assert collected(2) == first
