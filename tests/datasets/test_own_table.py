"""A user's own table is the same data in every format that it may come in."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from folkmoot.datasets import read_table


@pytest.fixture
def patients() -> pd.DataFrame:
    """Numbers with a few missing, words, and rows of five clinics."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, 60).round(3),
            "beats": rng.integers(50, 100, 60),
            "town": rng.choice(["ely", "york", "bath, spa"], 60),
            "clinic": rng.integers(8, 13, 60),
            "ill": rng.choice(["yes", "no"], 60),
        }
    )
    frame.loc[[3, 17], "age"] = np.nan
    return frame


def written(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".parquet":
        frame.assign(town=frame["town"].astype("category")).to_parquet(path)
    elif path.name == "excel.csv":
        frame.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig", lineterminator="\r\n")
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(frame.to_csv(None, index=False).encode()))
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("name", ["plain.csv", "excel.csv", "t.tsv", "t.csv.gz", "t.parquet"])
def test_every_format_is_the_same_data(patients: pd.DataFrame, tmp_path: Path, name: str) -> None:
    data = read_table(written(patients, tmp_path / name), "ill", "clinic", test_groups=0.2, seed=1)
    assert data.feature_names == ("age", "beats", "town")
    assert data.categorical == (2,)
    assert data.X_test is not None
    assert data.y_test is not None
    assert data.groups_test is not None
    tested = set(data.groups_test.tolist())
    assert len(tested) == 1
    place = {word: i for i, word in enumerate(sorted(set(patients["town"])))}
    for X, y, groups, rows in (
        (data.X, data.y, data.groups, patients[~patients["clinic"].isin(tested)]),
        (data.X_test, data.y_test, data.groups_test, patients[patients["clinic"].isin(tested)]),
    ):
        expected = rows.assign(town=rows["town"].map(place))[["age", "beats", "town"]].to_numpy(float)
        np.testing.assert_array_equal(X, expected)
        assert data.classes[y].tolist() == rows["ill"].tolist()
        assert groups.tolist() == rows["clinic"].tolist()


def test_training_and_test_rows_may_be_written_differently(patients: pd.DataFrame, tmp_path: Path) -> None:
    grades = patients.assign(ill=np.where(patients["ill"] == "yes", 1.5, 0.0))  # a class of numbers
    train = written(grades.iloc[:40], tmp_path / "excel.csv")  # says 1,5
    test = written(grades.iloc[40:], tmp_path / "plain.csv")  # says 1.5
    data = read_table(train, "ill", "clinic", test=test)
    assert data.classes.tolist() == ["0,0", "1,5"]
    assert data.y_test is not None
    assert data.y_test.tolist() == (grades["ill"].iloc[40:] == 1.5).astype(int).tolist()
    assert data.X_test is not None
    np.testing.assert_array_equal(data.X_test[:, 0], grades["age"].iloc[40:])


@pytest.mark.parametrize(
    ("values", "numeric"),
    [
        (list(range(10)), False),  # digits
        (list(range(1, 7)), False),  # grades: at most 20
        (list(range(27, 74)), True),  # 47 scores, which no class is numbered by
        (list(range(62)), False),  # 62 characters, numbered from 0
        (list(range(1, 48)), False),
        ([0.5 * i for i in range(30)], True),
        ([*range(30), 99], True),  # a gap
        (list(range(70)), True),  # more than the root of 4,000
        (["a", *map(str, range(40))], False),
    ],
    ids=["digits", "grades", "scores", "from 0", "from 1", "halves", "gap", "many", "words"],
)
def test_a_column_is_numbers_if_no_class_would_be_named_so(
    tmp_path: Path, values: list[Any], numeric: bool
) -> None:
    rows = 4000
    frame = pd.DataFrame({"site": np.arange(rows) % 5, "a": np.arange(rows) % 13, "b": np.arange(rows) % 7})
    frame["target"] = [values[i % len(values)] for i in range(rows)]
    frame.to_csv(tmp_path / "table.csv", index=False)
    assert read_table(tmp_path / "table.csv", target="target", group="site").numeric == numeric
