"""Tables in files, one reader for all; the csv module splits cells, as pandas cannot tell lines of mistakes.

A file is text in UTF-8, with or without a byte order mark, gzipped or not. It has commas, semicolons or tabs
between its cells, as in its first line. It may also be parquet, JSON lines with one record each, or a data
frame in memory. Blank lines are skipped. If semicolons or tabs separate the cells, 3,14 is a number, as in
spreadsheets of many countries; thousands separators are refused. Every message names the file and the line.

Pandas numbers rows, where people look for lines, and nodes, which read tables of others, would need it for
this alone. Parquet is read by pyarrow.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import math
import os
import re
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Final, TextIO, TypeAlias

from folkmoot.files.json_lines import JSON_LINES, json_lines, text_lines
from folkmoot.machine import to_install

Row: TypeAlias = tuple[int, Sequence[str]]  # the line it stands in, and its cells without spaces around them

_SEPARATORS: Final = ("\t", ";", ",")  # in the order in which they are tried
UNPACKED: Final = 16 << 20  # bytes, or cells of parquet, that any packed file may have,
RATIO: Final = 100  # and so many more for each of its own bytes
_SAMPLE: Final = 20  # lines that must bear out what the first one shows
# 1,234,567 or 1.234,5 or 12 345.6: groups of three digits, and perhaps decimals.
_GROUPED: Final = re.compile(r"[+-]?\d{1,3}([.,' \u2019\u00a0\u202f])\d{3}(\1\d{3})*((?!\1)[.,]\d+)?")
_UNITS: Final = "%‰$€£¥ \u00a0\u202f"
_LINE_END: Final = re.compile(rb"\r\n?|\n")
# What a spreadsheet takes for a formula unless an apostrophe is in front; and such a cell as it is written.
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n]")
_PLAIN_NUMBER: Final = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_PANDAS_INDEX: Final = re.compile(r"__index_level_\d+__")


class Table(ABC):
    """An open file: ``columns`` are the names in its first line, and ``rows`` goes through it once."""

    def __init__(self, path: Path, unit: str) -> None:
        self.path = path
        self.columns: list[str] = []
        self.index: list[str] | None = None  # what a data frame calls its rows
        self._unit = unit
        self._commas = False  # may a number have a decimal comma?
        self._marks: dict[int, tuple[str, int]] = {}  # by column: a cell with a decimal mark, and its line

    def where(self, line: int) -> str:
        """``path, line 7``: how every message about a row begins."""
        return f"{self.path}, {self._unit} {line}"

    def rows(self, wanted: Sequence[str] | None = None, *, blank: bool = False) -> Iterator[Row]:
        """Every row, or its cells in the columns wanted; with ``blank``, blank lines as empty cells."""
        if wanted is None:
            return self._rows(list(range(len(self.columns))), blank)
        place = {name: i for i, name in enumerate(self.columns)}
        for name in wanted:
            if name not in place:
                raise ValueError(f"{self.path} has no column {name!r}: it has {shortened(self.columns)}")
        return self._rows([place[name] for name in wanted], blank)

    @abstractmethod
    def _rows(self, places: list[int], blank: bool) -> Iterator[Row]: ...

    def number(self, cell: str) -> float | None:
        """The number in a cell, None if it is none."""
        try:
            return float(cell.replace(",", ".", 1) if self._commas and "." not in cell else cell)
        except ValueError:
            return None

    def reals(self, line: int, cells: Sequence[str]) -> list[float]:
        """The numbers in the cells of a row, NaN where one is empty; ValueError if one is anything else."""
        if not self._commas:
            try:
                return [float(cell) for cell in cells]
            except ValueError:
                pass  # which cell, and why, is found out below
        return [self._real(cell, line, place) for place, cell in enumerate(cells)]

    def _real(self, cell: str, line: int, place: int) -> float:
        if not cell:
            return math.nan
        value = self.number(cell)
        if value is None:
            raise ValueError(f"{self.where(line)}: expected a number, got {cell!r}{advice(cell)}")
        self.check_mark(cell, line, place)
        return value

    def check_mark(self, cell: str, line: int, place: int) -> None:
        """ValueError if a column has decimal commas and points: then it is unclear what either means."""
        if not self._commas or ("," not in cell and "." not in cell):
            return
        first, before = self._marks.setdefault(place, (cell, line))
        if ("," in first) != ("," in cell):
            raise ValueError(
                f"{self.where(line)}: expected the same decimal mark in all of a column, got {cell!r} after "
                f"{first!r} in {self._unit} {before}"
            )

    def _name(self, columns: list[str]) -> None:
        twice = next((name for name, many in Counter(columns).items() if many > 1), None)
        if twice is not None:
            asked = "" if self.number(twice) is None else "; is its first line a header?"
            raise ValueError(
                f"{self.path} must have different column names: got {twice!r} more than once{asked}"
            )
        self.columns = columns


@contextmanager
def open_table(path: str | os.PathLike[str], *, header: bool = True) -> Iterator[Table]:
    """The table in a file. With ``header=False`` a first line that holds a number is a row; no names then."""
    file = Path(path)
    suffix = file.suffix.lower()
    with file.open("rb") as raw:
        start = raw.peek(4)[:4]
        if start == b"PAR1" or suffix in (".parquet", ".pq"):
            yield _ParquetTable(file, raw)
            return
        if suffix in JSON_LINES:
            yield _JsonTable(file)
            return
        zipped = start[:2] == b"\x1f\x8b"
        if suffix == ".gz" and not zipped:
            raise ValueError(f"{file} is not a gzip file, although it is called {suffix}")
        if start == b"PK\x03\x04":
            raise ValueError(f"{file} is a workbook or an archive: save it as CSV in UTF-8, or as parquet")
        content = _Unzipped(file, raw) if zipped else raw
        with io.TextIOWrapper(content, encoding="utf-8-sig", newline="") as text:
            yield _TextTable(file, text, header)


@contextmanager
def text_table(data: bytes, name: str, *, header: bool = True) -> Iterator[Table]:
    """The table in bytes that came from somebody else: plain text only, since compressed data may be huge."""
    if data[:2] == b"\x1f\x8b" or data[:4] in (b"PAR1", b"PK\x03\x04"):
        raise ValueError(f"{name} must be a table as plain text in UTF-8, such as CSV: it is compressed")
    with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="") as text:
        yield _TextTable(Path(name), text, header)


def is_frame(source: object) -> bool:
    """Whether this is a data frame, of pandas or one that can be made one of pandas."""
    return hasattr(source, "columns") and (hasattr(source, "itertuples") or hasattr(source, "to_pandas"))


@contextmanager
def frame_table(frame: Any) -> Iterator[Table]:
    """The table in a data frame. An index with a name is a column, any other names the rows."""
    whole = frame if hasattr(frame, "itertuples") else frame.to_pandas()
    yield _FrameTable(whole.reset_index() if any(name is not None for name in whole.index.names) else whole)


def opened(source: Any) -> AbstractContextManager[Table]:
    """The table in a file or in a data frame."""
    return frame_table(source) if is_frame(source) else open_table(source)


def texts_table(path: Path, column: str) -> Table:
    """The table in a file with a text per line: one column of this name."""
    return _ReadTable(path, [column], [(line, [text]) for line, text in text_lines(path)])


class _ReadTable(Table):
    """A table whose rows are known."""

    def __init__(self, path: Path, columns: list[str], rows: list[Row]) -> None:
        super().__init__(path, "line")
        if not rows:
            raise ValueError(f"{path} is empty: it has no rows")
        self._name(columns)
        self._known = rows

    def _rows(self, places: list[int], blank: bool) -> Iterator[Row]:  # noqa: ARG002 - it has no blank lines
        for line, cells in self._known:
            yield line, [cells[place] for place in places]


class _JsonTable(_ReadTable):
    """Records in lines of JSON; a name that a record lacks is an empty cell."""

    def __init__(self, path: Path) -> None:
        found: list[tuple[int, dict[str, Any]]] = []
        for line, value in json_lines(path):
            if not isinstance(value, dict) or any(isinstance(each, dict | list) for each in value.values()):
                raise ValueError(
                    f"{path}, line {line}: expected a record of numbers, texts, booleans and null, "
                    f"got {value!r:.60}"
                )
            found.append((line, value))
        columns = list(dict.fromkeys(name for _, record in found for name in record))
        rows: list[Row] = [(line, [written(record.get(name)) for name in columns]) for line, record in found]
        super().__init__(path, columns, rows)


class _Unzipped(gzip.GzipFile):
    """A gzip file, as long as it unpacks to what a table can be: what comes out is counted as it does."""

    def __init__(self, path: Path, raw: IO[bytes]) -> None:
        super().__init__(fileobj=raw)
        self._path, self._out = path, 0
        self._most = _unpacked(path)

    def read1(self, size: int = -1) -> bytes:
        """The next bytes; ValueError if that are too many in all."""
        data = super().read1(size)
        self._out += len(data)
        if self._out > self._most:
            raise ValueError(
                f"{self._path} unpacks to more than {self._most / 2**20:,.0f} MiB, too much for its size: "
                "unpack it yourself if you trust it"
            )
        return data


def _unpacked(path: Path) -> int:
    """To how much a file may unpack."""
    return UNPACKED + RATIO * path.stat().st_size


class _FrameTable(Table):
    def __init__(self, frame: Any) -> None:
        super().__init__(Path("DataFrame"), "row")
        self._name([str(name) for name in frame.columns])
        if not len(frame):
            raise ValueError(f"{self.path} is empty: it has {len(self.columns)} columns and no rows")
        self._frame = frame.astype(object).where(frame.notna(), None)
        self.index = [written(name) for name in frame.index]

    def _rows(self, places: list[int], blank: bool) -> Iterator[Row]:  # noqa: ARG002 - it has no blank lines
        columns = [[written(value) for value in self._frame.iloc[:, place].tolist()] for place in places]
        yield from enumerate(zip(*columns, strict=True), start=1)


class _TextTable(Table):
    def __init__(self, path: Path, text: io.TextIOWrapper, header: bool) -> None:
        super().__init__(path, "line")
        self._reader: Any = None
        self._head: list[str] = []
        with self._explained():
            for line in itertools.islice(text, _SAMPLE):
                self._head.append(line)
            if "\0" in "".join(self._head):
                raise ValueError(f"{path} is not a text file in UTF-8: it has bytes that no text has")
            named = re.match(r'"?sep=(.)"?\s*$', "".join(self._head[:1]))  # for Excel; not a row
            separator = named[1] if named else separator_of(self._head)
        self._commas = separator != ","
        self._reader = csv.reader(itertools.chain(self._head, text), delimiter=separator, strict=True)
        records = self._records()
        if named:
            next(records)
        first = next((cells for row in records if any(cells := [_read(cell) for cell in row])), [])
        if not first:
            raise ValueError(f"{path} is empty: expected a first line with the names of the columns")
        self._first = None if header or all(self.number(cell) is None for cell in first) else first
        if self._first is not None:
            self.columns = [""] * len(first)
        else:
            while not first[-1]:  # spreadsheets keep cells that were used once
                first.pop()
            self._name(first)

    def _records(self) -> Iterator[list[str]]:
        with self._explained():
            yield from self._reader

    def _rows(self, places: list[int], blank: bool) -> Iterator[Row]:
        reader, width, found = self._reader, len(self.columns), False
        whole = places == list(range(width))
        if self._first is not None:
            found = True
            yield reader.line_num, [self._first[place] for place in places]
        for record in self._records():
            row = record if len(record) == width else self._fitted(record)
            cells = [_read(cell) for cell in (row if whole else [row[place] for place in places])]
            if any(cells) or blank or any(cell.strip() for cell in row):
                found = True
                yield reader.line_num, cells
        if not found:
            raise ValueError(f"{self.path} has a header and no rows")

    def _fitted(self, row: list[str]) -> list[str]:
        """A blank line, or one with empty cells too many, as wide as the others."""
        width, filled = len(self.columns), [i for i, cell in enumerate(row) if cell.strip()]
        if filled and (len(row) < width or filled[-1] >= width or self._first is not None):
            cells = "1 cell" if width == 1 else f"{width} cells"
            raise ValueError(f"{self.where(self._reader.line_num)}: expected {cells}, got {len(row)}")
        return (row + [""] * width)[:width]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of reading a file, in one line."""
        try:
            yield
        except UnicodeDecodeError as error:
            # It stands somewhere in the block that is read next, which begins in the line after the last one.
            line = self._last_line() + 1 + len(_LINE_END.findall(error.object[: error.start]))
            utf16 = error.object[:2] in (b"\xff\xfe", b"\xfe\xff")
            found = "the mark of UTF-16" if utf16 else f"the byte 0x{error.object[error.start]:02x}"
            raise ValueError(
                f"{self.path} is not a text file in UTF-8: line {line} has {found}; save it as UTF-8"
            ) from None
        except csv.Error as error:
            raise ValueError(
                f"{self.where(self._last_line())}: {error}; is a quotation mark missing, or one too many?"
            ) from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ValueError(
                f"{self.where(self._last_line() + 1)}: the gzip file is cut off or damaged: {error}"
            ) from None

    def _last_line(self) -> int:
        return len(self._head) if self._reader is None else int(self._reader.line_num)


