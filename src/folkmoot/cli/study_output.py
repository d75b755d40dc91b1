"""Output of ``demo`` and ``learn``: a study printed as a table, and written into a folder."""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from folkmoot.cli.output import print_table

if TYPE_CHECKING:
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
    """The table of all comparisons by number of malicious participants."""
    from folkmoot.report.study_page import table

    metric = study.reports[0].metric.name
    print_table([*title, f"{metric.capitalize()}, by how many are malicious:"], *table(study), note)


def write_study(study: Study, folder: Path, title: str, found: dict[str, Any]) -> str:
    """Pictures, numbers and the page that holds everything; returns a line that says where."""
    from msgspec import json

    from folkmoot.machine import to_install
    from folkmoot.report.study_page import page, pictures

    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():  # about fonts that lack the letters of some name
        warnings.simplefilter("ignore", UserWarning)
        drawn = pictures(study)
        for name, figure in drawn.items():
            figure.savefig(folder / f"{name}.png", dpi=150)
        html = page(study, title, drawn)
    (folder / RESULTS).write_bytes(json.format(json.encode(found), indent=1))
    study.reports[0].participants.to_csv(folder / PARTICIPANTS)
    report = folder / REPORT
    report.write_text(html, encoding="utf-8")
    drawings = "the pictures" if drawn else f"no pictures (they need {to_install('plots')})"
    return f"wrote {report} (open it in a browser), {drawings}, results.json and participants.csv beside it"


def as_dict(study: Study, warned: list[str]) -> dict[str, Any]:
    """A study in plain numbers and strings, for JSON."""
    return {
        "data": study.data.description,
        "training_rows": len(study.data.y),
        "malicious": list(study.malicious),
        "shown": study.shown or None,
        "reports": [report.to_dict() for report in study.reports],
        "seconds_fitting": round(study.seconds_fitting, 3),
        "seconds_comparing": round(study.seconds_comparing, 3),
        "warnings": warned,
    }
