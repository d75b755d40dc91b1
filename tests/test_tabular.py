"""The one reader of tables, on files as spreadsheets, pandas and accidents make them."""

from __future__ import annotations

import csv
import gzip
import io
import math
import os
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.files import tabular
from folkmoot.files.tabular import has_thousands, open_table, separator_of
from folkmoot.files.vote_files import read_votes


def read(path: Path, *wanted: str, **options: Any) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Columns, and the line and cells of every row."""
    blank = options.pop("blank", False)
    with open_table(path, **options) as table:
        rows = [(line, list(cells)) for line, cells in table.rows(wanted or None, blank=blank)]
        return table.columns, rows


def numbers(path: Path, **options: Any) -> list[list[float]]:
    with open_table(path, **options) as table:
        return [table.reals(line, cells) for line, cells in table.rows()]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path: Path, **options: Any) -> str:
    """The one line that says why, which names the file."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the callers look at all of it
        numbers(path, **options)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path))


EXCEL = "\ufeffName;Größe;Wert\r\nAnna;1,80;-3,5e2\r\n\r\nBert;;7\r\n;;\r\n"


def test_excel_s_semicolons_with_a_mark_and_decimal_commas(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", EXCEL)
    assert read(path) == (
        ["Name", "Größe", "Wert"],
        [(2, ["Anna", "1,80", "-3,5e2"]), (4, ["Bert", "", "7"])],
    )
    assert read(path, "Wert", "Name")[1] == [(2, ["-3,5e2", "Anna"]), (4, ["7", "Bert"])]
    with open_table(path) as table:
        assert [table.number(cell) for cell in ("1,80", "-3,5e2", "7", "2.5", "x", "")] == [
            1.8, -350.0, 7.0, 2.5, None, None,
        ]  # fmt: skip
    named = write(tmp_path / "sep.csv", "sep=;\nnumber\n1,5\n2,5\n")  # a single column: nothing else says so
    assert numbers(named) == [[1.5], [2.5]]


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_what_csv_writes_is_read_back(tmp_path: Path, separator: str, mark: str, zipped: bool) -> None:
    rows = [["a, b", "c;d", 'say "hi"\tnow'], ["1", "two\nlines", "ü"], ["", "x", ""], ["4", "5", "6"]]
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(rows)
    data = (mark + text.getvalue()).encode()
    path = write(tmp_path / ("x.csv.gz" if zipped else "x.txt"), gzip.compress(data) if zipped else data)
    columns, found = read(path)
    assert columns == rows[0]
    assert found == [(3, rows[1]), (4, rows[2]), (5, rows[3])]


CELL = st.text(st.sampled_from('ab1,;\t" \n'), max_size=4).map(str.strip)


@given(st.lists(st.lists(CELL, min_size=3, max_size=3), max_size=5), st.sampled_from(",;\t"))
def test_whatever_the_cells_hold(rows: list[list[str]], separator: str) -> None:
    """The names show the separator; the standard library's writer is the truth."""
    filled = [row for row in rows if any(row)]
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows([["a", "b", "c"], *rows])
    assert separator_of(text.getvalue().splitlines(keepends=True)) == separator
    path = Path("/dev/fd")
    if not filled or not path.is_dir():
        return
    reading, writing = os.pipe()
    os.write(writing, text.getvalue().encode())
    os.close(writing)
    columns, found = read(path / str(reading))  # a pipe can be read once only
    os.close(reading)
    assert (columns, [cells for _, cells in found]) == (["a", "b", "c"], filled)


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("task,worker\n", ","),
        ("task;worker\n", ";"),
        ("task\tworker\n", "\t"),
        ("label\n", ","),
        ('"a,b";"c,d"\n1;2\n', ";"),
        ('"a;b","c;d"\n1,2\n', ","),
        ('"a,b,c"\n1\n', ","),
        ('"two\nlines";b\n1;2\n', ";"),
        ("1,5;2,5\n3,5;4,5\n", ";"),  # commas would do as well
        ("size; in cm,age\n1,2\n", ","),  # a semicolon in a name
        ("size, cm;age\n1,5;2\n2;3\n", ";"),
        ("a;b,c,d\n1;2\n1\n", ","),  # nothing fits: the more frequent one
    ],
)
def test_the_first_line_shows_what_separates_cells(text: str, separator: str) -> None:
    assert separator_of(text.splitlines(keepends=True)) == separator


def test_rows_may_begin_in_the_first_line(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "\n1,2,\n3,,nan\n")
    assert read(path, header=False) == (["", "", ""], [(2, ["1", "2", ""]), (3, ["3", "", "nan"])])
    assert numbers(write(path, "1,5;2\n-1;,5\n"), header=False) == [[1.5, 2.0], [-1.0, 0.5]]
    assert read(write(path, "a,b\n1,2\n"), header=False) == (["a", "b"], [(2, ["1", "2"])])
    (row,) = numbers(write(path, "a,b\n1,\n"), header=False)
    assert row[0] == 1.0
    assert math.isnan(row[1])


