"""What every loader returns: rows, labels and whose row it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot.arrays import Array, Features, Ints
from folkmoot.datasets.summary import Summary, summarise


@dataclass(frozen=True, eq=False)
class MootData:
    """Data of several participants, as every loader returns them.

    They are made for ``ConsensusClassifier(...).fit(data.X, data.y, groups=data.groups)``.

    Parameters
    ----------
    X : ndarray of float, shape (row, feature)
        The rows to train on.
    y : ndarray of int, shape (row,)
        The number of each row's class; ``classes[y]`` are the names.
    groups : ndarray, shape (row,)
        The participant of each row: a number or a name.
    feature_names : tuple of str
        A name for each column of ``X``.
    classes : ndarray, shape (class,)
        The names of the classes.
    description : str
        One line: which data these are.
    X_test : ndarray of float, shape (test row, feature), optional
        Rows to test on, which are nobody's training rows.
    y_test : ndarray of int, shape (test row,), optional
        The number of each test row's class.
    groups_test : ndarray, shape (test row,), optional
        Where each test row comes from, if known.
    categorical : tuple of int, default ()
        The columns of ``X`` whose numbers stand for words.

    Raises
    ------
    ValueError
        If ``y`` or ``groups`` has not one value per row of ``X``, or the same of the test rows.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.datasets import MootData
    >>> X, y = np.array([[0.1], [0.9], [0.8]]), np.array([0, 1, 1])
    >>> groups, classes = np.array(["north", "south", "south"]), np.array(["ill", "well"])
    >>> data = MootData(X, y, groups, ("dose",), classes, "three patients of two clinics")
    >>> data.rows("south")
    array([1, 2])
    """

    X: Features
    y: Ints
    groups: Array
    feature_names: tuple[str, ...]
    classes: Array
    description: str
    X_test: Features | None = None
    y_test: Ints | None = None
    groups_test: Array | None = None
    categorical: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for suffix in ("", "_test"):
            table, *columns = (getattr(self, name + suffix) for name in ("X", "y", "groups"))
            for name, column in zip(("y", "groups"), columns, strict=True):
                if column is not None and (table is None or len(column) != len(table)):
                    rows = 0 if table is None else len(table)
                    raise ValueError(
                        f"{name}{suffix} must hold one value per row of X{suffix} ({rows}): got {len(column)}"
                    )

    @property
    def participants(self) -> Array:
        """Who takes part, sorted."""
        return np.unique(self.groups)

    def rows(self, group: object) -> Ints:
        """The numbers of the rows of one participant."""
        found = np.flatnonzero(self.groups == group)
        if not found.size:
            raise KeyError(f"no participant is called {group!r}")
        return found.astype(np.int64)

    def summary(self) -> Summary:
        """Training rows per participant and class, to print or to draw."""
        return summarise(self.groups, self.classes[self.y])
