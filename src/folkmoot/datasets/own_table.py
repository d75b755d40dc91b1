"""A user's own table as ``MootData``: one column to predict, one that says whose row it is.

``folkmoot.tabular`` reads the files; ``read_table`` says what the cells mean. An empty target or group is an
error, while ``NA`` or ``none`` there is a name like any other.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Array, Bools, Features
from folkmoot.datasets.moot_data import MootData
from folkmoot.tabular import Row, Table, advice, has_thousands, open_table, shortened

MISSING = frozenset({"", "na", "n/a", "nan", "?", "null", "none"})
# More different numbers than this, and than the root of the number of rows, are a measurement, no class.
_MOST_CLASSES = 20
_FEW = 0.2  # other cells than this share of a column of numbers are mistakes


class _Sheet(NamedTuple):
    table: Table
    rows: list[Row]

    @property
    def path(self) -> Path:
        return self.table.path

    @property
    def columns(self) -> list[str]:
        return self.table.columns

    def column(self, name: str) -> list[str]:
        place = self.columns.index(name)
        return [cells[place] for _, cells in self.rows]

    def where(self, row: int) -> str:
        return self.table.where(self.rows[row][0])

    def number(self, cell: str) -> float | None:
        """The finite number in a cell."""
        value = self.table.number(cell)
        return None if value is None or not math.isfinite(value) else value

    def plain(self, label: str) -> float | str:
        """What makes two labels the same: their value, or their text if they have none."""
        value = self.number(label)
        return label if value is None else value


def read_table(
    path: str | os.PathLike[str],
    target: str,
    group: str,
    *,
    drop: Sequence[str] = (),
    test: str | os.PathLike[str] | None = None,
    test_groups: float | None = None,
    test_rows: float | None = None,
    seed: int = 0,
) -> MootData:
    """Read the rows of a table by participant, and rows to test on.

    A file is text with commas, semicolons or tabs between its cells, gzipped or not, or parquet; its first
    line is a header. A column whose cells are all numbers is numbers; any other holds words, which are
    numbered in their sorted order. A feature is missing (nan) if its cell is empty, ``NA``, ``N/A``, ``NaN``,
    ``?``, ``null`` or ``none``.

    Give one of ``test``, ``test_groups`` and ``test_rows`` at the most. Default: ``test_groups=0.2``.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str
        The column to predict: a class, in words or numbers.
    group : str
        The column that says whose row it is.
    drop : sequence of str, default ()
        Columns to leave out, such as an id.
    test : str or path-like, optional
        A file of test rows with the same columns; ``group`` may be missing there.
    test_groups : float, optional
        The share of the groups whose rows are all tested on and that take no part. At least one group is, and
        two must be left.
    test_rows : float, optional
        The share of every participant's rows to test on.
    seed : int, default 0
        The same seed draws the same test rows.

    Returns
    -------
    MootData
        The rows, their classes and whose they are; ``categorical`` says which columns hold words.

    Raises
    ------
    ValueError
        If a column is not there, the class or the owner of a row is missing, or the target is a measurement
        instead of a class. The message names the file and the line.

    Warns
    -----
    UserWarning
        If a column has no values, which is then left out; or if nearly every row has a word of its own.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from folkmoot.datasets import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "patients.csv")
    ...     rows = [f"{i},{i % 3},{('no', 'yes')[i % 2]}" for i in range(12)]
    ...     _ = path.write_text("\\n".join(["age,clinic,ill", *rows]))
    ...     data = read_table(path, "ill", "clinic", test_rows=0.25)
    >>> data.participants, data.classes
    (array([0, 1, 2]), array(['no', 'yes'], dtype='<U3'))
    >>> data.X.shape, data.X_test.shape
    ((9, 1), (3, 1))
    """
    given = {"test": test, "test_groups": test_groups, "test_rows": test_rows}
    both = [name for name, value in given.items() if value is not None]
    if len(both) > 1:
        raise ValueError(f"give one of test, test_groups and test_rows: got {' and '.join(both)}")
    sheet = _read(path, (target, group))
    _check_columns(sheet, target, group, drop)
    features = [name for name in sheet.columns if name not in (target, group, *drop)]
    empty = [name for name in features if all(cell.lower() in MISSING for cell in sheet.column(name))]
    if empty:
        warnings.warn(f"left out, as they have no values: {shortened(empty)}", stacklevel=2)
        features = [name for name in features if name not in empty]
    if not features:
        raise ValueError(f"{sheet.path}: must have a column to predict {target!r} from: there is no other")
    whose = _cells(sheet, group, "whose row it is")
    labels = _cells(sheet, target, "its class")
    other = None if test is None else _read(test, (target,))
    if other is not None:
        _check_columns(other, target, None, (), also=features)
    classes = _classes(sheet, target, labels)
    place = {sheet.plain(label): i for i, label in enumerate(classes)}
    vocabulary = [_vocabulary(sheet, name) for name in features]
    data = MootData(
        X=_numbers(sheet, features, vocabulary),
        y=np.array([place[sheet.plain(label)] for label in labels], dtype=np.int64),
        groups=_groups(whose),
        feature_names=tuple(features),
        classes=np.array(classes),
        description=f"{sheet.path.name}: {target} by {group}",
        categorical=tuple(i for i, words in enumerate(vocabulary) if words is not None),
    )
    if other is None:
        tested = _held_out(data, test_groups, test_rows, checks.generator(seed))
        return replace(
            data,
            X=data.X[~tested], y=data.y[~tested], groups=data.groups[~tested],
            X_test=data.X[tested], y_test=data.y[tested], groups_test=data.groups[tested],
        )  # fmt: skip
    asked = _cells(other, target, "its class")
    strange = next((i for i, label in enumerate(asked) if other.plain(label) not in place), None)
    if strange is not None:
        raise ValueError(
            f"{other.where(strange)}: {target} is {asked[strange]!r}, which no row of {sheet.path.name} has"
        )
    return replace(
        data,
        X_test=_numbers(other, features, vocabulary),
        y_test=np.array([place[other.plain(label)] for label in asked], dtype=np.int64),
    )


def _read(path: str | os.PathLike[str], wanted: Sequence[str]) -> _Sheet:
    """The cells of a file. Its first line is a header if it has the columns wanted, or no numbers."""
    with open_table(path) as table:
        if any(name not in table.columns for name in wanted) and any(
            table.number(name) is not None for name in table.columns
        ):
            raise ValueError(
                f"{path} has no header: its first line is {shortened(table.columns)}; "
                "expected the names of the columns"
            )
        return _Sheet(table, list(table.rows()))


def _check_columns(
    sheet: _Sheet, target: str, group: str | None, drop: Sequence[str], also: Sequence[str] = ()
) -> None:
    if target == group:
        raise ValueError(f"target and group must be different columns: got {target!r} for both")
    used = next((name for name in drop if name in (target, group)), None)
    if used is not None:
        raise ValueError(f"drop must not name the target or the group: got {used!r}")
    for name in (target, *([] if group is None else [group]), *drop, *also):
        if name not in sheet.columns:
            raise ValueError(f"{sheet.path} has no column {name!r}: it has {shortened(sheet.columns)}")


def _cells(sheet: _Sheet, name: str, what: str) -> list[str]:
    """A column in which nothing may be missing."""
    cells = sheet.column(name)
    bad = next((i for i, cell in enumerate(cells) if not cell), None)
    if bad is not None:
        raise ValueError(f"{sheet.where(bad)}: {name} is empty, which should say {what}")
    return cells


def _classes(sheet: _Sheet, target: str, labels: list[str]) -> list[str]:
    first = {sheet.plain(label): label for label in reversed(labels)}  # 1 and 1.0 are one class
    found = sorted(
        first.values(), key=lambda text: (sheet.number(text) is None, sheet.number(text) or 0.0, text)
    )
    if len(found) < 2:
        raise ValueError(f"{sheet.path}: {target} must have at least two classes: all rows say {found[0]!r}")
    numbers = all(sheet.number(label) is not None for label in found)
    if numbers and len(found) > max(_MOST_CLASSES, math.isqrt(len(labels))):
        raise ValueError(
            f"{sheet.path}: {target} must be a class: it has {len(found)} different numbers in {len(labels)} "
            "rows, a measurement (for those there is ConsensusRegressor in Python)"
        )
    return found


def _vocabulary(sheet: _Sheet, name: str) -> dict[str, int] | None:
    """The words of a column and their numbers, or None if it holds numbers only.

    A column of numbers with a few other cells is a column with mistakes: as words it would say nothing.
    """
    cells = [(i, cell) for i, cell in enumerate(sheet.column(name)) if cell.lower() not in MISSING]
    wrong = [(i, cell) for i, cell in cells if sheet.number(cell) is None]
    if not wrong:
        return None
    written_otherwise = all(
        has_thousands(cell) or sheet.number(cell.replace(",", ".")) is not None for _, cell in wrong
    )
    if written_otherwise or len(wrong) < _FEW * len(cells):
        i, cell = wrong[0]
        raise ValueError(
            f"{sheet.where(i)}: {name} must be a number, as in other rows: got {cell!r}{advice(cell)}; "
            "correct it, leave it empty, or drop the column"
        )
    words = sorted({cell for _, cell in cells})
    if len(words) > max(20, 0.9 * len(cells)):
        warnings.warn(f"{name} has another word in nearly every row: an id? (drop it)", stacklevel=3)
    return {word: i for i, word in enumerate(words)}


def _groups(whose: list[str]) -> Array:
    """Names, or numbers where all are whole numbers, so that 9 comes before 10."""
    try:
        numbers = [int(name) for name in whose]
    except ValueError:
        return np.array(whose)
    return (
        np.array(numbers)
        if all(str(n) == w for n, w in zip(numbers, whose, strict=True))
        else np.array(whose)
    )


def _numbers(sheet: _Sheet, features: list[str], vocabulary: list[dict[str, int] | None]) -> Features:
    """The features as numbers; a word that the training table does not have is a new number, -1."""
    X = np.full((len(sheet.rows), len(features)), np.nan)
    for column, (name, words) in enumerate(zip(features, vocabulary, strict=True)):
        place = sheet.columns.index(name)
        for i, (line, cells) in enumerate(sheet.rows):
            cell = cells[place]
            if cell.lower() in MISSING:
                continue
            value = sheet.number(cell) if words is None else words.get(cell, -1)
            if value is None:
                raise ValueError(f"{sheet.where(i)}: {name} must be a number: got {cell!r}{advice(cell)}")
            if words is None:
                sheet.table.check_mark(cell, line, place)
            X[i, column] = value
    return X


def _held_out(
    data: MootData, test_groups: float | None, test_rows: float | None, rng: np.random.Generator
) -> Bools:
    names = data.participants
    if test_rows is not None:
        share = _share("test_rows", test_rows)
        tested = np.zeros(len(data.y), dtype=np.bool_)
        for name in names:
            own = rng.permutation(data.rows(name))
            tested[own[: min(round(share * len(own)), len(own) - 1)]] = True
        if not tested.any():
            raise ValueError(f"test_rows={share} leaves no row to test on: give more, or a file of test rows")
        return tested
    count = max(1, round(_share("test_groups", 0.2 if test_groups is None else test_groups) * len(names)))
    if len(names) - count < 2:
        raise ValueError(
            f"{len(names)} groups are too few to leave {count} of them out and let two others talk: "
            "give test rows in a file of their own, or test on a share of every group's rows"
        )
    return np.isin(data.groups, rng.permutation(names)[:count])


def _share(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise ValueError(f"{name} must satisfy 0 < {name} < 1: got {name}={value}")
    return value
