"""A study for people: its table, its pictures, and one page that holds everything."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from folkmoot.comparing.comparing import BEST, FINAL, MEAN
from folkmoot.comparing.report import CONSENSUS, Report
from folkmoot.pictures.palette import BLUE, ORANGE, PALE, PURPLE, RED
from folkmoot.player.playing import deliberations_to_play
from folkmoot.report import curves
from folkmoot.report.curves import Curve, Look
from folkmoot.report.page import Page
from folkmoot.runs.study import Study, named
from folkmoot.votes import NO_VOTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLES: Final[dict[str, dict[str, Any]]] = {
    CONSENSUS: {"color": BLUE, "lw": 2.6, "marker": "o", "zorder": 5},
    FINAL: {"color": BLUE, "lw": 1.6, "ls": "--", "marker": "o", "mfc": "white"},
    "majority": {"color": ORANGE, "lw": 1.8, "marker": "s"},
    "weighted": {"color": "#3a8f5c", "lw": 1.4, "marker": "^"},
    "Dawid-Skene": {"color": PURPLE, "lw": 1.4, "marker": "D"},
    "mean": {"color": RED, "lw": 1.4, "ls": ":", "marker": "v"},
    "median": {"color": ORANGE, "lw": 1.8, "marker": "s"},
    "stacking": {"color": "#7f8c8d", "lw": 1.4, "ls": "--", "marker": "x"},
    BEST: {"color": PALE, "lw": 1.2, "ls": "--"},
    MEAN: {"color": PALE, "lw": 1.2, "ls": ":"},
}
# The same on the page, by the colours of player.css.
_LOOKS: Final[dict[str, tuple[int, Look]]] = {
    CONSENSUS: (0, "strong"),
    FINAL: (0, "dashed"),
    "majority": (1, ""),
    "weighted": (4, ""),
    "Dawid-Skene": (6, ""),
    "stacking": (3, "dashed"),
    BEST: (10, "dashed"),
    MEAN: (10, "dotted"),
}
_MOST_CLASSES: Final = 12  # that have colours of their own
_FAR: Final = 2  # times the largest error with nobody malicious: above it, lines leave the picture


def table(study: Study, score: str | None = None) -> tuple[list[str], list[list[str]]]:
    """Header and rows: who answers, and its score for each number of malicious participants.

    ``score`` is one of scikit-learn's; by default the accuracy or the error. Lines without any score are left
    out.
    """
    rows = []
    for name in _names(study):
        values = [_score(report, name, score) for report in study.reports]
        if all(value is None for value in values):
            continue
        shown = [_show(study, value) if score is None else _four(value) for value in values]
        rows.append([name, *shown])
    return ["malicious", *(str(count) for count in study.malicious)], rows


def in_short(report: Report) -> list[str]:
    """Decisions, accuracy and odd participants: a sentence each."""
    metric, alone = report.metric, report.score(MEAN)
    known = report.score()
    lines = []
    if known is not None and alone is not None:
        best = report.score(BEST)
        top = "-" if best is None else metric.show(best)
        lines.append(
            f"The moot's {metric.name} on {report.scored:,} inputs is {metric.show(known)}; one participant "
            f"alone has {metric.show(alone)} on average, the best {top}."
        )
    worth = report.independence.in_words()
    lines += [f"{worth[0]}."] if worth else []
    odd = [f"{name} ({finding})" for name, finding in report.participants.findings.items()]
    if odd:
        more = f" and {len(odd) - 3} more" if len(odd) > 3 else ""
        lines.append(f"Look at {', '.join(odd[:3])}{more}.")
    else:
        lines.append("No participant stands out.")
    return lines


def score_by_malicious(study: Study) -> Figure:
    """The score against the number of malicious participants; errors that are far off leave the picture."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(7.6, 4.4), layout="constrained")
    axes = figure.subplots()
    higher = study.reports[0].metric.higher_is_better
    lines = _measured(study)
    top = 1.02 if higher else _FAR * max((points[0][1] for points in lines.values()), default=0.5)
    for name, points in lines.items():
        far = ", off the picture" if not higher and any(value > top for _, value in points) else ""
        axes.plot(*zip(*points, strict=True), label=f"{name}{far}", **{"ms": 4, **_STYLES.get(name, {})})
    axes.set_ylim(-0.02 if higher else 0, max(top, 1e-12))
    axes.set_xlabel("malicious participants")
    axes.set_ylabel("accuracy" if higher else "root mean squared error")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def answers_and_truth(study: Study) -> Figure:
    """The answers against the truth, a point for each test row; nobody malicious."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    axes = figure.subplots()
    truth = np.asarray(study.data.y_test, dtype=np.float64)
    answers = np.asarray(study.reports[0].main.answers, dtype=np.float64)
    low, high = min(truth.min(), np.nanmin(answers)), max(truth.max(), np.nanmax(answers))
    axes.plot([low, high], [low, high], color=PALE, lw=1.2)
    axes.scatter(truth, answers, s=14, alpha=0.6, color=BLUE, edgecolors="none")
    axes.set_xlabel("truth")
    axes.set_ylabel("answer")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def pictures(study: Study) -> dict[str, Figure]:
    """The pictures of a study by the names of their files; none without matplotlib."""
    if find_spec("matplotlib") is None:
        return {}
    drawn = {study.reports[0].metric.name: score_by_malicious(study), "data": study.data.summary().plot()}
    return drawn | ({"answers": answers_and_truth(study)} if study.data.numeric else {})


def page(study: Study, title: str, drawn: dict[str, Figure]) -> str:
    """Everything as one HTML page that asks nothing of the network."""
    report = study.reports[0]
    metric = report.metric.name
    result = Page(title)
    for line in in_short(report):
        result.strong(line)
    sizes = study.data.summary().sizes
    result.text(
        f"{study.data.description}. {report.n_participants} participants with {sizes.min()} to {sizes.max()} "
        f"rows each fitted models of their own. They answered {report.inputs:,} new inputs: "
        f"{report.protocol}. {_what_left(study)}"
    )
    if study.data.tested:
        result.text(f"{study.data.tested[0].upper()}{study.data.tested[1:]}.")
    if study.deliberations:
        result.heading("How votes would travel by Slush")
        truth = _places(study)
        result.player(deliberations_to_play(study.deliberations, truth=truth, images=study.images))
    result.heading(f"{metric.capitalize()}, by how many participants are malicious")
    result.table(*table(study), bold=CONSENSUS)
    result.text(_about_lies(study))
    caption = f"{metric.capitalize()} against the number of malicious participants"
    if report.metric.higher_is_better:
        lines = [Curve(name, known, *_LOOKS.get(name, (11, ""))) for name, known in _measured(study).items()]
        result.curves(metric, curves.curves(caption, "malicious participants", lines), caption)
    elif metric in drawn:
        result.figure(drawn[metric], caption)
    result.heading("With nobody malicious" if not study.malicious[0] else "With the fewest malicious")
    result.table(list(report.columns), [list(report.cells(line)) for line in report.lines], bold=CONSENSUS)
    for note in report.notes:
        result.text(note[0].upper() + note[1:] + ".")
    if "answers" in drawn:
        result.figure(drawn["answers"], "Answers against the truth, on the test rows")
    _add_participants(result, report)
    result.heading("Who has which rows")
    summary = study.data.summary()
    caption = "Training rows by participant and " + ("quarter" if study.data.numeric else "class")
    if not study.data.numeric and len(summary.classes) <= _MOST_CLASSES:
        result.curves("rows", curves.rows_by_class(caption, summary), caption)
    elif "data" in drawn:
        result.figure(drawn["data"], caption)
    result.text(
        f"Fitting took {study.seconds_fitting:.1f} s, all comparisons {study.seconds_comparing:.1f} s."
    )
    return result.html()


def _add_participants(page: Page, report: Report) -> None:
    """Odd participants, and those that gain by joining."""
    page.heading("Who is off")
    people = report.participants
    rows = people.brief()
    page.table(*people.cells(rows))
    page.text(
        " ".join(
            [
                "Scores with 95% intervals; a finding is a reason to look.",
                *people.notes(len(rows), "participants.csv has all."),
            ]
        )
    )
    if report.joining is None:
        return
    page.heading("Is joining worth it?")
    groups = report.joining.brief()
    if groups:
        page.table(*report.joining.cells(groups), bold="all of them")
    for note in report.joining.notes(len(groups), "results.json has all"):
        page.text(note[0].upper() + note[1:] + ".")


def _about_lies(study: Study) -> str:
    if study.data.numeric:
        return (
            "A malicious participant answers a number far away. Mean and best participant are of the honest "
            "ones. All other rules see all numbers; stacking also needs the right ones."
        )
    return (
        "A malicious participant knows the truth and always answers wrong. Mean and best participant are of "
        "the honest ones. All other rules see all votes; stacking also needs right labels. Whoever always "
        "lies can be read backwards by rules that learn from labelled rows."
    )


def _places(study: Study) -> Any:
    """The truth of the test rows as places among the labels of the deliberations."""
    labels = np.asarray(next(iter(study.deliberations.values())).labels).tolist()
    right = named(study.data, np.asarray(study.data.y_test)).tolist()
    return np.array([labels.index(each) if each in labels else NO_VOTE for each in right])


def _names(study: Study) -> list[str]:
    """The lines of all reports."""
    return list(dict.fromkeys(line.name for report in study.reports for line in report.lines))


def _score(report: Report, name: str, score: str | None = None) -> float | None:
    line = next((line for line in report.lines if line.name == name), None)
    if line is None:
        return None
    return line.score if score is None else line.scores.get(score)


def _measured(study: Study) -> dict[str, list[tuple[int, float]]]:
    """The scores of each line by number of malicious participants, as far as they are known."""
    lines = {}
    for name in _names(study):
        values = [_score(report, name) for report in study.reports]
        lines[name] = [(f, v) for f, v in zip(study.malicious, values, strict=True) if v is not None]
    return {name: known for name, known in lines.items() if known}


def _what_left(study: Study) -> str:
    """The rows that participants showed, in words."""
    if not study.shown:
        what = "numbers" if study.data.numeric else "votes"
        return f"Nobody saw another's rows or model; only {what} were exchanged."
    return f"{study.shown[0].upper()}{study.shown[1:]}. Nobody saw another's other rows or model."


def _show(study: Study, value: float | None) -> str:
    return "-" if value is None else study.reports[0].metric.show(value)


def _four(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
