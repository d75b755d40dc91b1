"""FEMNIST from files made here with known pixels, in both formats, and from real ones where at hand."""

from __future__ import annotations

import string
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from folkmoot.datasets import load_femnist
from folkmoot.datasets.moot_data import MootData
from support.femnist_samples import Row, make_rows, write_leaf, write_parquet
from support.shared_data import FEMNIST, needs

WRITERS = [f"f{i:04d}_{i % 40:02d}" for i in range(9)]

Write = Callable[[Path, list[Row]], Path]
FORMATS = pytest.mark.parametrize(
    ("write", "name"), [(write_parquet, "a.parquet"), (write_leaf, "a.json")], ids=["parquet", "leaf"]
)


def assert_holds(data: MootData, rows: list[Row]) -> None:
    """``data`` has exactly these rows, writer by writer and in order, with ink 1 and paper 0."""
    expected = [row for writer in sorted({r.writer for r in rows}) for row in rows if row.writer == writer]
    assert data.groups.tolist() == [row.writer for row in expected]
    assert data.X.dtype == np.float32
    ink = np.array([1 - row.gray.ravel() / 255 for row in expected])
    assert np.abs(data.X - ink).max() < 1e-6


@FORMATS
def test_images_labels_and_writers(write: Write, name: str, tmp_path: Path) -> None:
    rows = make_rows(reversed(WRITERS))
    data = load_femnist(write(tmp_path / name, rows), task="characters")
    assert_holds(data, rows)
    assert data.y.tolist() == [row.label for row in sorted(rows, key=lambda row: row.writer)]
    assert "".join(data.classes) == string.digits + string.ascii_uppercase + string.ascii_lowercase
    assert len(data.feature_names) == 784
    assert data.X_test is None


@FORMATS
def test_tasks(write: Write, name: str, tmp_path: Path) -> None:
    rows = make_rows(WRITERS)
    path = write(tmp_path / name, rows)
    letters = [row for row in rows if row.label >= 10]
    case, names = load_femnist(path), load_femnist(path, task="letters")
    assert_holds(case, letters)
    assert_holds(names, letters)
    alphabet = string.digits + string.ascii_uppercase + string.ascii_lowercase
    assert names.classes[names.y].tolist() == [alphabet[row.label] for row in letters]
    assert case.y.tolist() == [int(alphabet[row.label].isupper()) for row in letters]
    assert case.classes.tolist() == ["lower", "upper"]


@FORMATS
def test_leafs_duplicate_is_dropped_and_nothing_else(write: Write, name: str, tmp_path: Path) -> None:
    rows = make_rows(["a", "b", "c", "d", "e"], each=4)
    first = {writer: next(row for row in rows if row.writer == writer) for writer in "abcde"}
    other = make_rows(["x"], each=1, seed=9)[0].gray
    doubled = {
        "a": [first["a"], *(row for row in rows if row.writer == "a")],  # as LEAF writes it
        "b": [row for row in rows if row.writer == "b"],  # as LEAF writes its very first writer
        "c": [row for row in rows if row.writer == "c"] + [first["c"]],  # the same image later on
        "d": [first["d"], first["d"]._replace(label=1), *(row for row in rows if row.writer == "d")],
        "e": [first["e"], first["e"]._replace(gray=other), *(row for row in rows if row.writer == "e")],
    }
    kept = [*doubled["a"][1:], *doubled["b"], *doubled["c"], *doubled["d"], *doubled["e"]]
    path = write(tmp_path / name, [row for own in doubled.values() for row in own])
    data = load_femnist(path, task="characters")
    assert_holds(data, kept)
    # min_samples counts what is kept: a has four rows, not five.
    assert "a" not in load_femnist(path, task="characters", min_samples=5).participants


def test_the_duplicate_is_dropped_when_the_first_image_is_a_letter(tmp_path: Path) -> None:
    rows = [row._replace(label=row.label % 52 + 10) for row in make_rows(["a", "b"], each=3)]
    path = write_parquet(tmp_path / "a.parquet", [rows[0], *rows])
    assert_holds(load_femnist(path), rows)


@FORMATS
def test_a_folder_is_read_in_any_order(write: Write, name: str, tmp_path: Path) -> None:
    rows = make_rows(WRITERS)
    whole = load_femnist(write(tmp_path / name, rows), writers=3, test_writers=2, seed=4)
    folder = tmp_path / "parts"
    folder.mkdir()
    for part, writers in enumerate((WRITERS[6:], WRITERS[:3], WRITERS[3:6])):
        write(folder / f"{part}{Path(name).suffix}", [row for row in rows if row.writer in writers])
    parts = load_femnist(folder, writers=3, test_writers=2, seed=4)
    assert whole.X_test is not None
    assert parts.X_test is not None
    assert np.array_equal(whole.X, parts.X)
    assert np.array_equal(whole.X_test, parts.X_test)
    assert np.array_equal(whole.groups, parts.groups)


