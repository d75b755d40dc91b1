"""Every example runs as its first lines say, and draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import matplotlib.image
import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    result = subprocess.run(
        [sys.executable, str(example), str(picture)], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout
    assert matplotlib.image.imread(picture).std() > 0.03
