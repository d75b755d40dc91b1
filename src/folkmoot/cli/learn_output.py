"""Output of ``learn`` and ``predict``: the study, and a row for each answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from folkmoot.cli.output import print_rows, print_table, say
from folkmoot.cli.study_output import as_dict, print_study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from folkmoot.arrays import Array, Ints
    from folkmoot.datasets.moot_data import MootData
    from folkmoot.learning.improvement import Improvement
    from folkmoot.runs.learned import TableAnswers
    from folkmoot.runs.study import Study


def learned_dict(study: Study, warned: list[str]) -> dict[str, Any]:
    """A study in plain numbers and strings, for JSON."""
    data = study.data
    left_out = None if data.groups_test is None else sorted(map(str, set(data.groups_test.tolist())))
    return {
        "task": _task(study),
        "tested": data.tested,
        "test_groups": left_out,
        **as_dict(study, warned),
        **({} if study.improvement is None else {"improvement": study.improvement.to_dict()}),
    }


def _is_number(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True


def _task(study: Study) -> str:
    return "regression" if study.data.numeric else "classification"


def print_learned(study: Study, scores: Sequence[str]) -> None:
    """All comparisons by number of malicious participants, who is off, and who gains by joining."""
    from folkmoot.report.study_page import in_short, table

    report, data = study.reports[0], study.data
    if study.improvement is not None:
        _print_improved(study.improvement)
    how = ""
    if data.numeric or all(_is_number(name) for name in data.classes.tolist()):
        how = f" (--answers {'labels' if data.numeric else 'numbers'} if it should not be)"
    target = "the target" if data.layout is None else data.layout.target
    what = "numbers" if data.numeric else f"{len(data.classes):,} classes"
    short = in_short(report)
    print_study(
        study,
        [
            f"{_task(study).capitalize()}: {target} is {what}{how}.",
            f"{report.title}.",
            f"{data.tested[0].upper()}{data.tested[1:]}.",
            *short,
        ],
        [
            *([study.shown] if study.shown else []),
            *(note for note in report.notes if f"{note}." not in short),
        ],
    )
    for name in scores:
        say("")
        print_table(f"{name}, by how many are malicious:", *table(study, name))
    print_rows(report.participants, how="participants.csv has all")
    if report.joining is not None and report.joining.rows:  # else the notes have said what to do
        print_rows(report.joining, how="results.json has all")


def _print_improved(found: Improvement) -> None:
    """Gains on own rows, participants that kept the old model, and the rows shown for it."""
    (before, after), (least, least_after) = found.mean, found.worst
    shown = max(each.shown for each in found.changes)
    refused = [f"  {name} keeps its old model: {why}" for name, why in found.refused.items()]
    more = [f"  ... and {len(refused) - 5} more"] if len(refused) > 5 else []
    agreed, measure = ("numbers", "Root mean squared error") if found.numbers else ("labels", "Right")
    said = ".4g" if found.numbers else ".3f"
    showed = [] if found.numbers else [f"Each showed at most {shown} of its labelled inputs, and no label."]
    say(
        f"Models fitted again to {found.inputs:,} rows whose {agreed} they agreed on. {measure} on own rows, "
        f"by models that have not seen them: {before:{said}} before, {after:{said}} after; worst "
        f"{least:{said}}, {least_after:{said}}.",
        *showed,
        *refused[:5],
        *more,
        "",
    )


def truths(data: MootData) -> list[str]:
    """The truth of each test row, as in the file."""
    if data.y_test is None:
        return []
    return [f"{y:g}" for y in data.y_test] if data.numeric else data.classes[data.y_test].tolist()


def write_answers(
    path: Path,
    answers: TableAnswers,
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
