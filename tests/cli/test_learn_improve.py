"""``folkmoot learn --improve POOL.csv``: models fitted again to rows that nobody has labelled."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

from folkmoot.runs.learned import read_moot
from support.command import assert_refused, run, run_json


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wines of eight cellars with eight labelled bottles each, and 100 bottles that nobody has labelled."""
    folder = tmp_path_factory.mktemp("wine")
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    header = [f"f{i}" for i in range(X.shape[1])]
    with (folder / "table.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*header, "cellar", "kind"])
        for place, row in enumerate(order[:64]):
            writer.writerow([*X[row], f"c{place % 8}", f"k{y[row]}"])
    for name, columns in (("pool.csv", header), ("narrow.csv", header[:4]), ("empty.csv", header)):
        with (folder / name).open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            if name != "empty.csv":
                writer.writerows(X[order[64:164], : len(columns)])
    return folder


def learn(files: Path, *options: object) -> tuple[Any, ...]:
    table = ("learn", files / "table.csv", "--target", "kind", "--group", "cellar", "--model", "bayes")
    return (*table, "--test-rows", 0.25, "--malicious", 0, "--overwrite", *options)


def numbers(files: Path, *options: object) -> tuple[Any, ...]:
    table = ("learn", files / "table.csv", "--target", "f12", "--group", "cellar", "--drop", "kind")
    how = ("--answers", "numbers", "--model", "tree", "--test-rows", 0.25, "--malicious", 0, "--overwrite")
    believed = ("--believe", "trimmed-mean")
    return (*table, *how, *believed, "--improve", files / "pool.csv", *options)


def test_models_are_fitted_again_and_saved_and_no_row_is(files: Path) -> None:
    out = files / "out"
    asked = learn(files, "--out", out, "--improve", files / "pool.csv")
    found = run_json(*asked)
    gained = found["improvement"]
    assert gained["inputs"] == 100
    assert gained["mean"]["after"] > gained["mean"]["before"]
    assert len(gained["participants"]) == 8
    assert all(each["shown"] == 3 and each["rows"] == 6 for each in gained["participants"])
    moot: Any = read_moot(out / "moot.skops").moot
    assert all(person.rows == 106 for person in moot.participants_ if person.name not in gained["refused"])
    with pytest.raises(ValueError, match="rows are not kept in copies, pickles or files of a moot"):
        moot.improve(np.zeros((3, 13)))


def test_what_it_prints(files: Path) -> None:
    result = run(*learn(files, "--out", files / "shown", "--improve", files / "pool.csv"))
    assert "Models fitted again to 100 rows whose labels they agreed on." in result.stdout
    assert "Each showed at most 3 of its labelled inputs, and no label." in result.stdout


def test_models_of_numbers_are_fitted_again_and_saved(files: Path) -> None:
    out = files / "numbers"
    result = run(*numbers(files, "--out", out))
    assert "Models fitted again to 100 rows whose numbers they agreed on. Root mean squared" in result.stdout
    gained = json.loads((out / "results.json").read_text())["improvement"]
    assert gained["mean"]["after"] < gained["mean"]["before"]
    assert gained["worst"]["after"] >= gained["mean"]["after"]  # the worst is the one furthest off
    moot: Any = read_moot(out / "moot.skops").moot
    assert [person.rows for person in moot.participants_] == [106] * 8


def test_what_is_refused(files: Path) -> None:
    out = ("--out", files / "bad")
    assert_refused("No such file", *learn(files, *out, "--improve", files / "none.csv"))
    assert_refused("is a folder", *learn(files, *out, "--improve", files))
    assert_refused("narrow.csv", *learn(files, *out, "--improve", files / "narrow.csv"))
    assert_refused("empty.csv", *learn(files, *out, "--improve", files / "empty.csv"))
    assert_refused("narrow.csv", *numbers(files, *out, "--improve", files / "narrow.csv"))
    assert not (files / "bad" / "moot.skops").exists()
