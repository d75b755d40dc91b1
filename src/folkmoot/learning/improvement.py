"""Changes by ``improve``: one row per participant, with its old model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from folkmoot.arrays import Array
from folkmoot.pictures.notebook import titled

_HEADER: Final = ("participant", "rows", "shown", "before", "after")


@dataclass(frozen=True, eq=False)
class ModelChange:
    """The change of one participant.

    Parameters
    ----------
    name : str
        Its name.
    rows : int
        How many labelled rows it has.
    shown : int
        How many of them it showed.
    was : float
        The score of the old model on its rows, by clones that had not seen them; nan if none was measured.
    became : float or None
        The same of a clone that is fitted to the agreed rows alone; None where none was fitted.
    why : str or None
        Why it kept its old model; None if it has the new one.
    model : object
        The old model.

    Examples
    --------
    >>> from folkmoot.learning.improvement import ModelChange
    >>> ModelChange("north", rows=20, shown=10, was=0.4, became=0.7, why=None, model=None).improved
    True
    """

    name: str
    rows: int
    shown: int
    was: float
    became: float | None
    why: str | None
    model: Any

    @property
    def improved(self) -> bool:
        """Whether it has a new model."""
        return self.why is None


@dataclass(frozen=True, eq=False)
class Improvement:
    """Changes by ``improve``, participant by participant.

    Scores are on each participant's own rows, by models that have not seen them. Before: five-fold clones of
    the old model. After: a clone fitted to the agreed rows alone. They are accuracies of labels, and root
    mean squared errors of numbers.

    Parameters
    ----------
    changes : tuple of ModelChange
        One for each participant, with its old model.
    inputs : int
        How many inputs the pool had.
    agreed : ndarray, shape (participant, input) or (participant, input, output)
        The labels or numbers that each came to for the pool.
    numbers : bool, default False
        Whether these are numbers.

    See Also
    --------
    ConsensusClassifier.improve : Makes it.
    ConsensusRegressor.improve : Makes it, of numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.learning.improvement import ModelChange, Improvement
    >>> north = ModelChange("north", 20, 10, 0.4, 0.7, None, None)
    >>> south = ModelChange("south", 5, 2, 1.0, None, "one class", None)
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

    changes: tuple[ModelChange, ...]
    inputs: int
    agreed: Array
    numbers: bool = False

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
        """Participants that kept their old model, with the reasons."""
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

    def _worst(self, values: Sequence[float]) -> float:
        return float(np.max(values) if self.numbers else np.min(values))

    def _written(self, value: float) -> str:
        return f"{value:.4g}" if self.numbers else f"{value:.3f}".removeprefix("0")

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
        what, score = ("numbered", "root mean squared error") if self.numbers else ("labelled", "accuracy")
        return (
            f"{self.inputs:,} inputs {what} by agreement; {score} on own rows, by models that have not seen "
            "them"
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
