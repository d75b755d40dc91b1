"""Heart disease: the files as the csv module reads them, and a stratified test set."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from folkmoot.datasets import load_heart
from support.shared_data import HEART, needs

HOSPITALS = ["cleveland", "hungarian", "switzerland", "va"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten made patients a hospital, four of them ill."""
    for i, hospital in enumerate(HOSPITALS):
        lines = [f"{30 + i}.0,1,4,{100 + j},?,0,0,150,0,1.5,2,?,7,{j % 5 if j < 5 else 0}" for j in range(10)]
        (tmp_path / f"processed.{hospital}.data").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_values_names_and_missing(folder: Path) -> None:
    data = load_heart(folder, test_size=0)
    assert data.X_test is None
    assert data.y_test is None
    assert data.participants.tolist() == HOSPITALS
    assert data.X.shape == (40, 13)
    assert data.X[10:20, data.feature_names.index("age")].tolist() == [31.0] * 10
    assert np.isnan(data.X[:, data.feature_names.index("chol")]).all()
    assert np.isnan(data.X[:, data.feature_names.index("ca")]).all()
    assert data.X[:10, data.feature_names.index("trestbps")].tolist() == list(range(100, 110))
    assert data.y[data.rows("va")].tolist() == [0, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    assert data.classes[data.y[1]] == "present"


def test_test_set_is_stratified_by_hospital_and_diagnosis(folder: Path) -> None:
    data = load_heart(folder, test_size=0.5, seed=2)
    assert data.y_test is not None
    assert data.groups_test is not None
    tested = Counter(zip(data.groups_test.tolist(), data.y_test.tolist(), strict=True))
    assert tested == {(hospital, d): n for hospital in HOSPITALS for d, n in ((0, 3), (1, 2))}
    assert data.X_test is not None
    ages = Counter(map(tuple, np.nan_to_num(np.vstack([data.X, data.X_test])).tolist()))
    assert ages == Counter(map(tuple, np.nan_to_num(load_heart(folder, test_size=0).X).tolist()))
    assert np.array_equal(data.X, load_heart(folder, test_size=0.5, seed=2).X, equal_nan=True)
    assert not np.array_equal(data.X, load_heart(folder, test_size=0.5, seed=3).X, equal_nan=True)


@needs(HEART)
def test_the_published_files() -> None:
    data = load_heart(HEART, test_size=0)
    for hospital, patients in zip(HOSPITALS, (303, 294, 123, 200), strict=True):
        with (HEART / f"processed.{hospital}.data").open() as file:
            rows = list(csv.reader(file))
        mine = data.rows(hospital)
        assert len(rows) == len(mine) == patients
        assert data.y[mine].tolist() == [int(row[13] != "0") for row in rows]
        theirs = [["nan" if value == "?" else str(float(value)) for value in row[:13]] for row in rows]
        assert [list(map(str, row)) for row in data.X[mine].tolist()] == theirs
    split = load_heart(HEART)
    assert split.X_test is not None
    assert len(split.X) + len(split.X_test) == 920
    assert len(split.X_test) == pytest.approx(0.3 * 920, abs=4)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "processed.va.data").unlink()
    with pytest.raises(FileNotFoundError, match=r"processed\.va\.data must hold the patients of a hospital"):
        load_heart(folder)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1,2,3", r"processed\.hungarian\.data, line 11: must have 14 columns: got 3"),
        ("x" + ",0" * 13, r"line 11: must hold numbers or \?: could not convert string to float: 'x'"),
        ("1" + ",0" * 12 + ",5", "line 11: the diagnosis must be 0 to 4: got 5"),
        ("1" + ",0" * 12 + ",?", r"line 11: the diagnosis must be 0 to 4: got \?"),
    ],
)
def test_a_bad_line_is_named(folder: Path, line: str, message: str) -> None:
    with (folder / "processed.hungarian.data").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match=message):
        load_heart(folder)


def test_bad_arguments_are_named(folder: Path) -> None:
    with pytest.raises(ValueError, match="test_size must satisfy 0 <= test_size < 1: got test_size=1"):
        load_heart(folder, test_size=1)
    (folder / "processed.va.data").write_text("")
    with pytest.raises(ValueError, match=r"processed\.va\.data: must hold at least one patient"):
        load_heart(folder)
