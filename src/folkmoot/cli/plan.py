"""``folkmoot plan``: which protocol, k, alpha and rounds to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.options import (
    FLOAT,
    INT,
    Device,
    Json,
    LabelColumn,
    Plot,
    RoundsEach,
    Seed,
    TaskColumn,
    WorkerColumn,
    check_workers,
    device_called,
    parse_accuracies,
)
from folkmoot.cli.output import (
    collected_warnings,
    picture_path,
    print_json,
    print_table,
    progress_bar,
    save_picture,
)

if TYPE_CHECKING:
    from folkmoot.files.vote_files import VoteTable


def plan(
    n: Annotated[
        int | None,
        typer.Option("--n", help="Participants in all.", show_default="as many as --p or --votes has", **INT),
    ] = None,
    p: Annotated[
        str | None,
        typer.Option(
            "--p",
            help="Accuracy of the participants: 0.8, or one each (0.7,0.6,...), or groups (60x0.7,41x0.55)",
            show_default=False,
        ),
    ] = None,
    votes: Annotated[
        Path | None,
        typer.Option(
            "--votes", help="Votes to resample instead of --p: columns task,worker,label.", show_default=False
        ),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option("--truth", help="Columns task,label: the right answers to --votes.", show_default=False),
    ] = None,
    task_column: TaskColumn = "task",
    worker_column: WorkerColumn = "worker",
    label_column: LabelColumn = "label",
    byzantine: Annotated[
        str, typer.Option("--byzantine", help="Participants that always answer wrong: 5, or a share: 12%.")
    ] = "0",
    labels: Annotated[
        int | None, typer.Option("--labels", help="How many labels there are.", show_default="2", **INT)
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            "--target", help="Say how many participants this accuracy takes.", show_default=False, **FLOAT
        ),
    ] = None,
    protocol: Annotated[str, typer.Option("--protocol", help="all, or one of: {protocols}.")] = "all",
    inputs: Annotated[
        int, typer.Option("--inputs", help="Inputs in a batch, which one query carries.", **INT)
    ] = 100,
    rounds: RoundsEach = 50,
    seed: Seed = 0,
    device: Device = "cpu",
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Choose protocol, k, alpha and rounds: what they give, what they cost, and where they break."""
    from folkmoot.planning import plan as planned

    path = picture_path(plot)
    given: dict[str, Any] = {"p": None if p is None else parse_accuracies(p), "labels": labels}
    if p is None and votes is None:
        raise ValueError(
            "--p is missing: give the accuracy of the participants, such as --p 0.8, or --votes FILE"
        )
    if p is not None and votes is not None:
        raise ValueError("give --p or --votes, not both: a file of votes has its own accuracies")
    if votes is not None:
        table = _table(votes, truth, task_column, worker_column, label_column, labels)
        given |= {"votes": table.votes, "truth": table.truth, "labels": len(table.labels)}
    elif truth is not None:
        raise ValueError("--truth goes with --votes: give --votes FILE, too")
    with collected_warnings() as lines, progress_bar("planning") as progress:
        found = planned(
            n,
            byzantine=_liars(byzantine),
            target=target,
            protocol=None if protocol == "all" else protocol,
            inputs=inputs,
            rounds=rounds,
            seed=seed,
            device=device_called(device),
            progress=progress,
            **given,
        )
    if json:
        print_json(found.to_dict() | {"warnings": lines})
    else:
        print_table(found.title, found.header, found.rows, found.notes)
    if path:
        save_picture(found.plot(), path)


def _table(
    votes: Path, truth: Path | None, task: str, worker: str, label: str, labels: int | None
) -> VoteTable:
    from folkmoot.files.vote_files import read_votes

    if labels is not None:
        raise ValueError("--labels is for --p: a file of votes has its own labels")
    table = read_votes(votes, truth, task=task, worker=worker, label=label)
    check_workers(table, votes, worker)
    return table


def _liars(typed: str) -> int | float:
    """A count, or a share of the participants."""
    text = typed.strip()
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else int(text)
    except ValueError:
        raise ValueError(
            f"--byzantine must be a whole number such as 5, or a share such as 12%: got {typed!r}"
        ) from None
