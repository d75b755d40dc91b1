"""A study for people: its table, its pictures, and one page that holds everything."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from folkmoot.comparing.how_sure.scores import TITLES
from folkmoot.comparison import CONSENSUS, WITHOUT_TRUST, Report
from folkmoot.comparison.report import TIES_SHARE
from folkmoot.learning.labels import as_truth
from folkmoot.pictures.palette import BLUE, ORANGE, PALE, PURPLE, RED
from folkmoot.plots import draw_convergence
from folkmoot.report import curves
from folkmoot.report.curves import Curve, Look
from folkmoot.report.page import Page
from folkmoot.report.who_section import add_who
from folkmoot.runs.shown_rows import READ_BACKWARDS
from folkmoot.runs.study import PEER_REVIEWED, Study
from folkmoot.watching import talks_to_play

_DRAWN = 60  # inputs in the picture of the talk
_STYLES: dict[str, dict[str, Any]] = {
    CONSENSUS: {"color": BLUE, "lw": 2.6, "marker": "o", "zorder": 5},
    WITHOUT_TRUST: {"color": BLUE, "lw": 1.6, "ls": "--", "marker": "o", "mfc": "white"},
    PEER_REVIEWED: {"color": RED, "lw": 2.0, "marker": "P", "zorder": 4},
    "majority": {"color": ORANGE, "lw": 1.8, "marker": "s"},
    "weighted majority": {"color": "#3a8f5c", "lw": 1.4, "marker": "^"},
    "supermajority": {"color": "#b9770e", "lw": 1.4, "ls": ":", "marker": "v"},
    "Dawid-Skene": {"color": PURPLE, "lw": 1.4, "marker": "D"},
    "stacking": {"color": "#7f8c8d", "lw": 1.4, "ls": "--", "marker": "x"},
    "best participant": {"color": PALE, "lw": 1.2, "ls": "--"},
    "mean participant": {"color": PALE, "lw": 1.2, "ls": ":"},
}
# The same on the page, by the colours of player.css.
_LOOKS: dict[str, tuple[int, Look]] = {
    CONSENSUS: (0, "strong"),
    WITHOUT_TRUST: (0, "dashed"),
    PEER_REVIEWED: (2, ""),
    "majority": (1, ""),
    "weighted majority": (4, ""),
    "supermajority": (8, "dotted"),
    "Dawid-Skene": (6, ""),
    "stacking": (3, "dashed"),
    "best participant": (10, "dashed"),
    "mean participant": (10, "dotted"),
}
_MOST_CLASSES = 12  # that have colours of their own


def table(study: Study) -> tuple[list[str], list[list[str]]]:
    """Header and rows: who decides, and the accuracy for each number of liars; then how firm it was."""
    header = ["malicious", *(str(count) for count in study.byzantine)]
    rows = [
        [name, *(_share(_accuracy(report, name)) for report in study.reports)]
        for name in _names(study)
        if name != CONSENSUS
    ]
    rows.append([_named(study, CONSENSUS), *(_share(report.accuracy()) for report in study.reports)])
    if _trusting(study):
        rows.append(["  anchored", *(str(report.anchored) for report in study.reports)])
    rows.append(["  agreement", *(_share(report.agreement) for report in study.reports)])
    rows.append(["  undecided", *(f"{report.undecided:g}" for report in study.reports)])
    return header, rows


def score_table(study: Study, score: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows: who decides, and one of scikit-learn's scores for each number of liars."""
    header = ["malicious", *(str(count) for count in study.byzantine)]
    each = [{line.name: line.scores.get(score) for line in report.lines} for report in study.reports]
    return header, [[_named(study, name), *(_share(one.get(name)) for one in each)] for name in _names(study)]


def accuracy_by_liars(study: Study) -> Figure:
    """Accuracy against the number of perfectly malicious participants."""
    figure = Figure(figsize=(7.6, 4.4), layout="constrained")
    axes = figure.subplots()
    for name, known in _measured(study).items():
        axes.plot(*zip(*known, strict=True), label=_named(study, name), **{"ms": 4, **_STYLES.get(name, {})})
    axes.set_xlabel("perfectly malicious participants")
    axes.set_ylabel("accuracy")
    axes.set_ylim(-0.02, 1.02)
    axes.set_xticks(study.byzantine)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _measured(study: Study) -> dict[str, list[tuple[int, float]]]:
    """The accuracies of each line by number of liars, as far as they are known."""
    lines = {}
    for name in _names(study):
        values = [_accuracy(report, name) for report in study.reports]
        lines[name] = [(f, v) for f, v in zip(study.byzantine, values, strict=True) if v is not None]
    return {name: known for name, known in lines.items() if known}


def convergence(study: Study) -> Figure:
    """How the talk about the first inputs went, round by round."""
    figure = Figure(figsize=(7.6, 4.0), layout="constrained")
    axes = figure.subplots()
    draw_convergence(study.talk, axes, most=_DRAWN)
    axes.set_title(_drawn(study), fontsize=10, loc="left")
    return figure


def _drawn(study: Study) -> str:
    return f"{min(study.talk.decision.shape[-1], _DRAWN)} inputs, {study.watched} malicious"


