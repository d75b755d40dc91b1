"""What an experiment is: cells of work, done in any order and kept, and what they come to together.

A cell is a pure function of plain arguments: a ``functools.partial`` with all of them, by name. So cells can
run in other processes or on other machines, ``joblib.Memory`` keeps finished ones, and the whole is a pure
function of (config, seed).

An experiment names its cells, and finds their results under the same names: a cell ``"sizes"`` in the plan is
what it returned in ``found["sizes"]``, a family of cells ``"limits"`` by key is ``found["limits"][key]``.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from joblib import Memory, Parallel, delayed, effective_n_jobs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Config = TypeVar("Config")
Cell: TypeAlias = "partial[Any]"
# Cells by name: one, or a family of them by any hashable key.
Plan: TypeAlias = "Mapping[str, Cell | Mapping[Any, Cell]]"


def cells_of(plan: Plan) -> list[Cell]:
    """All cells of a plan, in its order."""
    cells: list[Cell] = []
    for work in plan.values():
        cells += [work] if isinstance(work, partial) else work.values()
    return cells


def filled(plan: Plan, outcome: Callable[[Cell], Any] = lambda cell: cell()) -> dict[str, Any]:
    """The plan with the outcome of each cell in its place."""
    return {
        name: outcome(work)
        if isinstance(work, partial)
        else {key: outcome(cell) for key, cell in work.items()}
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

    def run(self, config: Config, seed: int, memory: Memory | None = None) -> Result:
        """All of it. Cells that ``memory`` has are taken from it; joblib's backend shares out the others."""
        outcome = filled if memory is None else partial(_remembered, memory)
        found = outcome(self.cells(config, seed))
        if self.then:
            found |= outcome(self.then(config, found))
        return self.result(config, found)


def _remembered(memory: Memory, plan: Plan) -> dict[str, Any]:
    """Computes what is not kept, then reads all: so a resumed run cannot differ from an uninterrupted one."""

    @cache
    def kept(function: Callable[..., Any]) -> Any:
        found = memory.cache(function)
        *_, line = found.func_code_info  # read once and here, since joblib swallows a Ctrl-C meanwhile,
        if line < 0:  # and would then take the function for another one and forget its results
            raise KeyboardInterrupt
        return found

    todo = [cell for cell in cells_of(plan) if not kept(cell.func).check_call_in_cache(**cell.keywords)]
    if todo:
        workers = min(effective_n_jobs(None), len(todo))
        with _interruptible(todo) as cells:
            Parallel(n_jobs=workers)(delayed(kept(cell.func))(**cell.keywords) for cell in cells)
    return filled(plan, lambda cell: kept(cell.func)(**cell.keywords))


@contextmanager
def _interruptible(cells: list[Cell]) -> Iterator[Iterator[Cell]]:
    """The cells, until Ctrl-C. joblib stores metadata under a bare ``except``, which swallows it."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield iter(cells)  # Ctrl-C does not come here
        return
    hit = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal hit
        hit = True
        before(number, frame)

    def until_hit() -> Iterator[Cell]:
        for cell in cells:
            if hit:
                raise KeyboardInterrupt
            yield cell

    signal.signal(signal.SIGINT, note)
    try:
        yield until_hit()
        if hit:
            raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, before)
