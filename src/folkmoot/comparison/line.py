"""One way to answer, and how well it does: a line of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from folkmoot.arrays import Bools, Ints


@dataclass(frozen=True)
class Line:
    """One way to answer, and how well it does: a line of a ``Report``.

    Parameters
    ----------
    name : str
        Who decides, such as "majority" or "consensus".
    accuracy : float or None
        The share of inputs with a known truth that are answered right; None where nothing is known. An input
        with level labels counts as the share of right ones among them.
    standard_error : float, optional
        The standard error of the accuracy over repetitions; only for talks.
    undecided : float, optional
        The number of inputs without an answer, ties included, per repetition; only for talks and rules of a
        centre.
    needs : str, default ""
        What it needs that a consensus does without, such as "a server".
    decisions : ndarray of int, shape (repetition, input), optional
        The answers, -1 where undecided; a rule of a centre has one repetition.
    level : ndarray of bool, shape (repetition, input, colour), optional
        The labels that are level, where there are several. None for a line that has no ties.
    scores : dict of str to float or None, default {}
        What else it scores, by scikit-learn's names: "balanced_accuracy" and "f1_macro", or those that were
        asked for; None where a score cannot be computed.

    Examples
    --------
    >>> from folkmoot import Slush, compare
    >>> report = compare([[0, 1], [0, 1], [0, 0]], Slush(k=2, alpha=2), truth=[0, 0])
    >>> report.line("majority")
    Line(name='majority', accuracy=0.5, standard_error=None, undecided=0, needs='a server')
    >>> report.line("majority").decisions
    array([[0, 1]])
    """

    name: str
    accuracy: float | None
    standard_error: float | None = None
    undecided: float | None = None
    needs: str = ""
    decisions: Ints | None = field(default=None, compare=False, repr=False)
    level: Bools | None = field(default=None, compare=False, repr=False)
    scores: Mapping[str, float | None] = field(default_factory=dict, compare=False, repr=False)

    @property
    def tied(self) -> float | None:
        """How many of the undecided inputs have level labels, per repetition."""
        if self.undecided is None:
            return None
        return 0.0 if self.level is None else float(self.level.any(axis=-1).sum() / len(self.level))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON; without the decisions."""
        return {name: getattr(self, name) for name in _IN_A_LINE} | {"scores": dict(self.scores)}


_IN_A_LINE: Final = ("name", "accuracy", "standard_error", "undecided", "tied", "needs")
