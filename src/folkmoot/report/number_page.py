"""A study of numbers for people: its table, its pictures, and one page that holds everything."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from folkmoot.comparison.report import CONSENSUS
from folkmoot.pictures.palette import BLUE, ORANGE, PALE, RED
from folkmoot.report.page import Page
from folkmoot.report.who_section import add_who
from folkmoot.runs.number_study import NumberStudy

_FAR: Final = 2  # times the largest error with nobody lying: above it, lines leave the picture
_STYLES: Final[dict[str, dict[str, Any]]] = {
    CONSENSUS: {"color": BLUE, "lw": 2.6, "marker": "o", "zorder": 5},
    "mean": {"color": RED, "lw": 1.4, "ls": ":", "marker": "v"},
    "median": {"color": ORANGE, "lw": 1.8, "marker": "s"},
    "stacking": {"color": "#7f8c8d", "lw": 1.4, "ls": "--", "marker": "x"},
    "best participant": {"color": PALE, "lw": 1.2, "ls": "--"},
    "mean participant": {"color": PALE, "lw": 1.2, "ls": ":"},
}


def number_table(study: NumberStudy) -> tuple[list[str], list[list[str]]]:
    """Header and rows: who decides, and the error for each number of liars; then how near they came."""
    header = ["liars", *(str(count) for count in study.byzantine)]
    names = [line.name for line in study.reports[0].lines]
    rows = [[name, *(_short(report.error(name)) for report in study.reports)] for name in names]
    rows.append(["  settled", *(f"{report.settled:.3f}" for report in study.reports)])
    return header, rows


def error_by_liars(study: NumberStudy) -> Figure:
    """Root mean squared error against the number of liars; what is off by far leaves the picture."""
    figure = Figure(figsize=(7.6, 4.4), layout="constrained")
    axes = figure.subplots()
    known = {
        line.name: [
            (count, error)
            for count, report in zip(study.byzantine, study.reports, strict=True)
            if (error := report.error(line.name)) is not None
        ]
        for line in study.reports[0].lines
    }
    top = _FAR * max(points[0][1] for points in known.values() if points)
    for name, points in known.items():
        if points:
            far = ", off the picture" if any(error > top for _, error in points) else ""
            style = {"ms": 4, **_STYLES.get(name, {})}
            axes.plot(*zip(*points, strict=True), label=f"{name}{far}", **style)
    axes.set_ylim(0, max(top, 1e-12))
    axes.set_xlabel("participants that answer absurd numbers")
    axes.set_ylabel("root mean squared error")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def agreed_and_true(study: NumberStudy) -> Figure:
    """What is agreed on against the truth, a point for each test row."""
    figure = Figure(figsize=(5.2, 4.6), layout="constrained")
    axes = figure.subplots()
    truth = np.asarray(study.data.y_test, dtype=np.float64)
    low, high = min(truth.min(), study.agreed.min()), max(truth.max(), study.agreed.max())
    axes.plot([low, high], [low, high], color=PALE, lw=1.2)
    axes.scatter(truth, study.agreed, s=14, alpha=0.6, color=BLUE, edgecolors="none")
    axes.set_xlabel("truth")
    axes.set_ylabel("agreed on, nobody lying")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def number_pictures(study: NumberStudy) -> dict[str, Figure]:
    """The pictures of a study of numbers by the names of their files."""
    return {
        "error": error_by_liars(study),
        "agreed": agreed_and_true(study),
        "data": study.data.summary().plot(),
    }


def number_page(study: NumberStudy, title: str, pictures: dict[str, Figure]) -> str:
    """Everything as one HTML page that asks nothing of the network."""
    report = study.report(study.byzantine[0])
    sizes = study.data.summary().sizes
    result = Page(title)
    seen = (
        "Nobody saw another's rows or model; only numbers were exchanged"
        if study.shown is None
        else f"S{str(study.shown)[1:]}; each learns from them how to read the others' numbers"
    )
    result.text(
        f"{study.data.description}. {report.n_participants} participants with {sizes.min()} to {sizes.max()} "
        f"rows each fitted models of their own, and then drew nearer on {report.inputs:,} new inputs until "
        f"they agreed ({report.rule}). {seen}."
    )
    result.text(f"{study.data.tested[0].upper()}{study.data.tested[1:]}.")
    result.heading("Root mean squared error, by how many participants answer absurd numbers")
    result.table(*number_table(study), bold=CONSENSUS)
    result.text(
        "Mean and best participant are of the honest ones. Mean, median and stacking see all numbers at "
        "once, which needs a server; stacking also needs the right numbers there."
    )
    result.figure(pictures["error"], "Error against the number of participants that answer absurd numbers")
    result.heading("With nobody lying")
    result.table(
        list(report.header),
        [
            [line.name, _short(line.error), "" if line.r2 is None else f"{line.r2:.3f}", line.needs]
            for line in report.lines
        ],
        bold=CONSENSUS,
    )
    for note in (*report.notes, study.withstands):
        result.text(note[0].upper() + note[1:] + ".")
    if study.scores:
        result.text("By scikit-learn's scorers, of which more is always better:")
        result.table(*study.score_cells(), bold=CONSENSUS)
    result.figure(pictures["agreed"], "What is agreed on against the truth, on the test rows")
    add_who(
        result,
        report.participant_table,
        report.joining,
        "Errors are root mean squares, on rows that it kept for itself and on the test rows; bias is its "
        "mean error; from the answer, a root mean square. A finding is a reason to look.",
    )
    result.heading("Who has which rows")
    result.figure(pictures["data"], "Training rows by participant and quarter of what is predicted")
    result.text(
        f"Fitting took {study.seconds_fitting:.1f} s, all comparisons {study.seconds_comparing:.1f} s."
    )
    return result.html()


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
