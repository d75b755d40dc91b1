"""``folkmoot plan``: which protocol, k, alpha and rounds to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.options import (
    FILES_PANEL,
    FLOAT,
    INT,
    Device,
    Inputs,
    Json,
    LabelColumn,
    MaliciousOrShare,
    P,
    Plot,
    Rounds,
    Seed,
    TaskColumn,
    Truth,
    WorkerColumn,
    check_workers,
    device_called,
    parse_accuracies,
    protocol_option,
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
    p: P = None,
    votes: Annotated[
        Path | None,
        typer.Option(
            "--votes",
            help="Votes to resample instead of --p: columns task,worker,label.",
            show_default=False,
            rich_help_panel=FILES_PANEL,
        ),
    ] = None,
    truth: Truth = None,
    task_column: TaskColumn = "task",
    worker_column: WorkerColumn = "worker",
    label_column: LabelColumn = "label",
    malicious: MaliciousOrShare = "0",
    classes: Annotated[
        int | None, typer.Option("--classes", help="How many labels there are.", show_default="2", **INT)
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option(
            "--accuracy", help="Say how many participants reach this accuracy.", show_default=False, **FLOAT
        ),
    ] = None,
    protocol: Annotated[str, protocol_option("all, {protocols}")] = "all",
    inputs: Inputs = 100,
    rounds: Rounds = None,
    seed: Seed = 0,
    device: Device = None,
    json: Json = False,
    plot: Plot = None,
) -> None:
    """Choose protocol, k, alpha and rounds for a moot.

    Each setting has its accuracy and its cost in messages; the notes say how many malicious participants
    break the best.
    """
    from folkmoot.planning.planner import plan as planned
    from folkmoot.protocols.naming import PROTOCOLS

    path = picture_path(plot)
    if protocol not in ("all", *PROTOCOLS):
        raise ValueError(f"--protocol must be one of all, {', '.join(PROTOCOLS)}: got {protocol!r}")
    given: dict[str, Any] = {"p": None if p is None else parse_accuracies(p), "labels": classes}
    if p is None and votes is None:
        raise ValueError(
            "--p is missing: give the accuracy of the participants, such as --p 0.8, or --votes FILE"
        )
    if p is not None and votes is not None:
        raise ValueError("give --p or --votes, not both: a file of votes has its own accuracies")
    if votes is not None:
        table = _table(votes, truth, task_column, worker_column, label_column, classes)
        given |= {"votes": table.votes, "truth": table.truth, "labels": len(table.labels)}
    elif truth is not None:
        raise ValueError("--truth goes with --votes: give --votes FILE, too")
    with collected_warnings() as lines, progress_bar("planning") as progress:
        found = planned(
            n,
            byzantine=_share(malicious),
            target=accuracy,
            protocol=None if protocol == "all" else protocol,
            inputs=inputs,
            rounds=50 if rounds is None else rounds,
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
    votes: Path, truth: Path | None, task: str, worker: str, label: str, classes: int | None
) -> VoteTable:
    from folkmoot.files.vote_files import read_votes

    if classes is not None:
        raise ValueError("give --classes or --votes, not both: a file of votes has its own labels")
    table = read_votes(votes, truth, task=task, worker=worker, label=label)
    check_workers(table, votes, worker)
    return table


def _share(typed: str) -> int | float:
    """A count, or a share of the participants."""
    text = typed.strip()
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else int(text)
        if isinstance(share, float) and not 0 <= share < 1:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"--malicious must be a whole number such as 5, or a share below 100% such as 12%: got {typed!r}"
        ) from None
    return share
