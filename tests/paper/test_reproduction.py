"""A folder of results: which files an experiment leaves there, and which it takes away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from folkmoot.paper.experiment import Cell, Experiment, Finding, Plan, Result
from folkmoot.paper.reproduction import Reproduction


@dataclass(frozen=True)
class Config:
    data: str | None = None


def answer() -> int:
    return 42


def cells(config: Config, seed: int) -> Plan:  # noqa: ARG001
    return {"answer": Cell(answer, {}, int)}


def result(config: Config, found: dict[str, int]) -> Result:  # noqa: ARG001
    return Result("done", (Finding("answer", "", str(found["answer"])),), ())


def two_pictures(result: Result) -> dict[str, Figure]:  # noqa: ARG001
    return {"beta": Figure(), "closer": Figure()}


TWO = Experiment("beta", "an answer", "a claim", Config(), Config(), cells, result, two_pictures)


def files(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir() if each.is_file()}


def test_the_first_picture_has_the_name_of_the_experiment_and_others_add_theirs(tmp_path: Path) -> None:
    place = Reproduction(tmp_path, None, quick=True, seed=0)
    (tmp_path / "design.png").write_bytes(b"of another experiment")
    (tmp_path / "beta-notes.txt").write_text("mine")
    done = place.run(TWO)
    assert done.failure is None
    others = {"design.png", "beta-notes.txt"}
    own = {"beta.json", "beta.png", "beta.svg", "beta-closer.png", "beta-closer.svg"}
    assert files(tmp_path) == others | own
    page = place.write_page([done]).read_text()
    assert page.count("<figure>") == 2
    assert "an answer: closer" in page

    place.run(replace(TWO, figures=lambda result: {"beta": Figure()}))  # noqa: ARG005
    assert files(tmp_path) == others | {"beta.json", "beta.png", "beta.svg", "report.html"}


def test_what_could_not_be_run_leaves_no_file_of_an_earlier_run(tmp_path: Path) -> None:
    place = Reproduction(tmp_path, None, quick=True, seed=0)
    place.run(TWO)

    def missing(config: Config, seed: int) -> Plan:  # noqa: ARG001
        raise ModuleNotFoundError("pip install\n  more")

    done = place.run(replace(TWO, cells=missing))
    assert done.failure == "pip install more"
    assert files(tmp_path) == set()
    assert "Not run: pip install more" in place.write_page([done]).read_text()


@pytest.mark.parametrize("needs_data", [True, False])
def test_cells_of_other_data_are_kept_elsewhere(tmp_path: Path, needs_data: bool) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for each in (one, two):
        each.write_text(each.name)
    experiment = replace(TWO, needs_data=needs_data)
    out = tmp_path / "out"
    out.mkdir()
    Reproduction(out, one, quick=True, seed=0).run(experiment)
    finished = [Reproduction(out, each, quick=True, seed=0).is_finished(experiment)[0] for each in (one, two)]
    assert finished == [True, not needs_data]
