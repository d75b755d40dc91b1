"""What an ``improve`` changed: a row for each participant, with its old model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from folkmoot.arrays import Array
from folkmoot.pictures.notebook import titled

_HEADER: Final = ("participant", "rows", "shown", "before", "after")


class _Changed:
    """What a change has of either kind: the old model, and why it was kept if it was."""

    why: str | None

    @property
    def improved(self) -> bool:
        """Whether it has a new model."""
        return self.why is None


@dataclass(frozen=True, eq=False)
class Change(_Changed):
    """What changed for one participant.

    Parameters
    ----------
    name : str
        Its name.
    rows : int
        How many labelled rows it has.
    shown : int
        How many of them it showed, without labels.
    before : int
        How many of its rows the old model answers right, by clones that had not seen them.
    after : int or None
        The same of a clone that is fitted to the agreed rows alone; None where none was fitted.
    why : str or None
        Why it kept its old model; None if it has the new one.
    model : object
        The old model.

    Examples
    --------
    >>> from folkmoot.learning.improvement import Change
    >>> Change("north", rows=20, shown=10, before=8, after=14, why=None, model=None).improved
    True
    """

    name: str
    rows: int
    shown: int
    before: int
    after: int | None
    why: str | None
    model: Any

    @property
    def held(self) -> int:
        """How many of its rows the model that it has now answers right."""
        return self.after if self.why is None and self.after is not None else self.before

    @property
    def was(self) -> float:
        """The accuracy before."""
        return self.before / self.rows

    @property
    def became(self) -> float | None:
        """The accuracy of the new model; None where none was fitted."""
        return None if self.after is None else self.after / self.rows


@dataclass(frozen=True, eq=False)
class NumberChange(_Changed):
    """What changed for one participant whose model predicts numbers.

    Parameters
    ----------
    name : str
        Its name.
    rows : int
        How many rows it has whose numbers it knows.
    shown : int
        How many of them it has shown, if numbers are weighed.
    was : float
        The root mean squared error of the old model on its rows, by clones that had not seen them; nan if
        there was none to measure.
    became : float or None
        The same of a clone that is fitted to the agreed rows alone; None where none was fitted.
    why : str or None
        Why it kept its old model; None if it has the new one.
    model : object
        The old model.

    Examples
    --------
    >>> from folkmoot.learning.improvement import NumberChange
    >>> NumberChange("north", rows=20, shown=0, was=80.5, became=61.0, why=None, model=None).improved
    True
    """

    name: str
    rows: int
    shown: int
    was: float
    became: float | None
    why: str | None
    model: Any


class _Improved:
    """What both kinds tell: of all participants, of the worst, who refused, and a table."""

    changes: tuple[Any, ...]
    inputs: int
    _measure = ""
    _agreed = ""

    @property
    def mean(self) -> tuple[float, float]:
        """The mean on own rows before and after, over participants."""
        before, after = self._measured()
        return float(np.mean(before)), float(np.mean(after))

    @property
    def worst(self) -> tuple[float, float]:
        """The worst participant's, before and after."""
        before, after = self._measured()
        return self._worst(before), self._worst(after)

    @property
    def refused(self) -> dict[str, str]:
        """Who kept its old model, and why."""
        return {each.name: each.why for each in self.changes if each.why is not None}

    @property
    def models(self) -> list[Any]:
        """The old models, one per participant."""
        return [each.model for each in self.changes]

    def _measured(self) -> tuple[list[float], list[float]]:
        """Before and after, of the models that are held."""
        return (
            [each.was for each in self.changes],
            [
                each.was if each.why is not None or each.became is None else each.became
                for each in self.changes
            ],
        )

    @staticmethod
    def _worst(values: Sequence[float]) -> float:
        raise NotImplementedError

    @staticmethod
    def _written(value: float) -> str:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Give the table as plain values, for JSON.

        Returns
        -------
        dict
            ``inputs``, ``mean`` and ``worst`` (before, after), and ``participants``, a dictionary each.
        """
        return {
            "inputs": self.inputs,
            "mean": {"before": self.mean[0], "after": self.mean[1]},
            "worst": {"before": self.worst[0], "after": self.worst[1]},
            "refused": self.refused,
            "participants": [
                {
                    "name": each.name, "rows": each.rows, "shown": each.shown, "before": each.was,
                    "after": each.became, "improved": each.improved, "why": each.why,
                }
                for each in self.changes
            ],
        }  # fmt: skip

    def _title(self) -> str:
        return (
            f"{self.inputs:,} inputs {self._agreed} by agreement; {self._measure} on own rows, by models "
            "that have not seen them"
        )

    def _cells(self) -> list[list[str]]:
        """A row for each participant, the mean and the worst: name, rows, shown, before, after, why."""
        cells = [
            [
                each.name,
                str(each.rows),
                str(each.shown),
                self._written(each.was),
                "-" if each.became is None else self._written(each.became),
                "" if each.why is None else f"keeps its old model: {each.why}",
            ]
            for each in self.changes
        ]
        for name, (before, after) in (("mean", self.mean), ("worst", self.worst)):
            cells.append([name, "", "", self._written(before), self._written(after), ""])
        return cells

    def __str__(self) -> str:
        cells = [[*_HEADER, ""], *self._cells()]
        wide = [max(len(row[column]) for row in cells) for column in range(5)]
        lines = [
            "  ".join(
                [row[0].ljust(wide[0]), *(row[column].rjust(wide[column]) for column in range(1, 5)), row[5]]
            ).rstrip()
            for row in cells
        ]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        return titled(
            self._title(),
            ["participant", "rows", "shown", "before", "after", "what it does"],
            self._cells(),
            [],
        )


@dataclass(frozen=True, eq=False)
class Improvement(_Improved):
    """What ``ConsensusClassifier.improve`` changed, participant by participant.

    Accuracies are on each participant's own labelled rows, by models that have not seen them: before, by
    five-fold clones of the old model; after, by a clone fitted to the agreed rows alone.

    Parameters
    ----------
    changes : tuple of Change
        One for each participant, with its old model.
    inputs : int
        How many inputs the pool had.
    labels : ndarray, shape (participant, input)
        The labels that each came to for the pool.

    See Also
    --------
    ConsensusClassifier.improve : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.learning.improvement import Change, Improvement
    >>> north = Change("north", 20, 10, 8, 14, None, None)
    >>> south = Change("south", 5, 2, 5, None, "one class", None)
    >>> found = Improvement((north, south), 300, np.zeros((2, 300)))
    >>> found.mean, found.worst, found.refused
    ((0.7, 0.85), (0.4, 0.7), {'south': 'one class'})
    >>> print(found)
    300 inputs labelled by agreement; accuracy on own rows, by models that have not seen them
    participant  rows  shown  before  after
    north          20     10    .400   .700
    south           5      2   1.000      -  keeps its old model: one class
    mean                        .700   .850
    worst                       .400   .700
    """

    changes: tuple[Change, ...]
    inputs: int
    labels: Array
    _measure = "accuracy"
    _agreed = "labelled"

    @staticmethod
    def _worst(values: Sequence[float]) -> float:
        return float(np.min(values))

    @staticmethod
    def _written(value: float) -> str:
        return f"{value:.3f}".removeprefix("0")


@dataclass(frozen=True, eq=False)
class NumberImprovement(_Improved):
    """What ``ConsensusRegressor.improve`` changed, participant by participant.

    Root mean squared errors are on each participant's own rows, by models that have not seen them: before, by
    five-fold clones of the old model; after, by a clone fitted to the agreed rows alone.

    Parameters
    ----------
    changes : tuple of NumberChange
        One for each participant, with its old model.
    inputs : int
        How many inputs the pool had.
    numbers : ndarray of float, shape (participant, input) or (participant, input, output)
        The numbers that each came to for the pool.

    See Also
    --------
    ConsensusRegressor.improve : Makes it.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.learning.improvement import NumberChange, NumberImprovement
    >>> north = NumberChange("north", 20, 0, 80.5, 61.0, None, None)
    >>> south = NumberChange("south", 5, 0, 70.0, 90.0, "loses", None)
    >>> found = NumberImprovement((north, south), 300, np.zeros((2, 300)))
    >>> found.mean, found.worst, found.refused
    ((75.25, 65.5), (80.5, 70.0), {'south': 'loses'})
    >>> print(found)
    300 inputs numbered by agreement; root mean squared error on own rows, by models that have not seen them
    participant  rows  shown  before  after
    north          20      0    80.5     61
    south           5      0      70     90  keeps its old model: loses
    mean                       75.25   65.5
    worst                       80.5     70
    """

    changes: tuple[NumberChange, ...]
    inputs: int
    numbers: Array
    _measure = "root mean squared error"
    _agreed = "numbered"

    @staticmethod
    def _worst(values: Sequence[float]) -> float:
        return float(np.max(values))

    @staticmethod
    def _written(value: float) -> str:
        return f"{value:.4g}"
