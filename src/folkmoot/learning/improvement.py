"""Changes by ``improve``: one row per participant, with its old model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from folkmoot.arrays import Array
from folkmoot.comparing.printing import PlainTable, Printed


@dataclass(frozen=True, eq=False)
class ModelChange:
    """The change of one participant."""

    name: str
    rows: int  # how many labelled rows it has
    shown: int  # how many of them it showed
    # The score of the old model on its rows, by clones that had not seen them; nan if none was measured.
    was: float
    # The same of a clone that is fitted to the agreed rows alone; None where none was fitted.
    became: float | None
    why: str | None  # why it kept its old model; None if it has the new one
    model: Any  # the old model

    @property
    def improved(self) -> bool:
        """Whether it has a new model."""
        return self.why is None


@dataclass(frozen=True, eq=False)
class Improvement(Printed):
    """Changes by ``improve``, participant by participant.

    Scores are on each participant's own rows, by models that have not seen them. Before: five-fold clones of
    the old model. After: a clone fitted to the agreed rows alone. They are accuracies of labels, and root
    mean squared errors of numbers.
    """

    changes: tuple[ModelChange, ...]  # one for each participant, with its old model
    inputs: int  # how many inputs the pool had
    # (participant, input) or (participant, input, output): the labels or numbers that each came to for the
    # pool.
    agreed: Array
    numbers: bool = False  # whether these are numbers

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
        """Give the table as plain values, for JSON."""
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

    def _as_table(self) -> PlainTable:
        return self._title(), ["participant", "rows", "shown", "before", "after", ""], self._cells(), []