def test_blank_lines_can_count(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "label\nyes\n\nno\n")
    assert [cells for _, cells in read(path, blank=True)[1]] == [["yes"], [""], ["no"]]
    assert [cells for _, cells in read(path)[1]] == [["yes"], ["no"]]


def test_empty_cells_too_many_are_dropped(tmp_path: Path) -> None:
    assert read(write(tmp_path / "x.csv", "a,b,,\n1,2,,\n3,4,\n5,6\n,,,\n"))[1] == [
        (2, ["1", "2"]), (3, ["3", "4"]), (4, ["5", "6"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", " is empty: expected a first line with the names of the columns"),
        ("\n \n\r\n", " is empty: expected a first line with the names of the columns"),
        ("\ufeff", " is empty: expected a first line with the names of the columns"),
        ("a,b\n", " has a header and no rows"),
        ("a,b\n\n,\n", " has a header and no rows"),
        ("a,b\n1,2\n1\n", ", line 3: expected 2 cells, got 1"),
        ("a\n1,2\n", ", line 2: expected 1 cell, got 2"),
        ("a,b\n1,2,,3\n", ", line 2: expected 2 cells, got 4"),
        ("a,b,a\n1,2,3\n", " must have different column names: got 'a' more than once"),
        ("a;b\n1;x\n", ", line 2: expected a number, got 'x'"),
        (
            "a;b\n1;2\n1.234,5;1\n",
            ", line 3: expected a number, got '1.234,5', with thousands separators: write it without them",
        ),
        (
            'a,b\n"1,234",2\n',
            ", line 2: expected a number, got '1,234', with thousands separators: write it without them",
        ),
        ('a,b\n"3,14",2\n', ", line 2: expected a number, got '3,14'"),
        (
            "a;b\n1,5;2.5\n1;2\n2,5;3,5\n",
            ", line 4: expected the same decimal mark in all of a column, got '3,5' after '2.5' in line 2",
        ),
        ("a\tb\n1,5\t2\n2.5\t2\n", ", line 3: expected the same decimal mark in all of a column, got '2.5'"),
        ('a,b\n1,"2\n3,4\n', ", line 3: unexpected end of data; is a quotation mark missing"),
        ('a,b\n1,"2"3\n', ", line 2: ',' expected after '\"'; is a quotation mark missing, or one too many?"),
        ('a,b\n1,"' + "x" * 200_000, ", line 2: field larger than field limit (131072); is a quotation mark"),
        (
            "a,b\n1,\xe9\n".encode("latin-1"),
            " is not a text file in UTF-8: line 2 has the byte 0xe9; save it",
        ),
        (b"a,b\n" + b"1,2\n" * 30_000 + b"1,\xe9\n1,2\n", " is not a text file in UTF-8: line 30002 has the"),
        (b"a,b\r1,2\r1,\xe9\r1,2\r", " is not a text file in UTF-8: line 3 has the"),
        (
            "a,b\n1,2\n".encode("utf-16"),
            " is not a text file in UTF-8: line 1 has the mark of UTF-16; save it",
        ),
        ("a,b\n1,2\n".encode("utf-16-le"), " is not a text file in UTF-8: it has bytes that no text has"),
        (bytes(range(256)) * 20, " is not a text file in UTF-8: "),
        (b"PK\x03\x04" + bytes(100), " is a workbook or an archive: save it as CSV in UTF-8, or as parquet"),
        (b"PAR1" + bytes(100), " is not a whole parquet file: "),
    ],
)
def test_mistakes_are_one_line_that_says_where(tmp_path: Path, content: str | bytes, message: str) -> None:
    assert refused(write(tmp_path / "x.csv", content)).startswith(message)


def test_gzip_files_that_are_none_or_cut_off(tmp_path: Path) -> None:
    assert (
        refused(write(tmp_path / "x.csv.gz", "a,b\n1,2\n"))
        == " is not a gzip file, although it is called .gz"
    )
    assert refused(write(tmp_path / "x.csv.gz", "")) == " is not a gzip file, although it is called .gz"
    lines = "a,b\n" + "".join(f"{i},{i * i % 9973}\n" for i in range(50_000))
    whole = gzip.compress(lines.encode())
    assert (
        len(numbers(write(tmp_path / "y.csv", whole))) == 50_000
    )  # by its first bytes, whatever it is called
    message = refused(write(tmp_path / "x.csv.gz", whole[: len(whole) // 2]))
    assert message.startswith(", line ")
    assert "the gzip file is cut off or damaged: Compressed file ended" in message
    assert 20_000 < int(message.split()[2].rstrip(":")) < 30_000
    damaged = bytearray(whole)
    damaged[-6] ^= 1  # of the sum that checks it
    assert "cut off or damaged: CRC check failed" in refused(write(tmp_path / "x.csv.gz", bytes(damaged)))


def test_what_unpacks_to_very_much_is_refused_before_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabular, "UNPACKED", 1 << 16)
    for content in (b"a,b\n" + b"1,1\n" * (1 << 17), b"a,b\n" + b"x" * (4 << 20)):
        bomb = write(tmp_path / "x.csv.gz", gzip.compress(content, 9))
        assert bomb.stat().st_size < len(content) // 300
        assert refused(bomb).startswith(" unpacks to more than ")
    pd.DataFrame({"a": np.zeros(1_000_000, np.int8)}).to_parquet(tmp_path / "z.parquet")
    assert "cells for its size: it has 1,000,000" in refused(tmp_path / "z.parquet")


def test_a_header_of_many_names_is_not_looked_through_for_each_of_them(tmp_path: Path) -> None:
    names = [f"w{i}" for i in range(2000)]
    file = write(tmp_path / "x.csv", ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    searches = Counter[str]()

    def called(_frame: object, event: str, function: Any) -> None:
        if event == "c_call" and isinstance(getattr(function, "__self__", None), list):
            searches[function.__name__] += 1

    sys.setprofile(called)
    try:
        columns, _ = read(file, *names)
        read_votes(file, task="w0")
    except ValueError:
        pass  # all votes are the same
    finally:
        sys.setprofile(None)
    assert columns == names
    assert searches["count"] + searches["index"] < 10


def test_missing_files_and_folders_are_the_system_s_errors(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.csv"):
        with pytest.raises(OSError) as caught, open_table(path):  # noqa: PT011
            pass
        assert caught.value.filename == str(path) or caught.value.filename == path


def test_parquet_as_pandas_writes_it(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "spoilt": [1.0, math.nan, 3.0],  # whole numbers, one of them missing
            "real": [0.1, -2.5e-7, math.inf],
            "word": ["yes", None, " no, no "],
            "kind": pd.Categorical(["b", "a", "b"]),
            "truth": [True, False, True],
            "day": pd.to_datetime(["2024-01-02", None, "2024-03-04"]).date,
            "price": [Decimal("1.50"), None, Decimal("2.00")],
        },
        index=[7, 8, 9],  # which pandas keeps as a column of its own
    )
    frame.to_parquet(tmp_path / "x.parquet")
    columns, rows = read(tmp_path / "x.parquet")
    assert columns == list(frame.columns)
    assert rows == [
        (1, ["1", "1", "0.1", "yes", "b", "True", "2024-01-02", "1.50"]),
        (2, ["", "", "-2.5e-07", "", "a", "False", "", ""]),
        (3, ["3", "3", "inf", "no, no", "b", "True", "2024-03-04", "2.00"]),
    ]
    assert read(tmp_path / "x.parquet", "kind", "whole")[1][1] == (2, ["a", ""])


def test_many_row_groups_and_bits_of_numbers(tmp_path: Path) -> None:
    values = [i / 7 for i in range(1000)]
    pq.write_table(pa.table({"a": values, "b": range(1000)}), tmp_path / "x.pq", row_group_size=64)
    assert numbers(tmp_path / "x.pq") == [[value, float(i)] for i, value in enumerate(values)]


def test_parquet_that_holds_no_table(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    for table, message in (
        (pa.table({"a": [[1, 2]]}), ": a must hold words or numbers: it holds list<"),
        (pa.table({"a": [b"\x00"]}), ": a must hold words or numbers: it holds binary"),
        (pa.table({"a": pa.array([], pa.int64())}), " is empty: it has 1 columns and no rows"),
        (pa.table({"a": ["x"]}), ", row 1: expected a number, got 'x'"),
        (
            pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
            " must have different column names: got 'a' more than once",
        ),
    ):
        pq.write_table(table, path)
        assert refused(path).startswith(message)
    pq.write_table(pa.table({"a": range(10_000)}), path)
    assert " is not a whole parquet file: " in refused(write(path, path.read_bytes()[:-40]))
    assert " is not a whole parquet file: " in refused(write(path, "a,b\n1,2\n"))


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r'x.parquet: .* pip install "folkmoot\[data\]"'):
        read(tmp_path / "x.parquet")


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"x.csv has no column 'c': it has a, b"):
        read(path, "a", "c")


@pytest.mark.parametrize("cell", ["1,234", "1.234,5", "1,234,567", "12 345", "-1'234.5", "1.234.567,89"])
def test_numbers_in_groups(cell: str) -> None:
    assert has_thousands(cell)


@pytest.mark.parametrize("cell", ["3,14", "1,2345", "1234,567", "a", "", "12,34,567", "1,234,56"])
def test_numbers_that_are_not(cell: str) -> None:
    assert not has_thousands(cell)


def test_json_lines_are_a_table(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"a": 1, "b": "x, y"}\n\n{"b": null, "c": true, "a": 2.50}\n')
    with open_table(file) as table:
        assert table.columns == ["a", "b", "c"]
        assert list(table.rows()) == [(1, ["1", "x, y", ""]), (3, ["2.5", "", "True"])]
    for text, line in (
        ('{"a": [1]}', "line 1: expected a record of numbers, texts, booleans and null"),
        ("[1]", "line 1: expected a record"), ("", "is empty: it has no rows"),
        ('{"a": 1', "expected one JSON value"),
    ):  # fmt: skip
        file.write_text(text)
        with pytest.raises(ValueError, match=r"rows\.jsonl") as caught, open_table(file):
            pass
        assert line in str(caught.value)
