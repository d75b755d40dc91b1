"""Options of ``folkmoot learn`` that must go together, and the folder that it may fill."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from folkmoot.cli.study_output import PARTICIPANTS, REPORT, RESULTS, check_folder, check_new

if TYPE_CHECKING:
    from folkmoot.datasets import MootData
    from folkmoot.runs.study import Pool

FOLDER: Final = "folkmoot-learn"
PREDICTIONS: Final = "predictions.csv"
MOOT_FILE: Final = "moot.skops"


def new_folder(out: Path | None, overwrite: bool) -> Path:
    """The folder to fill: one without an earlier run. Where none is named, the first such by number."""
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


def check_numbers(target: str, about_classes: Mapping[str, bool]) -> None:
    """Refuse options that only classes have, where numbers are predicted."""
    given = next((option for option, is_given in about_classes.items() if is_given), None)
    if given is not None:
        raise ValueError(
            f"{given} is for classes, and {target} holds numbers: leave it out, or add --task classification"
        )


def check_improving(improve: Path | None, safe: bool) -> None:
    """The file of a pool must be there; ``--safe`` is about it."""
    if improve is None:
        if safe:
            raise ValueError(
                "--safe is for models that are fitted again: add --improve POOL.csv, or leave it out"
            )
        return
    if improve.is_dir():
        raise ValueError(f"--improve must name a table without labels: {improve} is a folder")
    with improve.open("rb"):  # named, if it is not there, before anything is fitted
        pass


def pool_of(improve: Path, table: MootData, check_rows: int | Literal["all"], safe: bool) -> Pool:
    """The rows to agree on, read as those of the table are."""
    from folkmoot.datasets.layout import read_rows
    from folkmoot.runs.study import Pool

    if table.layout is None:
        raise ValueError("the rows must come from a table")
    X, _ = read_rows(improve, table.layout)
    return Pool(str(improve), X, check_rows, safe)


def check_showing(
    peer_review: bool,
    check_rows: str | None,
    privacy: float | None,
    expert: str | None,
    improve: bool = False,
) -> int | Literal["all"]:
    """How many rows each shows; nobody shows any unless ``--peer-review`` or ``--improve`` asks for it."""
    from folkmoot import checks

    given = {"--check-rows": check_rows, "--privacy": privacy, "--expert": expert}
    if improve:
        del given["--check-rows"]
    lonely = next((option for option, value in given.items() if value is not None), None)
    if not peer_review and lonely is not None:
        raise ValueError(f"{lonely} is for rows that are shown: add --peer-review, or leave it out")
    if privacy is not None and checks.finite("--privacy", privacy) <= 0:
        raise ValueError(
            f"--privacy must be above 0, or left out to show labels as they are: got {privacy:g}"
        )
    if check_rows is None:
        return 10
    if check_rows == "all":
        return "all"
    try:
        rows = int(check_rows)
    except ValueError:
        rows = -1
    least = 1 if peer_review else 0  # with --improve alone nobody need show any
    if rows < least:
        raise ValueError(
            f"--check-rows must be a whole number of at least {least}, or 'all': got {check_rows!r}"
        )
    return rows


def check_voting(
    voting: str,
    pool: str,
    participants: int,
    trim: int | None,
    about_labels: dict[str, bool],
    peer_review: bool,
) -> bool:
    """Whether probabilities are handed in; options that do not go together are refused."""
    for option, value, known in (
        ("--voting", voting, ("labels", "probabilities")),
        ("--pool", pool, ("mean", "log")),
    ):
        if value not in known:
            raise ValueError(f"{option} must be {' or '.join(known)}: got {value!r}")
    soft = voting == "probabilities"
    if peer_review and (pool != "mean" or trim is not None):
        option = "--pool" if pool != "mean" else "--trim"
        raise ValueError(
            f"{option} is for agreeing on probabilities, but --peer-review weighs them: leave one out"
        )
    given = next((option for option, is_given in about_labels.items() if is_given), None)
    if soft and not peer_review and given is not None:
        raise ValueError(f"{given} is for --voting labels: leave it out with --voting probabilities")
    if not soft and (pool != "mean" or trim is not None):
        option = "--pool" if pool != "mean" else "--trim"
        raise ValueError(f"{option} is for probabilities: add --voting probabilities")
    check_trim(trim, participants)
    return soft


def check_trim(trim: int | None, participants: int) -> None:
    """Refuse to leave out more numbers than there are."""
    if trim is not None and not 0 <= 2 * trim < participants:
        raise ValueError(
            f"--trim must satisfy 0 <= 2 trim < {participants}, the number of participants: got {trim}"
        )
