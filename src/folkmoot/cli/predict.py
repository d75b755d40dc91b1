"""``folkmoot predict``: a moot of ``folkmoot learn`` answers the rows of another table."""

from __future__ import annotations

import math
import operator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.learn_checks import MOOT_FILE
from folkmoot.cli.learn_output import write_answers
from folkmoot.cli.options import Everything, Json, OutCsv, Overwrite
from folkmoot.cli.output import collected_warnings, new_file, print_json, print_table, progress_bar, say
from folkmoot.cli.study_output import check_new

if TYPE_CHECKING:
    from folkmoot.arrays import Array
    from folkmoot.datasets.layout import Layout
    from folkmoot.datasets.sheets import Sheet
    from folkmoot.runs.learned import LearnedMoot, TableAnswers

_SHOWN = 20  # rows that are printed unless all are wanted


def predict(
    moot: Annotated[
        Path,
        typer.Argument(
            metavar="MOOT", help="Result of learn: moot.skops, or its folder.", show_default=False
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="Rows with the columns that the moot learnt from, in any order: CSV, .gz or .parquet.",
            show_default=False,
        ),
    ],
    out: OutCsv = None,
    overwrite: Overwrite = False,
    everything: Everything = False,
    json: Json = False,
) -> None:
    """Answer new rows by a moot that learn has fitted.

    Each row has an answer, its probability and how far the participants agree.
    """
    from folkmoot.datasets.layout import read_rows

    if out is not None:
        new_file("--out", out, reads=(moot, data))
        check_new([out], "--out", overwrite)
    file = moot / MOOT_FILE if moot.is_dir() else moot
    with file.open("rb"), data.open("rb"):  # named, if one is not there, before anything is loaded
        pass
    from folkmoot.aggregation.own import watching
    from folkmoot.runs.learned import read_moot

    with collected_warnings() as warnings, progress_bar("final votes") as progress, watching(progress):
        learned = read_moot(file)
        X, sheet = read_rows(data, learned.layout)
        answers = _answered(learned, X, file)
    truth = _truth(sheet, learned.layout)
    groups = sheet.column(learned.layout.group) if learned.layout.group in sheet.columns else None
    if out is not None:
        write_answers(out, answers, sheet.lines, groups, truth)
    known = _known(truth, answers, sheet)
    found: dict[str, Any] = {
        "moot": str(file),
        "data": str(data),
        "target": learned.layout.target,
        "participants": len(learned.moot.participants_),
        "rows": len(X),
        "lines": sheet.lines,
        **answers.to_dict(),
        **known,
        "warnings": warnings,
    }
    if json:
        print_json(found)
    else:
        _print(answers, sheet, found, everything)
    if out is not None:
        say(f"wrote {out}", error=True)


def _answered(learned: LearnedMoot, X: Array, file: Path) -> TableAnswers:
    """The answers; a ValueError of one line also for a moot that ``learn`` did not write."""
    try:
        return learned.answers(X)
    except (AttributeError, LookupError) as error:
        raise ValueError(f"moot {file} is damaged: {type(error).__name__}: {error}") from None


def _truth(sheet: Sheet, layout: Layout) -> list[str]:
    """The truth, if the file has it for every row."""
    if layout.target not in sheet.columns:
        return []
    cells = sheet.column(layout.target)
    return cells if all(cells) else []


def _known(truth: list[str], answers: TableAnswers, sheet: Sheet) -> dict[str, float]:
    """The accuracy or the error, if the file has the truth."""
    if not truth:
        return {}
    right = [sheet.plain(cell) for cell in truth]
    if answers.classes:
        said = [sheet.plain(answer) for answer in answers.answer.tolist()]
        return {"accuracy": sum(map(operator.eq, said, right)) / len(right)}
    numbers = [each for each in right if isinstance(each, float)]
    if len(numbers) < len(right):
        return {}
    return {"error": math.dist(answers.answer.tolist(), numbers) / math.sqrt(len(right))}


def _print(answers: TableAnswers, sheet: Sheet, found: dict[str, Any], everything: bool) -> None:
    cells = answers.cells()
    shown = len(cells) if everything else min(len(cells), _SHOWN)
    rows = [[str(line), *each] for line, each in zip(sheet.lines[:shown], cells[:shown], strict=True)]
    notes = [] if shown == len(cells) else [f"... and {len(cells) - shown:,} more: --all shows them"]
    undecided = int(answers.undecided.sum())
    if undecided:
        why = (
            "tied, or nobody answers; the answer is the first of the tied labels"
            if answers.classes
            else "nobody gave a number"
        )
        notes.append(f"undecided: {undecided:,} of them ({why})")
    if "accuracy" in found:
        notes.append(f"right: {found['accuracy']:.3f} of them, by the {found['target']} in the file")
    if "error" in found:
        notes.append(f"root mean squared error: {found['error']:.4g}, by the {found['target']} in the file")
    row = "row" if len(cells) == 1 else "rows"
    title = f"{found['target']} of {len(cells):,} {row}, by {found['participants']} participants:"
    print_table(title, ["line", *answers.header], rows, notes)