def page(study: Study, title: str, pictures: dict[str, Figure]) -> str:
    """Everything as one HTML page that asks nothing of the network."""
    report = study.report(study.watched)
    sizes = study.data.summary().sizes
    result = Page(title)
    result.text(
        f"{study.data.description}. {report.n_participants} participants with {sizes.min()} to {sizes.max()} "
        "rows each fitted models of their own, measured them on the rows they had held out, and then talked "
        f"about {report.inputs:,} new inputs: {report.protocol}. {_what_left(study)}"
    )
    if study.data.tested:
        result.text(f"{study.data.tested[0].upper()}{study.data.tested[1:]}.")
    if study.talks:
        truth = as_truth(study.data.y_test, np.asarray(study.talk.labels))
        result.player(talks_to_play(study.talks, truth=truth, images=study.images))
    result.heading("Accuracy, by how many participants lie")
    result.table(*table(study), bold=_named(study, CONSENSUS))
    result.text(
        "A perfectly malicious participant knows the truth and always answers wrong. Mean and best "
        "participant are of the honest ones. The rules between them and the consensus see all votes at "
        "once, which needs a server; stacking also needs labels there. It and Dawid-Skene can read those who "
        f"always lie backwards. On every line {TIES_SHARE}; other undecided inputs count as wrong."
    )
    if study.reviewed:
        result.text(
            "The consensus is by peer review: each participant learns from all votes on the rows that were "
            f"shown whom to believe on what; {READ_BACKWARDS}. A participant that cannot tell its own "
            "labels by what the others showed does not anchor and has no say; agreement is of the others."
        )
    elif _trusting(study):
        result.text(
            "The consensus is by trust: each participant learns from its own rows and from all first votes "
            "whom to believe, and needs no majority of honest ones for it. A participant whose own rows "
            "do not show that it beats chance does not anchor and has no say; agreement is of the others."
        )
    if study.shown is not None and not study.reviewed:
        result.text(
            f"Peer review is another way: {study.shown}, and {study.shown.reviewers} participants that never "
            f"lie learn from all votes on them whom to believe on what. It is their talk; {READ_BACKWARDS}."
        )
    caption = "Accuracy against the number of perfectly malicious participants"
    lines = [
        Curve(_named(study, name), known, *_LOOKS.get(name, (11, "")))
        for name, known in _measured(study).items()
    ]
    result.curves("accuracy", curves.curves(caption, "perfectly malicious participants", lines), caption)
    result.heading(f"With {study.watched} malicious participants")
    scores = list(dict.fromkeys(name for line in report.lines for name in line.scores))
    titles = [TITLES.get(name, name) for name in scores]
    result.table(
        ["who decides", "accuracy", "standard error", *titles, "undecided", "needs"],
        [
            [
                line.name,
                _share(line.accuracy),
                "" if line.standard_error is None else f"{line.standard_error:.4f}",
                *(_share(line.scores.get(name)) for name in scores),
                "" if line.undecided is None else f"{line.undecided:g}",
                line.needs,
            ]
            for line in report.lines
        ],
        bold=CONSENSUS,
    )
    for note in report.notes:
        result.text(note[0].upper() + note[1:] + ".")
    result.curves(
        "convergence",
        curves.convergence(_drawn(study), study.talk, _DRAWN),
        "Share of the honest participants on the colour that wins, round by round; undecided inputs in red: "
        + _drawn(study),
    )
    add_who(
        result,
        report.participant_table,
        report.joining,
        "Shares with Wilson's 95% intervals: on its own held-out rows and on these inputs; how often its "
        "vote is the answer; on how many inputs it changed its mind. A finding is a reason to look.",
    )
    result.heading("Who has which rows")
    summary, caption = study.data.summary(), "Training rows by participant and class"
    if len(summary.classes) <= _MOST_CLASSES:
        result.curves("rows", curves.rows_by_class(caption, summary), caption)
    else:
        result.figure(pictures["data"], caption)
    result.text(
        f"Fitting took {study.seconds_fitting:.1f} s, all comparisons {study.seconds_comparing:.1f} s. "
        "Agreement is not correctness: a network can agree on a wrong answer, so the single best "
        "participant and the centralised majority stand beside every consensus."
    )
    return result.html()


def pictures(study: Study) -> dict[str, Figure]:
    """The pictures of a study by the names of their files."""
    return {
        "accuracy": accuracy_by_liars(study),
        "convergence": convergence(study),
        "data": study.data.summary().plot(),
    }


def _names(study: Study) -> list[str]:
    """The lines of all reports: where nobody anchors there is one talk instead of two."""
    return [line.name for line in max(study.reports, key=lambda report: len(report.lines)).lines]


def _accuracy(report: Report, name: str) -> float | None:
    """The accuracy of a line; where nobody anchored, the talk is the one without trust."""
    there = any(line.name == name for line in report.lines)
    return report.accuracy(CONSENSUS if name == WITHOUT_TRUST and not there else name)


def _trusting(study: Study) -> bool:
    return study.reports[0].anchored is not None


def _named(study: Study, name: str) -> str:
    """The name of a line for people: what kind of consensus it is, where there are two."""
    if name != CONSENSUS or not _trusting(study):
        return name
    return f"{CONSENSUS} by {'peer review' if study.reviewed else 'trust'}"


def _what_left(study: Study) -> str:
    """What participants let others have."""
    if not study.reviewed:
        but = "" if study.shown is None else ", but for the line of peer review"
        return f"Nobody saw another's rows or model; only votes were exchanged{but}."
    told = str(study.shown)
    return f"{told[0].upper()}{told[1:]}. Nobody saw another's other rows or model."


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
