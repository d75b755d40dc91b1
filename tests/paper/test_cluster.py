"""Experiments on a real local Ray cluster find what processes here find."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import run

pytestmark = pytest.mark.slow


def test_experiments_on_a_cluster(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason='pip install "folkmoot[ray]"')
    here = run("reproduce", "thresholds", "--quick", "--out", tmp_path / "here")
    assert here.returncode == 0
    there = run(
        "reproduce", "thresholds", "--quick", "--out", tmp_path / "there", "--ray", "local", "--jobs", 2
    )
    assert there.returncode == 0, there.stderr
    one, two = ((tmp_path / where / "thresholds.json").read_text() for where in ("here", "there"))
    assert one == two
