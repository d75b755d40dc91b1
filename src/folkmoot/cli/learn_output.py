"""What ``learn`` and ``predict`` print and write: the study, its page, and a row for each answer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from folkmoot.cli.output import print_table, say
from folkmoot.cli.participant_output import print_joining, print_participants
from folkmoot.cli.study_output import PARTICIPANTS, as_dict, print_study, write_report, write_study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from folkmoot.arrays import Array, Ints
    from folkmoot.comparison import NumberReport, Report
    from folkmoot.datasets import MootData
    from folkmoot.learning.improvement import Improvement, NumberImprovement
    from folkmoot.runs.learned import Answers
    from folkmoot.runs.number_study import NumberStudy
    from folkmoot.runs.study import Study


def learned_dict(study: Study | NumberStudy, warned: list[str]) -> dict[str, Any]:
    """A study in plain numbers and strings, for JSON."""
    from folkmoot.runs.number_study import NumberStudy

    data = study.data
    left_out = None if data.groups_test is None else sorted(map(str, set(data.groups_test.tolist())))
    found = {
        "task": "regression" if data.numeric else "classification",
        "tested": data.tested,
        "test_groups": left_out,
        **as_dict(study, warned),
    }
    if isinstance(study, NumberStudy):
        found["participant_table"] = study.report(0).participant_table.to_list()
        joining = study.report(0).joining
        found["joining"] = [] if joining is None else joining.to_list()
        found["scores"] = study.scores
    if study.improvement is not None:
        found["improvement"] = study.improvement.to_dict()
    return found


def write_learned(study: Study | NumberStudy, folder: Path, title: str, found: dict[str, Any]) -> str:
    """The page, its pictures and numbers; returns a line that says where."""
    from folkmoot.runs.study import Study

    if isinstance(study, Study):
        return write_study(study, folder, title, found)
    from folkmoot.report.number_page import number_page, number_pictures

    where = write_report(folder, found, partial(number_pictures, study), partial(number_page, study, title))
    study.report(0).participant_table.to_csv(folder / PARTICIPANTS)
    return where


def print_learned(study: Study | NumberStudy, scores: Sequence[str], whole: bool) -> None:
    """All comparisons by number of liars, who is off, and who gains by joining; ``whole`` for every row."""
    from folkmoot.learning.scoring import of_one_class
    from folkmoot.report.study_page import score_table
    from folkmoot.runs.shown_rows import READ_BACKWARDS
    from folkmoot.runs.study import Study

    report = study.report(0)
    tested = f"{study.data.tested[0].upper()}{study.data.tested[1:]}."
    if study.improvement is not None:
        _print_improved(study.improvement)
    if isinstance(study, Study):
        shown = study.shown
        about = [] if shown is None else [str(shown)]
        helpful = [READ_BACKWARDS] if shown is not None and any(shown.anchored[1:]) else []
        print_study(
            study,
            [f"{report.title}.", tested, "Accuracy, by how many participants are perfectly malicious:"],
            [*about, *report.notes, *helpful],
        )
        for name in scores:
            say("")
            whose = f" of {study.data.classes[-1]}" if of_one_class(name) else ""
            print_table(f"{name}{whose}, by how many are perfectly malicious:", *score_table(study, name))
        _print_who(report, whole)
        return
    from folkmoot.report.number_page import number_table

    print_table(
        [
            f"{report.title}.",
            tested,
            "Root mean squared error, by how many participants answer absurd numbers:",
        ],
        *number_table(study),
        [*([] if study.shown is None else [str(study.shown)]), *report.notes, study.withstands],
    )
    if scores:
        say("")
        print_table("With nobody lying, by scikit-learn's scorers:", *study.score_cells())
    _print_who(report, whole)


def _print_improved(found: Improvement | NumberImprovement) -> None:
    """What the models gained on own rows, who kept an old one, and what everybody showed for it."""
    from folkmoot.learning.improvement import Improvement

    (before, after), (least, least_after) = found.mean, found.worst
    shown = max(each.shown for each in found.changes)
    refused = [f"  {name} keeps its old model: {why}" for name, why in found.refused.items()]
    more = [f"  ... and {len(refused) - 5} more"] if len(refused) > 5 else []
    classes = isinstance(found, Improvement)
    agreed, measure = ("labels", "Right") if classes else ("numbers", "Root mean squared error")
    said = ".3f" if classes else ".4g"
    showed = [f"Each showed at most {shown} of its labelled inputs, and no label."] if classes else []
    say(
        f"Models fitted again to {found.inputs:,} rows whose {agreed} they agreed on. {measure} on own rows, "
        f"by models that have not seen them: {before:{said}} before, {after:{said}} after; worst "
        f"{least:{said}}, {least_after:{said}}.",
        *showed,
        *refused[:5],
        *more,
        "",
    )


def _print_who(report: Report | NumberReport, whole: bool) -> None:
    print_participants(report.participant_table, whole=whole)
    if report.joining is not None and report.joining.rows:  # else the notes have said what to do
        print_joining(report.joining, whole=whole)


def truths(data: MootData) -> list[str]:
    """What is right of each test row, as the file has it."""
    if data.y_test is None:
        return []
    return [f"{y:g}" for y in data.y_test] if data.numeric else data.classes[data.y_test].tolist()


def write_answers(
    path: Path,
    answers: Answers,
    lines: Ints | Sequence[int],
    groups: Array | Sequence[str] | None,
    truth: Sequence[str],
) -> None:
    """A row for each answer: its line in the file, whose it is and what is right where that is known."""
    from folkmoot.files.tabular import write_table

    known: list[tuple[str, list[str]]] = [("line", [str(line) for line in lines])]
    if groups is not None:
        known.append(("group", [str(name) for name in groups]))
    if len(truth):
        known.append(("truth", list(truth)))
    cells = answers.cells()
    rows = ([*(column[i] for _, column in known), *cells[i]] for i in range(len(cells)))
    write_table(path, [*(name for name, _ in known), *answers.header], rows)