def test_draws_are_disjoint_nested_and_seeded(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", make_rows(WRITERS, each=3))

    def drawn(writers: int | None, test: int, seed: int = 0) -> tuple[set[str], set[str]]:
        data = load_femnist(path, task="characters", writers=writers, test_writers=test, seed=seed)
        return set(data.participants), set() if data.groups_test is None else set(data.groups_test)

    small, large = drawn(2, 1), drawn(5, 4)
    assert small[0] < large[0]
    assert small[1] < large[1]
    assert large[0] | large[1] == set(WRITERS)
    assert drawn(None, 4) == large
    assert drawn(2, 1) == small
    assert len({frozenset(drawn(2, 1, seed)[0]) for seed in range(10)}) > 1


def test_named_writers(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", make_rows(WRITERS))
    data = load_femnist(path, writers=WRITERS[2:4], test_writers=[WRITERS[0]])
    assert data.participants.tolist() == WRITERS[2:4]
    assert set(data.groups_test if data.groups_test is not None else ()) == {WRITERS[0]}
    rest = load_femnist(path, test_writers=WRITERS[:3])
    assert rest.participants.tolist() == WRITERS[3:]


@needs(FEMNIST)
def test_both_formats_give_the_same_real_images() -> None:
    leaf = load_femnist(FEMNIST / "leaf_sample.json", task="characters")
    writers = leaf.participants.tolist()
    parquet = load_femnist(FEMNIST / "train-00000-of-00001.parquet", task="characters", writers=writers)
    assert len(writers) == 12
    for writer in writers:
        mine, theirs = leaf.rows(writer), parquet.rows(writer)[:40]
        assert np.array_equal(leaf.X[mine], parquet.X[theirs])
        assert np.array_equal(leaf.y[mine], parquet.y[theirs])
    # Handwriting is mostly paper.
    assert 0.02 < leaf.X.mean() < 0.4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "digits"}, "task must be 'case', 'letters' or 'characters': got 'digits'"),
        ({"writers": 8, "test_writers": 2}, r"writers \+ test_writers <= 9, the number with at least 1 rows"),
        ({"min_samples": 99}, r"writers \+ test_writers <= 0, the number with at least 99 rows"),
        ({"min_samples": 0}, "min_samples must satisfy min_samples >= 1"),
        ({"writers": 0}, "writers must satisfy writers >= 1: got writers=0"),
        ({"writers": ["nobody"]}, "writers must name writers that have rows of the task: got 'nobody'"),
        ({"writers": []}, "writers must name at least one writer: got none"),
        ({"writers": WRITERS[:2], "test_writers": WRITERS[1:3]}, "must be different people: got f0001_01"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, object], message: str, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", make_rows(WRITERS))
    with pytest.raises(ValueError, match=message):
        load_femnist(path, **options)  # type: ignore[arg-type]


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.parquet must be a file or a folder of FEMNIST"):
        load_femnist(tmp_path / "nothing.parquet")
    with pytest.raises(FileNotFoundError, match=r"must hold \*\.parquet or \*\.json files"):
        load_femnist(tmp_path)
    (tmp_path / "text.parquet").write_text("not a table")
    with pytest.raises(ValueError, match=r"text\.parquet: must be a parquet file"):
        load_femnist(tmp_path / "text.parquet")
    (tmp_path / "text.json").write_text('{"users": []}')
    with pytest.raises(ValueError, match=r"text\.json: must be JSON in LEAF's layout"):
        load_femnist(tmp_path / "text.json")
    pq.write_table(pa.table({"writer_id": ["a"], "character": [1]}), tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"c\.parquet: must have the columns .*: there is no image\.bytes"):
        load_femnist(tmp_path / "c.parquet")
    wrong = [make_rows(["a"])[0]._replace(label=62)]
    with pytest.raises(ValueError, match=r"a\.json: labels must satisfy 0 <= label < 62: got 62"):
        load_femnist(write_leaf(tmp_path / "a.json", wrong))
    small = [make_rows(["a"])[0]._replace(gray=np.zeros((9, 28), dtype=np.uint8))]
    for path in (write_leaf(tmp_path / "b.json", small), write_parquet(tmp_path / "b.parquet", small)):
        with pytest.raises(ValueError, match=rf"{path.name}: an image must be 28 x 28 gray pixels"):
            load_femnist(path, task="characters")


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "a.parquet", make_rows(["a"]))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "folkmoot\[data\]"'):
        load_femnist(path)
