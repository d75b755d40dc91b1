"""``folkmoot local``: a whole moot on this machine, each participant a process, with faults if wanted."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, cast

import typer

from folkmoot.cli.network.durations import seconds_of
from folkmoot.cli.network.local_output import as_dict, numbers_as_dict, print_numbers, print_result
from folkmoot.cli.options import (
    INT,
    Json,
    KOrAll,
    Participants,
    RoundsEach,
    Seed,
    real_number,
    whole_number,
)
from folkmoot.cli.output import print_json, progress_bars, say, say_secret
from folkmoot.cli.participant_output import print_participants

if TYPE_CHECKING:
    from folkmoot.network.service.asking import Voting
    from folkmoot.runs.local_moot import LocalMoot, LocalResult
    from folkmoot.web.page import Opened


def local(
    nodes: Annotated[int, typer.Option("--nodes", help="Processes, each a participant.", **INT)] = 25,
    byzantine: Annotated[int, typer.Option("--byzantine", help="How many of them lie.", **INT)] = 0,
    attack: Annotated[
        str | None,
        typer.Option("--attack", help="How they lie.", show_default="malicious, or far-away in numbers"),
    ] = None,
    kill: Annotated[int, typer.Option("--kill", help="How many to kill during the talk.", **INT)] = 0,
    pause: Annotated[int, typer.Option("--pause", help="How many to pause during the talk.", **INT)] = 0,
    inputs: Annotated[int, typer.Option("--inputs", help="Digits or patients that are put.", **INT)] = 100,
    trust: Annotated[
        bool, typer.Option("--trust", help="Each learns whom to trust, from rows that it held out.")
    ] = False,
    peer_review: Annotated[
        bool,
        typer.Option(
            "--peer-review",
            help="Each shows some labelled rows; what all learn from them, beside --trust or, with "
            "--regression, beside the same without.",
        ),
    ] = False,
    check_rows: Annotated[
        int | None,
        typer.Option(
            "--check-rows",
            parser=whole_number,
            metavar="N",
            help="With --peer-review: rows that each shows.",
            show_default="10",
        ),
    ] = None,
    voting: Annotated[
        str,
        typer.Option(
            "--voting",
            help="With --peer-review: what is handed in and weighed, 'labels' or 'probabilities'.",
        ),
    ] = "labels",
    regression: Annotated[
        bool, typer.Option("--regression", help="Numbers instead: each fits a regressor on some patients.")
    ] = False,
    tol: Annotated[
        float | None,
        typer.Option(
            "--tol",
            parser=real_number,
            metavar="WIDTH",
            help="With --regression: how far apart the numbers signed by a quorum may be.",
            show_default="1.0",
        ),
    ] = None,
    k: KOrAll = None,
    rounds: RoundsEach = 50,
    deadline: Annotated[str, typer.Option("--deadline", help="When it must be over: 30s, 2m.")] = "30s",
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Keep keys, models, logs and databases here.", show_default=False),
    ] = None,
    page: Annotated[
        bool,
        typer.Option("--page", help="Show the node that asks in a browser, live; all stay until Ctrl-C."),
    ] = False,
    page_at: Annotated[
        str | None,
        typer.Option(
            "--page-at",
            metavar="HOST:PORT",
            help="Where, with --page (on loopback).",
            show_default="any port",
        ),
    ] = None,
    participants: Participants = False,
    json: Json = False,
) -> None:
    """Start a moot of real processes on this machine, put digits to it, break some of it, and compare."""
    from folkmoot.runs.local_moot import LocalMoot, play

    if regression:
        taken = {
            "--trust": trust,
            "--voting": voting != "labels",
            "--page": page,
            "--participants": participants,
            "--k": k is not None,
        }
        for option in (name for name, given in taken.items() if given):
            raise ValueError(f"{option} must not be given with --regression: it is for labels")
    if tol is not None and not regression:
        raise ValueError("--tol must be given with --regression: labels are the same or not")
    if check_rows is not None and (not peer_review or check_rows < 2):
        raise ValueError(f"--check-rows must be 2 or more, and given with --peer-review: got {check_rows}")
    shown_rows = (10 if check_rows is None else check_rows) if peer_review else 0
    if regression:
        _local_numbers(
            nodes, byzantine, attack, kill, pause, inputs, rounds, deadline, tol, shown_rows, seed, out,
            json=json,
        )  # fmt: skip
        return
    config = LocalMoot(
        nodes,
        byzantine,
        attack or LocalMoot.attack,
        kill,
        pause,
        inputs,
        k,
        rounds,
        seconds_of(deadline, "--deadline"),
        trust,
        check_rows=shown_rows,
        voting=cast("Voting", voting),  # which it checks
    )
    config.check()
    if page_at is not None and not page:
        raise ValueError("--page-at must be given with --page: there is no page without it")
    where = _page_at(page_at) if page else None

    def told(result: LocalResult) -> None:
        if json:
            print_json(as_dict(result))
        else:
            print_result(result, kept=out)
            print_participants(result.participants, whole=participants)

    with folder_for(out) as folder:
        if where is None:
            with progress_bars() as progress:
                result = play(config, seed, folder, progress)
            told(result)
        else:
            _play_with_page(where, config, seed, folder, told, json)


def _local_numbers(
    nodes: int,
    byzantine: int,
    attack: str | None,
    kill: int,
    pause: int,
    inputs: int,
    rounds: int,
    deadline: str,
    tol: float | None,
    check_rows: int,
    seed: int,
    out: Path | None,
    *,
    json: bool,
) -> None:
    from folkmoot.runs.local_numbers import LocalNumbers, play_numbers

    config = LocalNumbers(
        nodes, byzantine, attack or LocalNumbers.attack, kill, pause, inputs, rounds,
        seconds_of(deadline, "--deadline"), LocalNumbers.tol if tol is None else tol, check_rows,
    )  # fmt: skip
    config.check()
    with folder_for(out) as folder, progress_bars() as progress:
        result = play_numbers(config, seed, folder, progress)
    if json:
        print_json(numbers_as_dict(result))
    else:
        print_numbers(result, kept=out)


@contextmanager
def folder_for(out: Path | None) -> Iterator[Path]:
    """Where keys, models and logs are: the folder given, which must be empty, or one that goes afterwards."""
    if out is not None and out.exists() and any(out.iterdir()):
        raise ValueError(f"--out must be a new or empty folder: there is something in {out}")
    folder = Path(tempfile.mkdtemp(prefix="folkmoot-")) if out is None else out
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder.resolve()
    finally:
        if out is None:
            shutil.rmtree(folder, ignore_errors=True)


def _page_at(address: str | None) -> str:
    """Where the page is to be; said before anything is fitted if it cannot be there."""
    from folkmoot.network.service.check import free_port
    from folkmoot.network.service.control import loopback
    from folkmoot.web.site import Site

    if address is None:
        address = "127.0.0.1:0"
    loopback(address, "--page-at")
    Site(address)  # are its packages installed?
    there = free_port(address)
    if not there.fine:
        raise ValueError(f"--page-at must be an address that is free: {there.note}")
    return address


def _play_with_page(
    address: str,
    config: LocalMoot,
    seed: int,
    folder: Path,
    told: Callable[[LocalResult], None],
    json: bool,
) -> None:
    """Play, and let people look at the page of the node that asks until Ctrl-C."""
    from folkmoot.runs.local_moot import LocalPage, play
    from folkmoot.runs.processes import name_of
    from folkmoot.web.site import PAGE

    with ExitStack() as bars:
        progress = bars.enter_context(progress_bars())

        def shown(opened: Opened) -> None:
            if not say_secret(opened.address, error=json):
                file = folder / name_of(0) / PAGE
                say(f"the address of the page holds a token: it is in {file}", error=True)

        def stay(result: LocalResult) -> None:
            bars.close()
            told(result)
            sys.stdout.flush()  # whoever reads a pipe has it now, not at the end
            with suppress(KeyboardInterrupt):  # also one that comes as soon as it is asked for
                say("the nodes and their page stay until Ctrl-C", error=True)
                Event().wait()

        play(config, seed, folder, progress, LocalPage(address, shown, stay))
    say("ended: all nodes are stopped", error=True)