class _ParquetTable(Table):
    def __init__(self, path: Path, raw: IO[bytes]) -> None:
        super().__init__(path, "row")
        try:
            import pyarrow
            import pyarrow.parquet as parquet
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"{path}: parquet files need pyarrow: {to_install('data')}",
                name=error.name,
            ) from None
        self._damage = (pyarrow.ArrowException, OSError)
        try:
            self._file = parquet.ParquetFile(raw)
        except self._damage as error:
            raise ValueError(f"{path} is not a whole parquet file: {error}") from None
        self._schema = self._file.schema_arrow
        self._name([name for name in self._schema.names if not _PANDAS_INDEX.fullmatch(name)])
        if not self.columns or not self._file.metadata.num_rows:
            raise ValueError(f"{path} is empty: it has {len(self.columns)} columns and no rows")
        cells, most = self._file.metadata.num_rows * len(self.columns), _unpacked(path)
        if cells > most:
            raise ValueError(
                f"{path} must have at most {most:,} cells for its size: it has {cells:,}; "
                "write it without compression if you trust it"
            )

    def _rows(self, places: list[int], blank: bool) -> Iterator[Row]:  # noqa: ARG002 - it has no blank lines
        import pyarrow.types as types

        names = [self.columns[place] for place in places]
        for name in names:
            kind = self._schema.field(name).type
            of = kind.value_type if types.is_dictionary(kind) else kind
            if types.is_nested(of) or "binary" in str(of):
                raise ValueError(f"{self.path}: {name} must hold words or numbers: it holds {of}")
        row = 0
        batches = self._file.iter_batches(columns=names)
        while True:
            try:
                batch = next(batches, None)
            except self._damage as error:
                raise ValueError(f"{self.where(row + 1)}: the parquet file is damaged: {error}") from None
            if batch is None:
                return
            columns = [[written(value) for value in batch.column(name).to_pylist()] for name in names]
            for row, cells in enumerate(zip(*columns, strict=True), start=row + 1):  # noqa: B020
                yield row, cells


