"""``folkmoot local``: a whole moot on this machine, each participant a process, with faults if wanted."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from folkmoot.cli.network.durations import seconds_of
from folkmoot.cli.options import INT, Json, KOrAll, Participants, RoundsEach, Seed, real_number, whole_number
from folkmoot.cli.output import json_key, print_json, print_table, progress_bars, say, say_secret
from folkmoot.cli.participant_output import print_participants

if TYPE_CHECKING:
    from folkmoot.network.storage.account import Account
    from folkmoot.runs.local_moot import LocalMoot, LocalResult
    from folkmoot.runs.local_numbers import LocalNumbersResult
    from folkmoot.runs.local_page import LocalPage

PAGE: Final = "page.json"  # in the folder: the address and the token


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
            "--peer-review", help="Each shows some labelled rows; what all learn from them, beside --trust."
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
        typer.Option("--page", help="Show all nodes in a browser, live; they stay until Ctrl-C."),
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
            "--peer-review": peer_review,
            "--page": page,
            "--participants": participants,
            "--k": k is not None,
        }
        for option in (name for name, given in taken.items() if given):
            raise ValueError(f"{option} must not be given with --regression: it is for labels")
        _local_numbers(
            nodes, byzantine, attack, kill, pause, inputs, rounds, deadline, tol, seed, out, json=json
        )
        return
    if tol is not None:
        raise ValueError("--tol must be given with --regression: labels are the same or not")
    if check_rows is not None and (not peer_review or check_rows < 2):
        raise ValueError(f"--check-rows must be 2 or more, and given with --peer-review: got {check_rows}")
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
        check_rows=(10 if check_rows is None else check_rows) if peer_review else 0,
    )
    config.check()
    if page_at is not None and not page:
        raise ValueError("--page-at must be given with --page: there is no page without it")
    shown = _page(config.nodes, page_at) if page else None

    def told(result: LocalResult) -> None:
        if json:
            print_json(_as_dict(result))
        else:
            _print(result, kept=out)
            print_participants(result.participants, whole=participants)

    with folder_for(out) as folder:
        if shown is None:
            with progress_bars() as progress:
                result = play(config, seed, folder, progress)
            told(result)
        else:
            _play_with(shown, config, seed, folder, told, json)


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
    seed: int,
    out: Path | None,
    *,
    json: bool,
) -> None:
    from folkmoot.runs.local_numbers import LocalNumbers, play_numbers

    config = LocalNumbers(
        nodes, byzantine, attack or LocalNumbers.attack, kill, pause, inputs, rounds,
        seconds_of(deadline, "--deadline"), LocalNumbers.tol if tol is None else tol,
    )  # fmt: skip
    config.check()
    with folder_for(out) as folder, progress_bars() as progress:
        result = play_numbers(config, seed, folder, progress)
    if json:
        print_json(_numbers_as_dict(result))
    else:
        _print_numbers(result, kept=out)


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


def _setting(result: LocalResult | LocalNumbersResult) -> dict[str, Any]:
    """What was played, for --json."""
    return {
        "nodes": result.config.nodes,
        "byzantine": result.byzantine,
        "attack": result.config.attack if result.byzantine else None,
        "killed": result.killed,
        "paused": result.paused,
        "inputs": result.account.inputs,
    }


def _signers(account: Account) -> dict[str, Any]:
    """Who signed, for --json."""
    return {
        "quorum": account.quorum,
        "took_part": account.took_part,
        "silent": account.silent,
        "evidence": account.evidence,
    }


def _cost(result: LocalResult | LocalNumbersResult) -> dict[str, Any]:
    """What it took, for --json."""
    account = result.account
    return {
        "queries": account.queries,
        "bytes_sent": account.bytes_sent,
        "bytes_received": account.bytes_received,
        "motion_seconds": account.seconds,
        "seconds": round(result.seconds, 3),
    }


def _numbers_as_dict(result: LocalNumbersResult) -> dict[str, Any]:
    account = result.account
    return {
        **_setting(result),
        "tol": account.tol,
        "error": result.error,
        **{json_key(name): error for name, error in result.lines.items()},
        "undecided": account.undecided,
        "apart": result.apart,
        **_signers(account),
        **_cost(result),
    }


def _print_numbers(result: LocalNumbersResult, kept: Path | None) -> None:
    from folkmoot.runs.local_numbers import UNIT

    account, config = result.account, result.config
    rows = [["the moot", "" if result.error is None else f"{result.error:.2f}"]]
    rows += [[name, f"{error:.2f}"] for name, error in result.lines.items()]
    notes = [_faults(config.attack, result.byzantine, result.killed, result.paused)]
    notes += [
        f"error is the root mean square over the {account.inputs - account.undecided} of {account.inputs} "
        f"inputs that were claimed ({UNIT})",
        f"a quorum of {account.quorum} of {account.participants} signed numbers within {config.tol:g} of "
        f"each other; claims of two honest nodes differ by {result.apart:.3g} at most",
        f"took part {len(account.took_part)}, silent {len(account.silent)}; the asking node sent "
        f"{account.queries:,} queries and {account.bytes_sent:,} bytes; the motion took "
        f"{account.seconds:.1f} s, everything {result.seconds:.1f} s",
    ]
    notes += [f"EVIDENCE against {name}: {what}" for name, what in account.evidence.items()]
    notes.append(_where(kept))
    title = f"{config.nodes} processes, {account.inputs} patients"
    print_table(title, ["", "error"], rows, [note for note in notes if note])


def _faults(attack: str, lie: list[str], killed: list[str], paused: list[str]) -> str:
    named = ((f"lie ({attack})", lie), ("killed", killed), ("paused", paused))
    return "; ".join(f"{len(names)} {what} ({', '.join(names)})" for what, names in named if names)


def _where(kept: Path | None) -> str:
    if kept is not None:
        return (
            f"keys, models, logs and databases are in {kept}: try folkmoot motions last --via {kept}/node000"
        )
    return "keep everything with --out FOLDER; run a moot of your own: docs/network.md"


def _page(nodes: int, address: str | None) -> LocalPage:
    from folkmoot.runs.local_page import ANY, LocalPage
    from folkmoot.runs.processes import name_of

    return LocalPage(address or ANY, [name_of(place) for place in range(nodes)])


def _play_with(
    page: LocalPage,
    config: LocalMoot,
    seed: int,
    folder: Path,
    told: Callable[[LocalResult], None],
    json: bool,
) -> None:
    """Play, and let people look until Ctrl-C."""
    from folkmoot.runs.local_moot import play

    address = page.open(folder)
    try:
        if not say_secret(address, error=json):
            say(f"the address of the page holds a token: it is in {folder / PAGE}", error=True)
        with ExitStack() as bars:
            progress = bars.enter_context(progress_bars())

            def stay(result: LocalResult) -> None:
                bars.close()
                told(result)
                sys.stdout.flush()  # whoever reads a pipe has it now, not at the end
                with suppress(KeyboardInterrupt):  # also one that comes as soon as it is asked for
                    say("the nodes and their page stay until Ctrl-C", error=True)
                    Event().wait()

            play(config, seed, folder, progress, page, stay)
        say("ended: all nodes are stopped", error=True)
    finally:
        page.close()


def _as_dict(result: LocalResult) -> dict[str, Any]:
    account = result.account
    return {
        **_setting(result),
        "consensus": result.accuracy,
        "agreement": sum(account.agreement) / account.inputs,
        "undecided": account.undecided,
        "contradictions": result.contradictions,
        "simulated": result.simulated,
        "simulated_spread": result.simulated_spread,
        "simulated_agreement": result.simulated_agreement,
        **{json_key(line.name): line.accuracy for line in result.lines},
        **_signers(account),
        "trust": account.trust,
        "by_trust": result.by_trust,
        "check_rows": account.check_rows,
        "vanished": account.vanished,
        "anchored": account.anchored,
        **_cost(result),
        "participant_table": result.participants.to_list(),
    }


def _print(result: LocalResult, kept: Path | None) -> None:
    from folkmoot.comparison.printing import plus_minus
    from folkmoot.comparison.report import TIES_SHARE

    account = result.account
    rows = [["the moot", f"{result.accuracy:.3f}", str(account.undecided)]]
    if result.by_trust is not None:
        rows[0][0] = "the moot, by peer review"
        rows.append(["the same nodes, by trust", f"{result.by_trust:.3f}", ""])
    rows.append(
        [
            "simulation of the same votes" if account.trust is None else "simulation without trust",
            f"{result.simulated:.3f}{plus_minus(result.simulated_spread, 3)}",
            "",
        ]
    )
    rows += [
        [
            line.name,
            "" if line.accuracy is None else f"{line.accuracy:.3f}",
            "" if line.undecided is None else str(line.undecided),
        ]
        for line in result.lines
    ]
    faults = _faults(result.config.attack, result.byzantine, result.killed, result.paused)
    notes = [
        f"agreement {sum(account.agreement) / account.inputs:.3f} "
        f"(simulated {result.simulated_agreement:.3f}); "
        + (
            f"a quorum of {account.quorum} of {account.participants} signed each decision"
            if account.trust is None
            else "decisions are the asking node's own, and agreement is of those whom it trusts"
        ),
        f"took part {len(account.took_part)}, silent {len(account.silent)}; "
        f"inputs on which two honest nodes claim different decisions: {result.contradictions}",
        f"the asking node sent {account.queries:,} queries and {account.bytes_sent:,} bytes; the motion took "
        f"{account.seconds:.1f} s, everything {result.seconds:.1f} s",
    ]
    if account.check_rows is not None:
        shown, whole = sum(account.check_rows.values()), len(account.check_rows)
        notes.append(f"learnt from: {account.why} ({shown} check rows of {whole} were opened)")
    if any(line.tied for line in result.lines):
        notes.append(f"undecided inputs count as wrong here; at a centre {TIES_SHARE}")
    notes += [f"EVIDENCE against {name}: {what}" for name, what in account.evidence.items()]
    if faults:
        notes.insert(0, faults)
    notes.append(_where(kept))
    print_table(
        f"{result.config.nodes} processes, {account.inputs} digits",
        ["", "accuracy", "undecided"],
        rows,
        notes,
    )
