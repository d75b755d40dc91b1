"""Columns of a table as features: numbers and texts unchanged, words numbered.

A moot that learnt from one table reads the rows of another by the same ``Layout``.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Array
from folkmoot.datasets.sheets import MISSING, Sheet, read_sheet
from folkmoot.files.tabular import advice, has_thousands, is_frame, shortened, texts_table, without_unit

_FEW: Final = 0.2  # other cells than this share of a column of numbers are mistakes
_MANY_WORDS: Final = 3  # so many words a cell, on average, are a text
_COUNTED: Final = 10  # rows from which on 1, 2, 3, ... is a count of them and no chance


@dataclass(frozen=True)
class Layout:
    """The columns of a table that are features, and their kinds."""

    target: str  # the column that is predicted
    group: str  # the column that says whose row it is
    features: tuple[str, ...]  # the columns to predict from
    # For each of them its words, numbered in this order; None for a column of numbers or texts.
    words: tuple[tuple[str, ...] | None, ...]
    texts: tuple[int, ...] = ()  # the places of those that hold texts

    @property
    def categorical(self) -> tuple[int, ...]:
        """The places of columns that hold words."""
        return tuple(i for i, words in enumerate(self.words) if words is not None)

    def rows(self, sheet: Sheet) -> Array:
        """The features as numbers, (row, feature); an array of objects where there are texts.

        A word that the training table does not have is a new number, -1; a missing text is empty.
        """
        X: Array = np.full(
            (len(sheet.rows), len(self.features)), np.nan, dtype=object if self.texts else float
        )
        for column, (name, words) in enumerate(zip(self.features, self.words, strict=True)):
            if column in self.texts:
                X[:, column] = sheet.column(name)
                continue
            numbered = None if words is None else {word: i for i, word in enumerate(words)}
            place = sheet.columns.index(name)
            for i, (line, cells) in enumerate(sheet.rows):
                cell = cells[place]
                if cell.lower() in MISSING:
                    continue
                value = sheet.number(cell) if numbered is None else float(numbered.get(cell, -1))
                if value is None:
                    raise ValueError(f"{sheet.where(i)}: {name} must be a number: got {cell!r}{advice(cell)}")
                if numbered is None:
                    sheet.table.check_mark(cell, line, place)
                X[i, column] = value
        return X


class NewRows(NamedTuple):
    """Rows of another file by a layout: their features, and the cells of the file."""

    X: Array
    sheet: Sheet


def read_rows(source: Any, layout: Layout) -> NewRows:
    """The rows of a file or data frame that need not have a target; columns are found by name, in any order.

    A missing column is an error. One warning names columns that are not used, and one each column with words
    that the training table does not have.
    """
    if not is_frame(source) and Path(source).suffix.lower() == ".txt" and len(layout.features) == 1:
        table = texts_table(Path(source), layout.features[0])
        sheet = Sheet(table, list(table.rows()))
    else:
        sheet = read_sheet(source, layout.features)
    missing = [name for name in layout.features if name not in sheet.columns]
    extra = [name for name in sheet.columns if name not in (*layout.features, layout.target, layout.group)]
    if missing:
        raise ValueError(_about_missing(sheet, missing, extra))
    X = layout.rows(sheet)
    if extra:
        warnings.warn(
            f"not used, as the moot did not learn from them: {shortened(extra)}",
            checks.MootWarning,
            stacklevel=2,
        )
    for column in layout.categorical:
        strange = sorted(
            {
                cell
                for cell, number in zip(sheet.column(layout.features[column]), X[:, column], strict=True)
                if number == -1
            }
        )
        if strange:
            known = shortened(layout.words[column] or ())
            warnings.warn(
                f"{layout.features[column]} has words that the moot has not seen, so it ignores them: "
                f"{shortened(strange)} (it knows {known})",
                checks.MootWarning,
                stacklevel=2,
            )
    return NewRows(X, sheet)


def _about_missing(sheet: Sheet, missing: list[str], extra: list[str]) -> str:
    names = ", ".join(map(repr, missing[:12])) + (
        f" and {len(missing) - 12} more" if len(missing) > 12 else ""
    )
    folded = {name.casefold().strip(): name for name in extra}
    close = difflib.get_close_matches(missing[0].casefold(), folded, n=1)
    renamed = f"; is {folded[close[0]]!r} what was {missing[0]!r}? rename it" if close else ""
    column = "column" if len(missing) == 1 else "columns"
    return (
        f"{sheet.path} has no {column} {names}, from which the moot learnt: "
        f"it has {shortened(sheet.columns)}{renamed}"
    )


def layout_of(sheet: Sheet, target: str, group: str, drop: Sequence[str]) -> Layout:
    """The kind of each column; warnings name those that are left out, count rows, or look like ids."""
    features = [name for name in sheet.columns if name not in (target, group, *drop)]
    empty = [name for name in features if all(cell.lower() in MISSING for cell in sheet.column(name))]
    if empty:
        warnings.warn(
            f"left out, as they have no values: {shortened(empty)}", checks.MootWarning, stacklevel=3
        )
        features = [name for name in features if name not in empty]
    if not features:
        raise ValueError(f"{sheet.path}: must have a column to predict {target!r} from: there is no other")
    words: list[tuple[str, ...] | None] = []
    texts = []
    for place, name in enumerate(features):
        found = _words_of(sheet, name)
        if found is not None and _is_text(sheet, name, found):
            texts.append(place)
            found = None
            warnings.warn(
                f"{name} holds texts: each participant makes features of their words (TF-IDF), "
                "unless it is dropped",
                checks.MootWarning,
                stacklevel=3,
            )
        elif found is not None and len(found) > max(20, 0.9 * len(sheet.rows)):
            warnings.warn(
                f"{name} has a different word in nearly every row: is it an id? Then drop it",
                checks.MootWarning,
                stacklevel=3,
            )
        elif found is None and _counts_rows(sheet, name):
            called = repr(name) if name else "the column without a name"
            warnings.warn(
                f"{called} numbers the rows, which cannot help with new ones: drop it",
                checks.MootWarning,
                stacklevel=3,
            )
        words.append(found)
    return Layout(target, group, tuple(features), tuple(words), tuple(texts))


def _words_of(sheet: Sheet, name: str) -> tuple[str, ...] | None:
    """The words of a column, sorted, or None if it holds numbers only.

    A column of numbers with a few other cells is a column with mistakes: as words it would say nothing.
    """
    cells = [(i, cell) for i, cell in enumerate(sheet.column(name)) if cell.lower() not in MISSING]
    wrong = [(i, cell) for i, cell in cells if sheet.number(cell) is None]
    if not wrong:
        return None
    bare = [without_unit(cell) for _, cell in wrong]
    written_otherwise = all(
        has_thousands(cell) or sheet.number(cell.replace(",", ".")) is not None for cell in bare
    )
    if written_otherwise or len(wrong) < _FEW * len(cells):
        i, cell = wrong[0]
        raise ValueError(
            f"{sheet.where(i)}: {name} must be a number, as in other rows: got {cell!r}{advice(cell)}; "
            "correct it, leave it empty, or drop the column"
        )
    return tuple(sorted({cell for _, cell in cells}))


def _is_text(sheet: Sheet, name: str, words: Sequence[str]) -> bool:
    """Whether most cells differ and are of several words."""
    cells = [cell for cell in sheet.column(name) if cell.lower() not in MISSING]
    several = sum(len(cell.split()) for cell in cells) >= _MANY_WORDS * len(cells)
    return several and len(words) > 0.5 * len(cells) and len(words) >= _COUNTED


def _counts_rows(sheet: Sheet, name: str) -> bool:
    """Whether a column of numbers is 0, 1, 2, ... or 1, 2, 3, ..., in any order."""
    cells = [sheet.number(cell) for cell in sheet.column(name)]
    if len(cells) < _COUNTED or any(cell is None for cell in cells):
        return False
    numbers = sorted(cell for cell in cells if cell is not None)
    return numbers[0] in (0, 1) and numbers == [numbers[0] + i for i in range(len(numbers))]
