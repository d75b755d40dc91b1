"""Options of ``folkmoot learn`` that must go together, and the folder that it may fill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from folkmoot.cli.study_output import PARTICIPANTS, REPORT, RESULTS, check_folder, check_new

if TYPE_CHECKING:
    from folkmoot.datasets.moot_data import MootData
    from folkmoot.runs.study import UnlabelledPool

FOLDER: Final = "folkmoot-learn"
PREDICTIONS: Final = "predictions.csv"
MOOT_FILE: Final = "moot.skops"


def new_folder(out: Path | None, overwrite: bool) -> Path:
    """The folder to fill: one without an earlier run. If none is named, the first such by number."""
    files = (REPORT, RESULTS, PARTICIPANTS, PREDICTIONS, MOOT_FILE)
    if out is not None:
        check_new([out / name for name in files], "--out", overwrite)
        return check_folder(out)
    number, folder = 1, Path(FOLDER)
    while not overwrite and any((folder / name).exists() for name in files):
        number += 1
        folder = Path(f"{FOLDER}-{number}")
    return check_folder(folder)


def check_score(score: str | None) -> list[str]:
    """The scorers that were typed; one that scikit-learn does not have is refused."""
    if score is None:
        return []
    from folkmoot.learning.scoring import scorers

    names = [name.strip() for name in score.split(",")]
    scorers(names)
    return names


def check_tested(table: MootData, data: Path, target: str) -> None:
    """Every class that is tested must be one that somebody can learn."""
    import numpy as np

    if table.numeric or table.y_test is None or table.lines_test is None:
        return
    strange = np.flatnonzero(~np.isin(table.y_test, table.y))
    if not strange.size:
        return
    label = str(table.classes[table.y_test[strange[0]]])
    raise ValueError(
        f"{data}, line {table.lines_test[strange[0]]}: {target} is {label!r}, which no row to learn from "
        "has: leave such rows out, or test on others with --test or --test-rows (--answers numbers: "
        f"{target} is a number)"
    )


def check_improving(improve: Path | None) -> None:
    """The file of a pool must be there."""
    if improve is None:
        return
    if improve.is_dir():
        raise ValueError(f"--improve must name a table without labels: {improve} is a folder")
    with improve.open("rb"):  # named, if it is not there, before anything is fitted
        pass


def pool_of(improve: Path, table: MootData) -> UnlabelledPool:
    """The rows to agree on, read as those of the table are."""
    from folkmoot.datasets.layout import read_rows
    from folkmoot.runs.study import UnlabelledPool

    if table.layout is None:
        raise ValueError("the rows must come from a table")
    X, _ = read_rows(improve, table.layout)
    return UnlabelledPool(str(improve), X)
