"""Every example runs as its first lines say, and draws."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from support.command import run_script
from support.femnist_samples import make_rows, write_parquet

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))


# Ten seconds and more of processor time; the site, built in the slow suite, has all of them.
LONG = {"plot_crowd", "plot_peer_review", "plot_variance"}


def _marked(path: Path) -> object:
    marks = [pytest.mark.slow] if path.stem in LONG else []
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.parametrize("example", [_marked(path) for path in EXAMPLES])
def test_example(example: Path, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    result = run_script(example, picture, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout
    assert matplotlib.image.imread(picture).std() > 0.03


def run_example(name: str, *arguments: object) -> str:
    result = run_script(Path(__file__).parents[1] / "examples" / name, *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_heart_disease(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for hospital in ("cleveland", "hungarian", "switzerland", "va"):
        rows = np.round(rng.normal(size=(40, 14)), 2)
        rows[:, 13] = rows[:, 0] > 0
        text = "\n".join(",".join("?" if value > 2 else str(value) for value in row) for row in rows.tolist())
        (tmp_path / f"processed.{hospital}.data").write_text(text)
    said = run_example("heart_disease.py", tmp_path)
    assert said.count("4 participants, 48 inputs, 2 classes; Council, Plurality") == 2
    assert said.count("\nconsensus  ") == 2


@pytest.mark.slow
def test_femnist_letters(tmp_path: Path) -> None:
    rows = make_rows([f"writer {i:02}" for i in range(15)], each=24)
    write_parquet(tmp_path / "train.parquet", rows)
    letters = sum(row.label >= 10 for row in rows) // 15
    said = run_example("femnist_letters.py", tmp_path, 12, 3)
    assert f"12 participants, {3 * letters} inputs, 2 classes; Slush, k=10, local alpha" in said


def test_models_of_other_libraries() -> None:
    pytest.importorskip("xgboost", reason='pip install "folkmoot[boost]"')
    said = run_example("xgboost_models.py")
    assert "3 participants" in said
    assert "\nconsensus  " in said
