"""``folkmoot demo``: 101 participants learn digits and agree, with liars among them; offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from folkmoot.cli.options import Jobs, Json, Participants, Seed
from folkmoot.cli.output import collected_warnings, print_json, progress_bars, say
from folkmoot.cli.participant_output import print_participants
from folkmoot.cli.study_output import as_dict, check_folder, print_study, write_study


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the report and its pictures.")] = Path(
        "folkmoot-demo"
    ),
    seed: Seed = 0,
    jobs: Jobs = None,
    participants: Participants = False,
    json: Json = False,
) -> None:
    """Show what it does: 101 participants with small models of their own agree on digits; up to 60 lie."""
    from folkmoot.runs.study import Demo
    from folkmoot.runs.study import demo as play

    folder = check_folder(out)
    with collected_warnings() as warnings, progress_bars() as progress:
        study = play(Demo(), seed, n_jobs=jobs, progress=progress)
    found = as_dict(study, warnings)
    where = write_study(study, folder, "folkmoot: 101 private models, one agreed answer", found)
    if json:
        print_json(found)
    else:
        report = study.report(study.watched)
        sizes = study.data.summary().sizes
        few, many = sizes.min(), sizes.max()
        print_study(
            study,
            [
                f"{report.n_participants} participants have {few} to {many} digits each, show them to nobody "
                "(but for peer review),",
                "fit small models of their own to four fifths and measure them on the rest. Then they talk",
                f"about {report.inputs} new digits (Slush, k={Demo.k}, alpha={Demo.alpha}). "
                "Accuracy, by how many of",
                "them are perfectly malicious:",
            ],
            [
                f"With {study.watched} of them malicious: {report.notes[0]}.",
                "Majority to stacking need a "
                "server that sees all votes; stacking needs labels there as well.",
                "By trust: each learns from "
                "the rest and from all first votes whom to believe. One that does not show that it beats",
                "chance does not anchor and has no say; agreement is of those who do.",
                f"Peer review, and it alone: {study.shown}.",
                f"{Demo.reviewers} that never lie learn from all votes on them whom to believe on what, and "
                "talk; those who are always",
                "wrong are read backwards, so that they help.",
            ],
        )
        print_participants(report.participant_table, whole=participants)
    say(where, error=True)
