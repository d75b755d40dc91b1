"""A user's own table as ``MootData``: one column to predict, one that says whose row it is.

``folkmoot.files.tabular`` reads the files; ``read_table`` says what the cells mean. An empty target or group
is an error, while ``NA`` or ``none`` there is a name like any other.
"""

from __future__ import annotations

import math
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from folkmoot import checks
from folkmoot.arrays import Array, Bools
from folkmoot.datasets.layout import layout_of
from folkmoot.datasets.moot_data import MootData
from folkmoot.datasets.sheets import Sheet, read_sheet
from folkmoot.files.tabular import advice, shortened

Task = Literal["classification", "regression"]

# More different numbers than this are a measurement, unless they are the whole numbers 0 to C - 1 or 1 to C,
# which code classes, and at most as many as the root of the number of rows.
_MOST_CLASSES = 20


def read_table(
    path: str | os.PathLike[str],
    target: str,
    group: str,
    *,
    drop: Sequence[str] = (),
    test: str | os.PathLike[str] | None = None,
    test_groups: float | None = None,
    test_rows: float | None = None,
    task: Task | None = None,
    seed: int = 0,
) -> MootData:
    """Read the rows of a table by participant, and rows to test on.

    A file is text with commas, semicolons or tabs between its cells, gzipped or not, or parquet; its first
    line is a header. A column whose cells are all numbers is numbers. One whose cells mostly differ and have
    three words or more, on average, holds texts; ``X`` is then an array of objects. Any other holds words,
    which are numbered in their sorted order. A feature is missing (nan) if its cell is empty, ``NA``,
    ``N/A``, ``NaN``, ``?``, ``null`` or ``none``.

    Give one of ``test``, ``test_groups`` and ``test_rows`` at the most. Default: ``test_groups=0.2``.

    Parameters
    ----------
    path : str or path-like
        The file.
    target : str
        The column to predict: a class, in words or numbers, or a measurement.
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
    task : {"classification", "regression"}, optional
        The kind of target: a class, or a number to be as near to as possible. Default: a class if there are
        at most 20 different ones. More are classes only if they are the whole numbers from 0 or 1 on, and at
        most the root of the rows.
    seed : int, default 0
        The same seed draws the same test rows.

    Returns
    -------
    MootData
        The rows, their classes and whose they are; ``categorical`` says which columns hold words, ``texts``
        which hold texts. Of a measurement ``y`` has the numbers, and there are no ``classes``. ``layout`` is
        what reads rows of another file in the same way.

    Raises
    ------
    ValueError
        If a column is not there, or the class or the owner of a row is missing. Or if each row or all rows
        have one owner. The message names the file and the line.

    Warns
    -----
    UserWarning
        If a column has no values, which is then left out. If it holds texts, or counts the rows, or if nearly
        every row has a word of its own.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from folkmoot.datasets import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "patients.csv")
    ...     rows = [f"{40 + i % 5},{i % 3},{('no', 'yes')[i % 2]}" for i in range(12)]
    ...     _ = path.write_text("\\n".join(["age,clinic,ill", *rows]))
    ...     data = read_table(path, "ill", "clinic", test_rows=0.25)
    >>> data.participants, data.classes
    (array([0, 1, 2]), array(['no', 'yes'], dtype='<U3'))
    >>> data.X.shape, data.X_test.shape
    ((9, 1), (3, 1))
    """
    given = {"test": test, "test_groups": test_groups, "test_rows": test_rows}
    both = {name: value for name, value in given.items() if value is not None}
    if len(both) > 1:
        names = ", ".join(f"{{{name}=}}" for name in both)
        raise checks.ArgumentError(
            f"give only one of {' and '.join(f'{{{name}}}' for name in both)}: got {names}",
            **both,
        )
    if task is not None and task not in get_args(Task):
        raise checks.ArgumentError(
            "{task} must be {tasks!s}: got {got!r}",
            tasks=" or ".join(get_args(Task)),
            got=task,
        )
    sheet = read_sheet(path, (target, group))
    _check_columns(sheet, target, group, drop)
    layout = layout_of(sheet, target, group, drop)
    labels = sheet.filled(target, "its class")
    X, whose = layout.rows(sheet), _groups(sheet, group)
    other = None if test is None else read_sheet(test, (target,))
    if other is not None:
        _check_columns(other, target, None, (), also=layout.features)
    numeric = _is_measured(sheet, labels) if task is None else task == "regression"
    classes = [] if numeric else _classes(sheet, target, labels)
    place = {sheet.plain(label): i for i, label in enumerate(classes)}

    def meaning(of: Sheet, cells: list[str]) -> Array:
        return _measurements(of, target, cells) if numeric else np.array([place[of.plain(x)] for x in cells])

    data = MootData(
        X=X,
        y=meaning(sheet, labels),
        groups=whose,
        feature_names=layout.features,
        classes=np.array(classes),
        description=f"{sheet.path.name}: {target} by {group}",
        categorical=layout.categorical,
        texts=layout.texts,
        layout=layout,
        lines=np.array(sheet.lines),
    )
    if other is None:
        tested = _held_out(data, test_groups, test_rows, checks.generator(seed))
        if test_rows is not None:
            how = f"tested on {tested.sum():,} rows, {test_rows:.0%} of every group's"
        else:
            left_out = np.unique(whose[tested]).tolist()
            these = f"{len(left_out)} groups" if len(left_out) > 1 else "one group"
            how = (
                f"tested on the {tested.sum():,} rows of {these} that take no part: "
                f"{shortened(list(map(str, left_out)))}"
            )
        return replace(data.tested_on(tested), tested=how)
    asked = other.filled(target, "its class")
    strange = next((i for i, label in enumerate(asked) if other.plain(label) not in place), None)
    if not numeric and strange is not None:
        raise ValueError(
            f"{other.where(strange)}: {target} is {asked[strange]!r}, which no row of {sheet.path.name} has"
        )
    return replace(
        data,
        X_test=layout.rows(other),
        y_test=meaning(other, asked),
        groups_test=_names(other.column(group)) if group in other.columns else None,
        lines_test=np.array(other.lines),
        tested=f"tested on the {len(asked):,} rows of {other.path.name}",
    )


