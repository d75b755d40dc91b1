"""``folkmoot demo``: 101 participants learn digits and agree, with liars among them; offline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from folkmoot.cli.options import Jobs, Json, Seed
from folkmoot.cli.output import collected_warnings, print_json, print_table, progress_bars, say
from folkmoot.cli.study_output import as_dict, check_folder, write_study


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the report and its pictures.")] = Path(
        "folkmoot-demo"
    ),
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Show what it does: 101 participants with small models of their own agree on digits; 30 lie."""
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
        report, sizes = study.reports[0], study.data.summary().sizes
        lines = [
            ("one participant alone, on average", "mean participant"),
            ("the majority of all votes", "majority"),
            ("the moot, by peer review", "mean final vote"),
        ]
        rows = [[said, *(_share(each.score(name)) for each in study.reports)] for said, name in lines]
        print_table(
            [
                f"{report.n_participants} participants have {sizes.min()} to {sizes.max()} digits each and "
                "fit small models of their own.",
                f"All answer {report.inputs} new digits. How many are right:",
            ],
            ["who answers", "nobody lies", *(f"{count} lie" for count in study.malicious[1:])],
            rows,
            [
                "A liar knows the right digit and always says another. Peer review: everybody shows up to "
                f"{Demo.rows} of its digits,",
                f"all answer these, and each learns from the answers whom to believe ({study.shown}).",
                "Those who always lie give themselves away, so they even help.",
                "A moot of nodes that sign what they decide, and how to verify it: folkmoot local.",
            ],
        )
    say(where, error=True)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