def write_table(path: str | os.PathLike[str], columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write cells as CSV that no spreadsheet takes for formulas: ``=1+1`` gets an apostrophe in front.

    ``open_table`` takes it away again, so what was written is what is read.
    """
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        _write(file, columns, rows)


def table_text(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same as text, for whoever sends it."""
    text = io.StringIO(newline="")
    _write(text, columns, rows)
    return text.getvalue()


def _write(file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    writer = csv.writer(file)
    writer.writerow([_harmless(name) for name in columns])
    writer.writerows([_harmless(cell) for cell in row] for row in rows)


def _harmless(cell: str) -> str:
    return f"'{cell}" if _FORMULA.match(cell) and not _PLAIN_NUMBER.fullmatch(cell) else cell


def _read(cell: str) -> str:
    """A cell without spaces around it, and without the apostrophe that keeps it from being a formula."""
    bare = cell.strip()
    return bare[1:] if bare[:1] == "'" and _FORMULA.match(bare) else bare


def separator_of(lines: Sequence[str]) -> str:
    """The separator of the first line, outside quotation marks; a comma if there is none.

    It may have several of them (decimal commas, a semicolon in a name). Then it is the first that splits the
    next lines into as many cells as this one, tabs before semicolons before commas.
    """
    filled = [line for line in lines if line.strip()]
    first = ""
    for line in filled:  # a name may go on in the next line
        first += line
        if first.count('"') % 2 == 0:
            break
    outside = re.sub(r'"[^"]*"', "", first)
    found = [mark for mark in _SEPARATORS if mark in outside] or [","]
    for mark in found:
        rows = list(csv.reader(filled, delimiter=mark))
        complete = rows[:-1] if len(rows) > 1 and len(lines) == _SAMPLE else rows  # it may go on in the next
        if len({len(row) for row in complete}) == 1:
            return mark
    return max(found, key=outside.count)


def written(value: object) -> str:
    """A value of a parquet file as text files have it: nothing for none, and 3 for 3.0."""
    if value is None or value != value:  # NaN is how pandas says that a value is missing
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def has_thousands(cell: str) -> bool:
    """Whether this is a number in groups of three digits, such as 1,234,567 or 1.234,5."""
    return _GROUPED.fullmatch(cell) is not None


def without_unit(cell: str) -> str:
    """A cell without the signs of money and of percent around it, such as 12.5 of 12.5 % and of $12.5."""
    return cell.strip(_UNITS)


def advice(cell: str) -> str:
    """The remedy for a cell that should be a number."""
    if has_thousands(without_unit(cell)):
        return ", with thousands separators: write it without them"
    return ", with a unit: write the number alone" if without_unit(cell) != cell else ""


def shortened(names: Sequence[str]) -> str:
    """The first dozen of many names."""
    return ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