def _check_columns(
    sheet: Sheet, target: str, group: str | None, drop: Sequence[str], also: Sequence[str] = ()
) -> None:
    if target == group:
        raise checks.ArgumentError(
            "{group} must be another column than the target: got {target=}, {group=}",
            target=repr(target),
            group=repr(group),
        )
    used = next((name for name in drop if name in (target, group)), None)
    if used is not None:
        raise checks.ArgumentError("{drop} must not name the target or the group: got {used!r}", used=used)
    for name in (target, *([] if group is None else [group]), *drop, *also):
        if name not in sheet.columns:
            raise ValueError(f"{sheet.path} has no column {name!r}: it has {shortened(sheet.columns)}")


def _classes(sheet: Sheet, target: str, labels: list[str]) -> list[str]:
    first = {sheet.plain(label): label for label in reversed(labels)}  # 1 and 1.0 are one class
    found = sorted(
        first.values(), key=lambda text: (sheet.number(text) is None, sheet.number(text) or 0.0, text)
    )
    if len(found) < 2:
        raise ValueError(f"{sheet.path}: {target} must have at least two classes: all rows say {found[0]!r}")
    return found


def _is_measured(sheet: Sheet, labels: list[str]) -> bool:
    """Whether a column of numbers has too many different ones for classes, or such as no class has."""
    numbers = {sheet.number(label) for label in labels}
    if None in numbers or len(numbers) <= _MOST_CLASSES:
        return False
    codes = any(numbers == set(range(first, first + len(numbers))) for first in (0, 1))
    return not codes or len(numbers) > math.isqrt(len(labels))


def _measurements(sheet: Sheet, target: str, cells: list[str]) -> Array:
    numbers = [sheet.number(cell) for cell in cells]
    bad = next((i for i, number in enumerate(numbers) if number is None), None)
    if bad is not None:
        raise checks.ArgumentError(
            "{where!s}: {column!s} must be a number: got {cell!r}{advice!s} "
            "({task} says whether words are classes)",
            where=sheet.where(bad),
            column=target,
            cell=cells[bad],
            advice=advice(cells[bad]),
        )
    if len(set(numbers)) < 2:
        raise ValueError(f"{sheet.path}: {target} must differ between rows: all say {cells[0]!r}")
    return np.array(numbers, dtype=np.float64)


def _groups(sheet: Sheet, group: str) -> Array:
    """The participant of each row: at least two, and not one per row."""
    whose = sheet.filled(group, "whose row it is")
    different = len(set(whose))
    if different == 1:
        raise checks.ArgumentError(
            "{group} must name a column of at least two participants: in {group!r} all rows of {path!s} "
            "say {only!r}; it has {columns!s}",
            group=group,
            path=sheet.path,
            only=whose[0],
            columns=shortened(sheet.columns),
        )
    if different == len(whose) > 2:
        raise checks.ArgumentError(
            "{group} must name the column of owners, and {group!r} is another in every row of {path!s}; "
            "it has {columns!s}",
            group=group,
            path=sheet.path,
            columns=shortened(sheet.columns),
        )
    alone = sum(rows == 1 for rows in Counter(whose).values())
    if 2 * alone > different:
        warnings.warn(
            f"{alone} of {different} groups have one row to learn from: is {group!r} the column of owners?",
            checks.MootWarning,
            stacklevel=3,
        )
    return _names(whose)


def _names(whose: list[str]) -> Array:
    """Names, or numbers where all are whole numbers, so that 9 comes before 10."""
    try:
        numbers = [int(name) for name in whose]
    except ValueError:
        return np.array(whose)
    same = all(str(n) == w for n, w in zip(numbers, whose, strict=True))
    return np.array(numbers) if same else np.array(whose)


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
            raise checks.ArgumentError(
                "{test_rows=} leaves no row to test on: give more, or a file of test rows",
                test_rows=share,
            )
        return tested
    count = max(1, round(_share("test_groups", 0.2 if test_groups is None else test_groups) * len(names)))
    if len(names) - count < 2:
        raise checks.ArgumentError(
            "{groups!s} groups are too few to leave {count!s} out and let two vote: give a file of test rows "
            "({test}), or a share of every group's rows ({test_rows=})",
            groups=len(names),
            count=count,
            test_rows=0.2,
        )
    return np.isin(data.groups, rng.permutation(names)[:count])


def _share(name: str, value: float) -> float:
    if not 0 < value < 1:
        raise checks.ArgumentError(
            f"{{{name}}} must satisfy 0 < {name} < 1: got {{{name}=}}",
            **{name: value},
        )
    return value
