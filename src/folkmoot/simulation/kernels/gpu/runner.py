"""Interface to a device for ``deliberation.cu``: a GPU, or this machine in the tests.

Arguments are arrays that the runner has made, whole numbers, or None for no array; their order is that of
``deliberation.cu``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy.typing as npt

from folkmoot.arrays import Array

There: TypeAlias = Any  # an array where the code runs

Step: TypeAlias = Literal["streams_for", "planes_for", "votes_for", "classes_of"]


@dataclass(frozen=True)
class Form:
    """The walk, and the memory of a lane."""

    walk: Literal["flip", "table"]
    bits: int  # a state
    words: int  # of 32 bits, for the states of a job
    chances: int  # entries of the table of chances
    width: int = 0  # entries of a row of it, where rows come in pairs (``paired``)
    counts: int = 0  # numbers a lane keeps beside them
    local: bool = False  # thresholds differ
    lockstep: bool = False
    wins: int = 0  # numbers of wins a lane keeps

    @property
    def lane_bytes(self) -> int:
        """The memory of a lane between launches, in bytes."""
        return 4 * (self.words + self.counts + self.wins) + 64


class Launch(Protocol):
    """A walk that is ready to be launched."""

    @property
    def lanes(self) -> int:
        """The number of jobs played at the same time."""

    def __call__(self, arguments: Sequence[Any]) -> float:
        """Play for a while; returns how many seconds it took."""


class Runner(Protocol):
    """A device."""

    def launch(self, form: Form, jobs: int) -> Launch:
        """A walk, for so many jobs."""

    def step(self, name: Step, count: int, arguments: Sequence[Any]) -> None:
        """Something that is done once for each of so many."""

    def array(self, values: Array) -> There:
        """A copy of these values, there."""

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> There:
        """Room for such an array, there."""

    def back(self, array: There) -> Array:
        """A copy of it, here."""

    def any_busy(self, jobs: There) -> bool:
        """Whether some lane has a job in hand."""

    def free(self) -> int:
        """Bytes that can be had."""
