"""``folkmoot reproduce``: the paper's tables and figures recomputed, each beside what the paper says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.options import Json, Seed, device_called, whole_number
from folkmoot.cli.output import print_json, print_table, progress_bars, say, warn
from folkmoot.cli.study_output import check_folder

if TYPE_CHECKING:
    from folkmoot.paper.experiment import Experiment
    from folkmoot.paper.findings_page import Done
    from folkmoot.paper.reproduction import Reproduction
    from folkmoot.simulation.play_options import Device

FAILED = 1  # some experiment could not be run; the others were


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Experiments; all of them if none is named.", show_default=False
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Name the experiments and exit.")] = False,
    out: Annotated[Path, typer.Option("--out", help="Folder for results, pictures and the report.")] = Path(
        "folkmoot-reproduce"
    ),
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="FEMNIST: a parquet or LEAF JSON file, or a folder.", show_default="download"
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Smaller settings, and no CNN unless it is named.")
    ] = False,
    jobs: Annotated[
        int,
        typer.Option("--jobs", help="Processes; -1 is one a core.", parser=whole_number, metavar="<int>"),
    ] = -1,
    ray: Annotated[
        str | None,
        typer.Option("--ray", help="Use this Ray cluster: an address, or 'local'.", show_default=False),
    ] = None,
    seed: Seed = 0,
    device: Annotated[
        str, typer.Option("--device", help="Where beta and design are played: cpu, cuda (a GPU) or auto.")
    ] = "cpu",
    json: Json = False,
) -> None:
    """Recompute every table and figure of the paper. Finished parts are kept: run it again to go on."""
    from folkmoot import checks
    from folkmoot.paper.catalogue import MODULES, experiment
    from folkmoot.paper.reproduction import Reproduction

    if list_:
        _list([experiment(name) for name in MODULES], json)
        return
    checks.integer("seed", seed, least=0)
    if jobs == 0:
        raise ValueError("--jobs must be a number of processes, or -1 for one a core: got 0")
    if data is not None and not data.exists():
        raise ValueError(f"--data must name a file or a folder of FEMNIST: there is no {data}")
    chosen = (
        [experiment(name) for name in dict.fromkeys(names)]
        if names
        else [experiment(name) for name in MODULES]
    )
    where = _device(device, [each.name for each in chosen if not each.takes_device] if names else [])
    if quick and not names:
        chosen = [each for each in chosen if each.name != "femnist-cnn"]
    folder = check_folder(out)
    folder.mkdir(parents=True, exist_ok=True)
    reproduction = Reproduction(folder, data, quick, seed, where)
    with _cluster(ray):
        done = [_run(reproduction, each, jobs) for each in chosen]
    # The page shows all that is finished, in the order of the paper, also what was not asked for now.
    shown = {each.experiment.name: each for each in done}
    for other in [experiment(name) for name in MODULES if name not in shown]:
        finished, complaints = reproduction.is_finished(other)
        if finished:
            shown[other.name] = _run(reproduction, other, jobs)
        for complaint in complaints:
            warn(f"{complaint} (experiment {other.name})")
    page = reproduction.write_page([shown[name] for name in MODULES if name in shown])
    if json:
        print_json({each.experiment.name: _as_dict(each) for each in done})
    else:
        _print(done)
    say(f"wrote {page} (open it in a browser)", error=True)
    failures = [each for each in done if each.failure]
    for each in failures:
        say(f"folkmoot: {each.experiment.name} was not run: {each.failure}", error=True)
    if failures:
        raise typer.Exit(FAILED)


def _device(typed: str, without: list[str]) -> Device:
    """The device to play on: "auto" is settled here, as results of a GPU are kept apart."""
    from folkmoot.simulation.kernels.gpu import cuda

    device = device_called(typed)
    if device == "cuda" and without:
        raise ValueError(f"--device cuda is for beta and design: {without[0]} is not played on a GPU")
    if device == "cuda":
        cuda.cuda()
    return ("cpu" if cuda.why_not() else "cuda") if device == "auto" else device


def _run(reproduction: Reproduction, experiment: Experiment[Any], jobs: int) -> Done:
    with progress_bars() as progress:
        done = reproduction.run(experiment, jobs=jobs, progress=progress)
    for complaint in done.complaints:
        warn(complaint)
    return done


def _print(done: list[Done]) -> None:
    from folkmoot.paper.findings_page import findings_table

    for each in done:
        if each.result is not None:
            _, rows = findings_table(each.result.findings)
            judged = [finding.holds for finding in each.result.findings if finding.holds is not None]
            held = f"{sum(judged)} of {len(judged)} claims hold; " if judged else ""
            print_table(
                f"{each.experiment.name}: {each.result.verdict}",
                ["", "the paper", "here"],
                [row[:3] for row in rows],
                f"{held}{each.seconds:.1f} s",
                words=True,
            )


def _list(experiments: list[Experiment[Any]], json: bool) -> None:
    if json:
        print_json({each.name: each.about for each in experiments})
        return
    width = max(len(each.name) for each in experiments)
    for each in experiments:
        say(f"{each.name:<{width}}  {each.about}")


def _as_dict(each: Done) -> dict[str, Any]:
    from dataclasses import asdict

    result = each.result
    return {
        "claim": each.experiment.claim,
        "verdict": None if result is None else result.verdict,
        "failure": each.failure,
        "seconds": round(each.seconds, 3),
        "findings": [] if result is None else [asdict(finding) for finding in result.findings],
        "notes": [] if result is None else list(result.notes),
    }


def _cluster(address: str | None) -> Any:
    """Where joblib sends the cells: processes of this machine, or a Ray cluster."""
    from contextlib import nullcontext

    if address is None:
        return nullcontext()
    from folkmoot.paper.cluster import ray_cluster

    return ray_cluster(address)
