"""Without matplotlib everything works but pictures, and these say what to type."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from folkmoot import compare
from support.command import run


@pytest.fixture(autouse=True)
def no_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def test_a_report_comes_without_pictures_and_says_so(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(120, 2)).round(3)
    lines = [f"{a},{b},{'yes' if a > 0 else 'no'},{i % 4}" for i, (a, b) in enumerate(rows)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,answer,site", *lines]))
    told = run(
        "learn", tmp_path / "table.csv", "--target", "answer", "--group", "site", "--test-rows", "0.3",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert 'no pictures (they need pip install "folkmoot[plots]")' in " ".join(told.stderr.split())
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
    assert not list((tmp_path / "out").glob("*.png"))


def test_a_picture_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match=r'pip install "folkmoot\[plots\]"'):
        compare(np.array([[0, 1], [0, 1], [1, 1]])).plot()
    result = run("theory", "absorption", "--n", "10", "--plot", tmp_path / "picture.png")
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line == 'folkmoot: this needs matplotlib, which is not installed: pip install "folkmoot[plots]"'
