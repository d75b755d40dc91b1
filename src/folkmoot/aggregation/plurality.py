"""Plurality: one participant, one vote; the class with the most votes is the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot import checks
from folkmoot.aggregation.interface import NOTHING, Aggregation, Answers, Known, ballots, counted, decided
from folkmoot.arrays import Array


@dataclass(frozen=True)
class Plurality(Aggregation):
    """The class that most participants voted for.

    A tie is undecided.

    Parameters
    ----------
    least : int, default 1
        The votes that a class needs. With f + 1, at least one of any f malicious participants and one honest
        participant voted for what is decided.

    Examples
    --------
    >>> from folkmoot import aggregate
    >>> from folkmoot.aggregation import Plurality
    >>> answers = aggregate([[0, 1, 1, 0], [0, 1, 0, 1], [1, 1, -1, -1]], Plurality())
    >>> answers.decision
    array([ 0,  1, -1, -1])
    >>> aggregate([[0, 1, 2], [0, 1, -1], [0, 0, -1]], Plurality(least=2)).decision
    array([ 0,  1, -1])
    """

    least: int = 1

    def __post_init__(self) -> None:
        checks.integer("least", self.least, least=1)

    def aggregate(self, table: Array, known: Known = NOTHING) -> Answers:  # noqa: ARG002
        """Count the votes."""
        choices, places = ballots(table)
        counts = counted(places, choices.shape[1])
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        return decided(choices, counts, shares, counts.max(axis=1) >= self.least)
