"""What an ``improve`` changed: a row for each participant, with its old model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from folkmoot.arrays import Array


@dataclass(frozen=True, eq=False)
class Change:
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
    def improved(self) -> bool:
        """Whether it has a new model."""
        return self.why is None

    @property
    def held(self) -> int:
        """How many of its rows the model that it has now answers right."""
        return self.after if self.why is None and self.after is not None else self.before


@dataclass(frozen=True, eq=False)
class Improvement:
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

    @property
    def mean(self) -> tuple[float, float]:
        """Mean accuracy on own rows before and after, over participants."""
        before, after = self._shares()
        return float(np.mean(before)), float(np.mean(after))

    @property
    def worst(self) -> tuple[float, float]:
        """The lowest accuracy on own rows before and after."""
        before, after = self._shares()
        return float(np.min(before)), float(np.min(after))

    @property
    def refused(self) -> dict[str, str]:
        """Who kept its old model, and why."""
        return {each.name: each.why for each in self.changes if each.why is not None}

    @property
    def models(self) -> list[Any]:
        """The old models, one per participant."""
        return [each.model for each in self.changes]

    def _shares(self) -> tuple[list[float], list[float]]:
        return (
            [each.before / each.rows for each in self.changes],
            [each.held / each.rows for each in self.changes],
        )

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
                    "name": each.name, "rows": each.rows, "shown": each.shown,
                    "before": each.before / each.rows,
                    "after": None if each.after is None else each.after / each.rows,
                    "improved": each.improved, "why": each.why,
                }
                for each in self.changes
            ],
        }  # fmt: skip

    def __str__(self) -> str:
        wide = max(len("participant"), *(len(each.name) for each in self.changes))
        lines = [
            f"{self.inputs:,} inputs labelled by agreement; accuracy on own rows, by models that have not "
            "seen them",
            f"{'participant':<{wide}}  rows  shown  before  after",
        ]
        for each in self.changes:
            after = "-" if each.after is None else _share(each.after / each.rows)
            kept = "" if each.why is None else f"  keeps its old model: {each.why}"
            lines.append(
                f"{each.name:<{wide}}  {each.rows:>4}  {each.shown:>5}  {_share(each.before / each.rows):>6}"
                f"  {after:>5}{kept}"
            )
        for name, (before, after_all) in (("mean", self.mean), ("worst", self.worst)):
            lines.append(f"{name:<{wide}}  {'':>4}  {'':>5}  {_share(before):>6}  {_share(after_all):>5}")
        return "\n".join(lines)


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")
