"""``MootData``, the result of every loader: rows, labels and participants."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from folkmoot.arrays import Array, Bools, Ints
from folkmoot.datasets.layout import Layout
from folkmoot.datasets.summary import Summary, summarise

_QUARTERS: Final = np.array(["quarter 1 (lowest)", "quarter 2", "quarter 3", "quarter 4 (highest)"])


@dataclass(frozen=True, eq=False)
class MootData:
    """Data of several participants, as every loader returns them.

    They are made for ``ConsensusClassifier(...).fit(data.X, data.y, groups=data.groups)``.

    Parameters
    ----------
    X : ndarray of float, shape (row, feature)
        The rows to train on; objects where some columns hold texts.
    y : ndarray of int or float, shape (row,)
        The number of each row's class; ``classes[y]`` are the names. Without classes, the number to predict.
    groups : ndarray, shape (row,)
        The participant of each row: a number or a name.
    feature_names : tuple of str
        A name for each column of ``X``.
    classes : ndarray, shape (class,)
        The names of the classes; none where numbers are predicted.
    description : str
        One line: which data these are.
    X_test : ndarray of float, shape (test row, feature), optional
        Rows to test on, which are nobody's training rows.
    y_test : ndarray of int, shape (test row,), optional
        The number of each test row's class.
    groups_test : ndarray, shape (test row,), optional
        The origin of each test row, if known.
    categorical : tuple of int, default ()
        The columns of ``X`` whose numbers stand for words.
    texts : tuple of int, default ()
        The columns of ``X`` that hold texts.
    layout : Layout, optional
        For data from a file: the kinds of its columns, to read rows of another file in the same way.
    lines : ndarray of int, shape (row,), optional
        For data from a file: the line of each row.
    lines_test : ndarray of int, shape (test row,), optional
        The same of the test rows.
    tested : str, default ""
        Which rows are tested on, in words: which groups were left out, what share, or which file.

    Raises
    ------
    ValueError
        If ``y`` or ``groups`` has not one value per row of ``X``, or the same of the test rows.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.datasets.moot_data import MootData
    >>> X, y = np.array([[0.1], [0.9], [0.8]]), np.array([0, 1, 1])
    >>> groups, classes = np.array(["north", "south", "south"]), np.array(["ill", "well"])
    >>> data = MootData(X, y, groups, ("dose",), classes, "three patients of two clinics")
    >>> data.rows("south")
    array([1, 2])
    """

    X: Array
    y: Array
    groups: Array
    feature_names: tuple[str, ...]
    classes: Array
    description: str
    X_test: Array | None = None
    y_test: Array | None = None
    groups_test: Array | None = None
    categorical: tuple[int, ...] = ()
    texts: tuple[int, ...] = ()
    layout: Layout | None = None
    lines: Ints | None = None
    lines_test: Ints | None = None
    tested: str = ""

    def __post_init__(self) -> None:
        for suffix in ("", "_test"):
            table, *columns = (getattr(self, name + suffix) for name in ("X", "y", "groups", "lines"))
            for name, column in zip(("y", "groups", "lines"), columns, strict=True):
                if column is not None and (table is None or len(column) != len(table)):
                    rows = 0 if table is None else len(table)
                    raise ValueError(
                        f"{name}{suffix} must hold one value per row of X{suffix} ({rows}): got {len(column)}"
                    )

    @property
    def participants(self) -> Array:
        """The participants, sorted."""
        return np.unique(self.groups)

    def rows(self, group: object) -> Ints:
        """The numbers of the rows of one participant."""
        found = np.flatnonzero(self.groups == group)
        if not found.size:
            raise KeyError(f"no participant is called {group!r}")
        return found.astype(np.int64)

    @property
    def numeric(self) -> bool:
        """Whether numbers are predicted and not classes."""
        return not len(self.classes)

    def tested_on(self, rows: Bools) -> MootData:
        """The same data with these rows, of the training rows, to test on."""
        train, test = ~rows, rows
        lines = self.lines
        return replace(
            self,
            X=self.X[train], y=self.y[train], groups=self.groups[train],
            X_test=self.X[test], y_test=self.y[test], groups_test=self.groups[test],
            lines=None if lines is None else lines[train], lines_test=None if lines is None else lines[test],
        )  # fmt: skip

    def summary(self) -> Summary:
        """Training rows per participant and class, or quarter of the numbers, to print or to draw."""
        if not self.numeric:
            return summarise(self.groups, self.classes[self.y])
        quarter = np.searchsorted(np.quantile(self.y, [0.25, 0.5, 0.75]), self.y)
        return summarise(self.groups, _QUARTERS[quarter])
