"""What every loader returns: rows, labels and whose row it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array, Ints
from folkmoot.datasets.summary import Summary, summarise

Features = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class MootData:
    """Data of several participants: ``ConsensusClassifier(...).fit(data.X, data.y, groups=data.groups)``.

    ``y`` and ``y_test`` number the classes; ``classes[y]`` are their names. The test rows are nobody's
    training rows; ``groups_test``, where known, says where they come from.
    """

    X: Features  # (row, feature)
    y: Ints
    groups: Array  # the participant of each row: a number or a name
    feature_names: tuple[str, ...]
    classes: Array
    description: str
    X_test: Features | None = None
    y_test: Ints | None = None
    groups_test: Array | None = None
    categorical: tuple[int, ...] = ()  # features whose numbers stand for words

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
