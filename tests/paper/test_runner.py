"""Cells: kept, resumed, shared out, and never the wrong one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import pytest
from matplotlib.figure import Figure

from folkmoot.paper.catalogue import MODULES, experiment
from folkmoot.paper.experiment import Cell, Experiment, Finding, Plan, Result, cells_of
from folkmoot.paper.runner import is_finished, run
from folkmoot.paper.store import MISSING, Store


@dataclass(frozen=True)
class Square:
    number: int
    square: int
    by: str


def square(number: int, note: str) -> Square:
    """Leaves a trace of having been computed."""
    with Path(note).open("a") as file:
        file.write(f"{number}\n")
    if number < 0:
        raise ValueError("no squares of negative numbers today")
    return Square(number, number * number, "here")


@dataclass(frozen=True)
class Config:
    numbers: tuple[int, ...]
    note: str


class Found(TypedDict):
    squares: dict[int, Square]


def square_cell(number: int, config: Config) -> Cell:
    return Cell(square, {"number": number, "note": config.note}, Square)


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


def test_processes_find_what_one_finds(tmp_path: Path) -> None:
    chart = experiment("thresholds")
    stores = [Store(tmp_path / "one"), Store(tmp_path / "two")]
    one, two = (run(chart, chart.quick, 0, store, jobs=i + 1) for i, store in enumerate(stores))
    assert one == two


def test_cells_are_computed_once_and_in_order(tmp_path: Path) -> None:
    squared, config, note = squares(tmp_path, 3, 1, 2)
    seen: list[tuple[str, int, int]] = []
    for _ in range(2):
        found = run(squared, config, 0, Store(tmp_path / "cells"), jobs=1, progress=lambda *s: seen.append(s))
        assert found.findings[0].ours == "[9, 1, 4]"
    assert sorted(note.read_text().split()) == ["1", "2", "3"]
    assert seen[0] == ("squares", 0, 3)
    assert seen[-1] == ("squares", 3, 3)
    assert squared.run(config, 0).findings[0].ours == "[9, 1, 4]"


def test_what_is_done_before_a_failure_is_kept(tmp_path: Path) -> None:
    squared, config, note = squares(tmp_path, 3, -1, 2)
    with pytest.raises(ValueError, match="no squares of negative numbers today"):
        run(squared, config, 0, Store(tmp_path / "cells"), jobs=1)
    again, config, _ = squares(tmp_path, 3, 2)
    run(again, config, 0, Store(tmp_path / "cells"), jobs=1)
    assert note.read_text().split() == ["3", "-1", "2"]


@pytest.mark.parametrize(
    "text", ["", '{"number": 3, "squ', '{"number": 3}', "[]", '{"number":3,"square":"x","by":""}']
)
def test_a_file_that_is_not_whole_is_told_and_computed_again(tmp_path: Path, text: str) -> None:
    squared, config, _ = squares(tmp_path, 3)
    store = Store(tmp_path / "cells")
    run(squared, config, 0, store)
    (path,) = store.folder.iterdir()
    path.write_text(text)
    store = Store(tmp_path / "cells")
    assert run(squared, config, 0, store).findings[0].ours == "[9]"
    assert len(store.complaints) == 1
    assert "is damaged or cut off" in store.complaints[0]
    (cell,) = cells_of(cells(config, 0))
    assert Store(tmp_path / "cells").load(cell) == Square(3, 9, "here")


def test_keys_tell_functions_and_arguments_apart() -> None:
    one = Cell(square, {"number": 1, "note": "a"}, Square)
    assert one.key == Cell(square, {"number": 1, "note": "a"}, Square).key
    assert one.key != Cell(square, {"number": 2, "note": "a"}, Square).key
    assert one.key != Cell(result, {"number": 1, "note": "a"}, Square).key
    assert Store(Path("nowhere")).load(one) is MISSING


def test_every_experiment_has_a_name_a_claim_and_a_picture() -> None:
    for name in MODULES:
        found = experiment(name)
        assert found.name == name
        assert found.about
        assert "\n" not in found.about
        assert found.claim
        assert callable(found.figures)


def test_results_have_the_names_of_their_cells(tmp_path: Path) -> None:
    """A second stage is planned from the first one's results; equal cells are computed once."""
    squared, config, note = squares(tmp_path, 3, 4)

    def then(config: Config, found: Found) -> Plan:
        whole = sum(each.square for each in found["squares"].values())
        return {"sum": square_cell(whole, config), "again": {n: square_cell(25, config) for n in range(3)}}

    def judged(config: Config, found: Any) -> Result:  # noqa: ARG001
        assert set(found) == {"squares", "sum", "again"}
        assert found["squares"] == {3: Square(3, 9, "here"), 4: Square(4, 16, "here")}
        assert found["sum"] == Square(25, 625, "here")
        assert found["again"] == dict.fromkeys(range(3), found["sum"])
        return Result("done", (), ())

    staged = replace(squared, then=then, result=judged)
    store = Store(tmp_path / "cells")
    seen: list[tuple[str, int, int]] = []
    assert not is_finished(staged, config, 0, store)
    run(staged, config, 0, store, jobs=1, progress=lambda *step: seen.append(step))
    assert note.read_text().split() == ["3", "4", "25"]
    assert seen[-1] == ("squares", 3, 3)
    assert is_finished(staged, config, 0, store)
    (store.folder / f"{square_cell(25, config).key}.json").unlink()
    assert not is_finished(staged, config, 0, store)
    assert staged.run(config, 0) == Result("done", (), ())


def test_workers_that_run_cells_do_not_load_what_draws() -> None:
    names = [f"folkmoot.paper.{module}" for module in MODULES.values()]
    program = f"import sys, {', '.join(names)}; print('matplotlib' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"there is no experiment 'tresholds'; did you mean 'thresholds'\?"):
        experiment("tresholds")
