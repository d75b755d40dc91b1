"""Runs the cells of experiments: what is stored is taken as it is, the rest is shared out by joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from folkmoot.arrays import PartProgress
from folkmoot.learning.parallel import shared_out
from folkmoot.paper.experiment import Cell, Experiment, Plan, Result, cells_of, filled
from folkmoot.paper.store import MISSING, Store
from folkmoot.simulation.play_options import Device


def settings(experiment: Experiment[Any], *, quick: bool, data: str | None, device: Device = "cpu") -> Any:
    """The config of a run: full or quick, with the path of the data where it needs one, and the device."""
    config = experiment.quick if quick else experiment.full
    if experiment.takes_device:
        config = replace(config, device=device)
    return replace(config, data=data) if experiment.needs_data else config


def run(
    experiment: Experiment[Any],
    config: Any,
    seed: int,
    store: Store,
    *,
    jobs: int | None = None,
    progress: PartProgress | None = None,
) -> Result:
    """The result of an experiment; every cell is stored as soon as it is done."""
    told = 0

    def tell(done: int, whole: int) -> None:
        nonlocal told
        if progress:
            progress(experiment.name, told + done, told + whole)

    first = experiment.cells(config, seed)
    found = _stage(first, store, jobs, tell)
    if experiment.then:
        told = len(_by_key(first))
        found |= _stage(experiment.then(config, found), store, jobs, tell)
    return experiment.result(config, found)


def is_finished(experiment: Experiment[Any], config: Any, seed: int, store: Store) -> bool:
    """Whether all cells of an experiment are stored."""
    first = experiment.cells(config, seed)
    stored = {key: store.load(cell) for key, cell in _by_key(first).items()}
    if any(each is MISSING for each in stored.values()):
        return False
    if not experiment.then:
        return True
    found = filled(first, lambda cell: stored[cell.key])
    return all(store.load(cell) is not MISSING for cell in cells_of(experiment.then(config, found)))


def _stage(plan: Plan, store: Store, jobs: int | None, tell: Callable[[int, int], None]) -> dict[str, Any]:
    """What the cells of a plan return, by their names; equal cells are computed once."""
    cells = _by_key(plan)
    results = {key: store.load(cell) for key, cell in cells.items()}
    todo = [key for key, result in results.items() if result is MISSING]
    done = len(cells) - len(todo)
    tell(done, len(cells))
    for i, result in _computed([cells[key] for key in todo], jobs):
        cell = cells[todo[i]]
        store.save(cell, result)
        # As it would be read back, so that a resumed run cannot differ from one that was not interrupted.
        results[cell.key] = store.load(cell)
        done += 1
        tell(done, len(cells))
    return filled(plan, lambda cell: results[cell.key])


def _by_key(plan: Plan) -> dict[str, Cell]:
    return {cell.key: cell for cell in cells_of(plan)}


def _computed(cells: Sequence[Cell], jobs: int | None) -> Iterator[tuple[int, Any]]:
    """Results as they come, with the places of their cells."""
    return shared_out(Cell.__call__, [(cell,) for cell in cells], jobs, batch=8)
