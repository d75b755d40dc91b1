"""Runs the cells of experiments: what is stored is taken as it is, the rest is shared out by joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from folkmoot.arrays import PartProgress
from folkmoot.learning.parallel import shared_out
from folkmoot.paper.experiment import Cell, Experiment, Result
from folkmoot.paper.store import MISSING, Store


def settings(experiment: Experiment[Any], *, quick: bool, data: str | None) -> Any:
    """The config of a run: full or quick, with the path of the data where it needs one."""
    config = experiment.quick if quick else experiment.full
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

    found = _stage(list(experiment.cells(config, seed)), store, jobs, tell)
    if experiment.then:
        more = list(experiment.then(config, found))
        told = len(found)
        found += _stage(more, store, jobs, tell)
    return experiment.result(config, found)


def is_finished(experiment: Experiment[Any], config: Any, seed: int, store: Store) -> bool:
    """Whether all cells of an experiment are stored."""
    found = [store.load(cell) for cell in experiment.cells(config, seed)]
    if any(each is MISSING for each in found):
        return False
    return not experiment.then or all(
        store.load(cell) is not MISSING for cell in experiment.then(config, found)
    )


def _stage(cells: list[Cell], store: Store, jobs: int | None, tell: Callable[[int, int], None]) -> list[Any]:
    """What these cells return, in their order."""
    results = [store.load(cell) for cell in cells]
    todo = [i for i, result in enumerate(results) if result is MISSING]
    done = len(cells) - len(todo)
    tell(done, len(cells))
    for i, result in _computed([cells[i] for i in todo], jobs):
        store.save(cells[todo[i]], result)
        # As it would be read back, so that a resumed run cannot differ from one that was not interrupted.
        results[todo[i]] = store.load(cells[todo[i]])
        done += 1
        tell(done, len(cells))
    return results


def _computed(cells: Sequence[Cell], jobs: int | None) -> Iterator[tuple[int, Any]]:
    """Results as they come, with the places of their cells."""
    return shared_out(Cell.__call__, [(cell,) for cell in cells], jobs, batch=8)
