"""Cells: kept, resumed, shared out, and never the wrong one."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import pytest
from joblib import Memory, parallel_config
from matplotlib.figure import Figure

from experiments.catalogue import MODULES, experiment
from experiments.experiment import Cell, Experiment, Finding, Plan, Result
from support.kept_cells import kept

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Square:
    number: int
    square: int


def square(number: int, note: str) -> Square:
    """Leaves a trace of having been computed."""
    with Path(note).open("a") as file:
        file.write(f"{number}\n")
    if number < 0:
        raise ValueError("no squares of negative numbers today")
    return Square(number, number * number)


@dataclass(frozen=True)
class Config:
    numbers: tuple[int, ...]
    note: str


class Found(TypedDict):
    squares: dict[int, Square]


def square_cell(number: int, config: Config) -> Cell:
    return partial(square, number=number, note=config.note)


def cells(config: Config, seed: int) -> Plan:  # noqa: ARG001
    return {"squares": {n: square_cell(n, config) for n in config.numbers}}


def result(config: Config, found: Found) -> Result:  # noqa: ARG001
    finding = Finding("squares", "", str([each.square for each in found["squares"].values()]))
    return Result("done", (finding,), ())


def figures(result: Result) -> dict[str, Figure]:  # noqa: ARG001
    return {"squares": Figure()}


def squares(folder: Path, *numbers: int) -> tuple[Experiment[Config], Config, Path]:
    note = folder / "note"
    config = Config(numbers, str(note))
    return Experiment("squares", "", "", config, config, cells, result, figures), config, note


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "cells", verbose=0)


def test_processes_find_what_one_finds(memory: Memory) -> None:
    lines = experiment("homogeneous")
    with parallel_config(backend="loky", n_jobs=2):
        shared = lines.run(lines.quick, 0, memory)
    assert shared == lines.run(lines.quick, 0)


def test_cells_are_computed_once_and_in_order(tmp_path: Path, memory: Memory) -> None:
    squared, config, note = squares(tmp_path, 3, 1, 2)
    for _ in range(2):
        assert squared.run(config, 0, memory).findings[0].ours == "[9, 1, 4]"
    assert note.read_text().split() == ["3", "1", "2"]
    assert squared.run(config, 0).findings[0].ours == "[9, 1, 4]"  # with no memory, all of them
    assert note.read_text().split() == ["3", "1", "2"] * 2


def test_what_is_done_before_a_failure_is_kept(tmp_path: Path, memory: Memory) -> None:
    squared, config, note = squares(tmp_path, 3, -1, 2)
    with pytest.raises(ValueError, match="no squares of negative numbers today"):
        squared.run(config, 0, memory)
    squared, config, _ = squares(tmp_path, 3, 2)
    squared.run(config, 0, memory)
    assert note.read_text().split() == ["3", "-1", "2"]


def test_an_interrupt_that_comes_while_a_cell_is_stored_is_not_lost(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """joblib writes a cell's metadata under a bare ``except``."""
    write = type(memory.store_backend)._concurrency_safe_write

    def interrupted(backend: Any, to_write: Any, filename: str, write_func: Any) -> None:
        if Path(filename).name == "metadata.json":
            signal.raise_signal(signal.SIGINT)
        write(backend, to_write, filename, write_func)

    monkeypatch.setattr(type(memory.store_backend), "_concurrency_safe_write", interrupted)
    squared, config, note = squares(tmp_path, 3, 1, 2)
    before = signal.getsignal(signal.SIGINT)
    for done in (["3"], ["3", "1"], ["3", "1", "2"]):
        with pytest.raises(KeyboardInterrupt):
            squared.run(config, 0, memory)
        assert note.read_text().split() == done
        assert signal.getsignal(signal.SIGINT) is before


def test_a_file_that_is_cut_off_is_told_and_computed_again(
    tmp_path: Path, memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    squared, config, note = squares(tmp_path, 3)
    squared.run(config, 0, memory)
    (path,) = kept(tmp_path)
    path.write_bytes(path.read_bytes()[:20])  # as if the disk had been full
    assert squared.run(config, 0, memory).findings[0].ours == "[9]"
    assert "Exception while loading results for square" in caplog.text
    assert note.read_text().split() == ["3", "3"]
    assert squared.run(config, 0, memory).findings[0].ours == "[9]"


def test_a_second_stage_is_planned_from_the_first(tmp_path: Path, memory: Memory) -> None:
    squared, config, note = squares(tmp_path, 3, 4)

    def then(config: Config, found: Found) -> Plan:
        whole = sum(each.square for each in found["squares"].values())
        return {"sum": square_cell(whole, config), "again": {n: square_cell(n, config) for n in (3, 4)}}

    def judged(config: Config, found: Any) -> Result:  # noqa: ARG001
        assert set(found) == {"squares", "sum", "again"}
        assert found["squares"] == found["again"] == {3: Square(3, 9), 4: Square(4, 16)}
        assert found["sum"] == Square(25, 625)
        return Result("done", (), ())

    staged = replace(squared, then=then, result=judged)
    staged.run(config, 0, memory)
    assert note.read_text().split() == ["3", "4", "25"]
    next(iter(kept(tmp_path))).unlink()
    assert staged.run(config, 0, memory) == Result("done", (), ())
    assert len(note.read_text().split()) == 4
    assert staged.run(config, 0) == Result("done", (), ())


def test_every_experiment_has_a_name_a_claim_and_a_picture() -> None:
    for name in MODULES:
        found = experiment(name)
        assert found.name == name
        assert found.about
        assert "\n" not in found.about
        assert found.claim
        assert callable(found.figures)


def test_workers_that_run_cells_do_not_load_what_draws() -> None:
    names = [f"experiments.{module}" for module in MODULES.values()]
    program = f"import sys, {', '.join(names)}; print('matplotlib' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert answer.stdout.strip() == "False"


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"there is no experiment 'tresholds'; did you mean 'thresholds'\?"):
        experiment("tresholds")
