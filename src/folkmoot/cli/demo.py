"""``folkmoot demo``: 101 participants learn digits and agree, with malicious ones among them; offline."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from folkmoot.cli.options import OUTPUT_PANEL, Jobs, Json, Seed
from folkmoot.cli.output import collected_warnings, print_json, print_table, progress_bars, say
from folkmoot.cli.study_output import as_dict, check_folder, write_study

if TYPE_CHECKING:
    from folkmoot.arrays import PartProgress
    from folkmoot.runs.study import Study

CERTIFICATE: Final = "motion.json"
ROSTER: Final = "roster.toml"
NODES, MALICIOUS, INPUTS = 4, 1, 20  # of the moot that signs
_WHO: Final = {
    "one participant alone": "mean participant",
    "the majority of all votes": "majority",
    "the moot, by peer review": "mean final vote",
}


def demo(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="Folder for the report, its pictures and the certificate.",
            rich_help_panel=OUTPUT_PANEL,
        ),
    ] = Path("folkmoot-demo"),
    seed: Seed = 0,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Show what it does: 101 small models agree on digits; 30 lie.

    Each participant has a few digits of its own and fits a small model to them. The screen compares one
    participant, the majority and the moot; the report shows the rest.
    """
    from folkmoot.runs.study import Demo
    from folkmoot.runs.study import demo as play

    folder = check_folder(out)
    with collected_warnings() as warnings, progress_bars() as progress:
        study = play(Demo(), seed, n_jobs=jobs, progress=progress)
        found = as_dict(study, warnings)
        where = write_study(study, folder, "folkmoot: 101 private models, one agreed answer", found)
        signed = _signed(folder, seed, progress)
    if json:
        print_json(found | {"certificate": str(folder / CERTIFICATE), "signed": signed})
    else:
        _print(study, signed)
    say(where, error=True)


def _print(study: Study, signed: list[str]) -> None:
    """One screen: who is right how often, what was signed, and how to verify it."""
    report, sizes = study.reports[0], study.data.summary().sizes
    rows = [[said, *(_share(each.score(name)) for each in study.reports)] for said, name in _WHO.items()]
    print_table(
        [
            f"{report.n_participants} participants with {sizes.min()} to {sizes.max()} digits each fit small "
            "models.",
            f"Who is right how often, on {report.inputs} new digits:",
        ],
        ["who answers", "nobody lies", *(f"{count} lie" for count in study.malicious[1:])],
        rows,
        [
            "They know the right digit and always give another. In peer review all answer digits that",
            "others show, and each learns whom to believe. Who always lies helps: it can be read backwards.",
            f"Peer review has a price ({study.shown}).",
        ],
    )
    say("", *signed)


def _signed(folder: Path, seed: int, progress: PartProgress | None) -> list[str]:
    """Let a few real nodes decide some digits; what they signed goes into the folder."""
    from folkmoot.cli.node.options import opened
    from folkmoot.local.moot import LocalMoot, play

    moot = LocalMoot(NODES, MALICIOUS, inputs=INPUTS, terms={"seconds": 60.0}, seed=seed)
    try:
        with tempfile.TemporaryDirectory(prefix="folkmoot-") as hidden:
            account = play(moot, Path(hidden).resolve(), progress).account
            with opened(str(Path(hidden).resolve() / "node000")) as node:
                (folder / CERTIFICATE).write_bytes(node.certificate(account["motion"]))
            shutil.copyfile(Path(hidden, ROSTER), folder / ROSTER)
    except (ImportError, OSError, RuntimeError, ValueError) as error:  # the rest was shown all the same
        return [f"A moot of nodes that sign could not be run here: {error}"]
    return [
        f"Then {NODES} nodes, each a process and {MALICIOUS} of them malicious, decided "
        f"{account['inputs'] - account['undecided']} of {account['inputs']} digits. "
        f"{account['quorum']} signatures",
        "prove who voted what; anybody can check them and compute the answers again:",
        f"  folkmoot verify {folder / CERTIFICATE} --roster {folder / ROSTER}",
    ]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
