"""What ``demo`` and ``learn`` share: a study printed as a table, and written into a folder."""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from folkmoot.cli.output import print_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from folkmoot.runs.number_study import NumberStudy
    from folkmoot.runs.study import Study

REPORT: Final = "report.html"
RESULTS: Final = "results.json"
PARTICIPANTS: Final = "participants.csv"


def check_folder(path: Path) -> Path:
    """``--out`` tried before the work is done: a folder that can be written, or a name for one."""
    if path.exists() and not path.is_dir():
        raise ValueError(f"--out must name a folder: {path} is a file")
    new = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryFile(dir=path):
            pass
    finally:
        with contextlib.suppress(OSError):  # another run may have begun to fill them
            for each in new:
                each.rmdir()  # nothing is left behind if what comes next fails
    return path


def check_new(paths: Sequence[Path], option: str, overwrite: bool) -> None:
    """Refuse to write over files that are there, unless that is asked for."""
    there = [path for path in paths if path.exists()]
    if there and not overwrite:
        raise ValueError(f"{option} would overwrite {there[0]}: name another place, or add --overwrite")


def print_study(study: Study, title: list[str], note: list[str]) -> None:
    """The table of all comparisons by number of liars."""
    from folkmoot.report.study_page import table

    header, rows = table(study)
    print_table(title, header, rows, note)


def write_study(study: Study, folder: Path, title: str, found: dict[str, Any]) -> str:
    """Pictures, numbers and the page that holds everything; returns a line that says where."""
    from folkmoot.report.study_page import page, pictures

    where = write_report(folder, found, partial(pictures, study), partial(page, study, title))
    study.report(study.watched).participant_table.to_csv(folder / PARTICIPANTS)
    return where


def write_report(
    folder: Path,
    found: dict[str, Any],
    draw: Callable[[], dict[str, Figure]],
    page: Callable[[dict[str, Figure]], str],
) -> str:
    """Numbers, pictures and the page made of them into a folder; returns a line that says where."""
    from msgspec import json

    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():  # about fonts that lack the letters of some name
        warnings.simplefilter("ignore", UserWarning)
        drawn = draw()
        for name, figure in drawn.items():
            figure.savefig(folder / f"{name}.png", dpi=150)
        html = page(drawn)
    (folder / RESULTS).write_bytes(json.format(json.encode(found), indent=1))
    report = folder / REPORT
    report.write_text(html, encoding="utf-8")
    return f"wrote {report} (open it in a browser), the pictures, results.json and participants.csv beside it"


def as_dict(study: Study | NumberStudy, warned: list[str]) -> dict[str, Any]:
    """A study in plain numbers and strings, for JSON."""
    shown = getattr(study, "shown", None)
    return {
        "data": study.data.description,
        "training_rows": len(study.data.y),
        "byzantine": list(study.byzantine),
        "peer_review": None if shown is None else shown.to_dict(),
        "reports": [report.to_dict() for report in study.reports],
        "seconds_fitting": round(study.seconds_fitting, 3),
        "seconds_comparing": round(study.seconds_comparing, 3),
        "warnings": warned,
    }
