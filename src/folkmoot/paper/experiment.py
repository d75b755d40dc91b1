"""What an experiment is: cells of work, done in any order and kept, and what they come to together.

A cell is a pure function of plain arguments. So a finished cell can be stored and not computed again until
its code changes, cells can run in other processes or on other machines, and the whole is a pure function of
(config, seed).

An experiment names its cells, and finds their results under the same names: a cell ``"sizes"`` in the plan is
what it returned in ``found["sizes"]``, a family of cells ``"limits"`` by key is ``found["limits"][key]``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import msgspec

from folkmoot.paper.code_version import code_version

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Config = TypeVar("Config")


@dataclass(frozen=True)
class Cell:
    """A module-level function, its arguments and its type: plain values, lists, dataclasses of them."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    returns: Any

    @cached_property
    def key(self) -> str:
        """The same for the same function, code and arguments: the name under which its result is kept."""
        function = self.function
        what = [function.__module__, function.__qualname__, code_version(function), self.arguments]
        text = msgspec.json.encode(what)
        return f"{function.__qualname__}-{hashlib.blake2b(text, digest_size=10).hexdigest()}"

    def __call__(self) -> Any:
        return self.function(**self.arguments)


# Cells by name: one, or a family of them by any hashable key.
Plan: TypeAlias = "Mapping[str, Cell | Mapping[Any, Cell]]"


def cells_of(plan: Plan) -> list[Cell]:
    """All cells of a plan, in its order."""
    cells: list[Cell] = []
    for work in plan.values():
        cells += [work] if isinstance(work, Cell) else work.values()
    return cells


def filled(plan: Plan, outcome: Callable[[Cell], Any]) -> dict[str, Any]:
    """The plan with the outcome of each cell in its place."""
    return {
        name: outcome(work) if isinstance(work, Cell) else {key: outcome(cell) for key, cell in work.items()}
        for name, work in plan.items()
    }


@dataclass(frozen=True)
class Finding:
    """One number or statement of the paper beside ours. ``holds`` is None where there is nothing to judge."""

    quantity: str
    paper: str
    ours: str
    difference: str = ""
    reason: str = ""  # of the difference
    holds: bool | None = None


@dataclass(frozen=True)
class Result:
    """What every experiment comes to; each adds its numbers in fields of its own."""

    verdict: str  # in words
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]  # what a reader must know: which data, what was left out


@dataclass(frozen=True)
class Experiment(Generic[Config]):
    """An experiment by name, with the settings of a full and of a quick run."""

    name: str
    about: str  # one line
    claim: str  # what the paper says, and where
    full: Config
    quick: Config
    cells: Callable[[Config, int], Plan]  # of (config, seed)
    result: Callable[[Config, Any], Result]  # of config and what all cells returned, by their names
    figures: Callable[[Any], Mapping[str, Figure]]  # of the result, by name; one is named as the experiment
    then: Callable[[Config, Any], Plan] | None = None  # more cells, from what the first ones returned
    needs_data: bool = False  # FEMNIST: the config has a field ``data``, a path or None
    takes_device: bool = False  # can be played on a GPU: the config has a field ``device``

    def run(self, config: Config, seed: int) -> Result:
        """All of it, here and now: a pure function of (config, seed)."""
        found = filled(self.cells(config, seed), Cell.__call__)
        if self.then:
            found |= filled(self.then(config, found), Cell.__call__)
        return self.result(config, found)
