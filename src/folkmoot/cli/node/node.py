"""``folkmoot node``: make, run and look at a member of a moot."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final

import typer

from folkmoot.cli.node.init import init
from folkmoot.cli.node.options import (
    Listen,
    Node,
    Roster,
    Token,
    address_typed,
    bytes_of,
    client_of,
    opened,
    option,
)
from folkmoot.cli.options import Json
from folkmoot.cli.output import new_file, on_terminal, print_json, print_table, say

app = typer.Typer(
    help="Make, run and look at a member of a moot.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.command()(init)
FULL: Final = 75  # exit code of a full disk: the unit starts the node again after a pause


@app.command()
def run(
    node: Node = ".",
    roster: Roster = None,
    listen: Listen = None,
    page: Annotated[
        str | None,
        option(
            "--page", "Also serve a page for people and HTTP for programs there (loopback only).", "HOST:PORT"
        ),
    ] = None,
    page_behind_tls: Annotated[
        str | None,
        option(
            "--page-behind-tls",
            "The name under which a proxy with TLS serves the page: then --page may be any address.",
            "NAME",
        ),
    ] = None,
    disk: Annotated[str, option("--disk", "How much the node may store, such as 500MB.", "SIZE")] = "4GB",
    log_level: Annotated[str, option("--log-level", "debug, info, warning or error.")] = "info",
    forget: Annotated[
        bool,
        option("--forget", "Begin anew if the database is gone; older motions are not voted on."),
    ] = False,
    trust_pickle: Annotated[
        bool,
        option("--trust-pickle", "Load a pickled model, which can run any code of its maker."),
    ] = False,
    no_sandbox: Annotated[
        bool, option("--no-sandbox", "Load a model file in the node's own process.")
    ] = False,
) -> None:
    """Run a node until Ctrl-C.

    The log is JSON on stderr, one line per event.
    """
    from folkmoot.node.log import Journal
    from folkmoot.node.service.operation import Operation
    from folkmoot.node.service.operation import run as run_node
    from folkmoot.node.storage.database import FullError

    if "://" in node:
        raise ValueError(f"--node must be the folder of a node on this machine: got {node}")
    if listen is not None:
        address_typed(listen, "--listen", any_port=True)
    if page_behind_tls is not None and page is None:
        raise ValueError("--page-behind-tls must be given with --page HOST:PORT: there is no page without it")
    given = Operation(
        Path(node), roster, listen, page, page_behind_tls, bytes_of(disk, "--disk"),
        trust_pickle=trust_pickle, sandbox=not no_sandbox, forget=forget,
    )  # fmt: skip
    try:
        run_node(given, Journal(log_level))
    except FullError as error:
        say(f"folkmoot: {error}", error=True)
        raise typer.Exit(FULL) from None


@app.command()
def status(node: Node = ".", token: Token = None, json: Json = False) -> None:
    """Show a running node: its model, its peers, motions under way, its page."""
    client = client_of(node, token)
    now, page = client.status(), client.access().get("page")
    if json:
        print_json(now | {"page": page})
        return
    reached = sum(peer["connected"] for peer in now["peers"]) + 1
    title = (
        f"{now['node']}, folkmoot {now['version']}, up {_time(now['seconds'])}: {reached} of "
        f"{now['participants']} members connected, a quorum is {now['quorum']}"
    )
    header = ["peer", "state", "latency", "clock", "frames", "refused", "abstained", "asked today"]
    print_table(title, header, [_peer(each) for each in now["peers"]], _notes(now, page))
    if now["motions"]:
        header = ["motion", "by", "phase", "inputs", "left"]
        rows = [
            [
                each["motion"][:12],
                each["asker"],
                each["phase"],
                f"{each['inputs']:,}",
                f"{max(0.0, each['remaining']):.1f} s",
            ]
            for each in now["motions"]
        ]
        print_table("motions under way", header, rows)


@app.command()
def schema(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="Print a schema of the columns of this file of inputs, and ask no node.",
            show_default=False,
        ),
    ] = None,
    node: Node = ".",
    token: Token = None,
    json: Json = False,
) -> None:
    """Show what a running node's model takes and answers, or make a schema from a file of inputs."""
    if file is not None:
        _schema_of(file, json=json)
        return
    facts = client_of(node, token).access()
    if json:
        print_json(facts)
        return
    rows = [
        [each["name"], each["unit"], _bound(each["low"]), _bound(each["high"])] for each in facts["columns"]
    ]
    labels = "it does not say" if facts["labels"] is None else ", ".join(facts["labels"])
    notes = [f"labels: {labels}", f"answers: {', '.join(facts['answers'])}"]
    if not rows:
        width = "any number of" if facts["width"] is None else facts["width"]
        say(f"the model takes {width} columns without names", *notes)
        return
    print_table("columns, in the model's order", ["column", "unit", "low", "high"], rows, notes)


def _schema_of(file: Path, *, json: bool) -> None:
    """Columns as a file shows them; units and ranges are for its owner to add."""
    from folkmoot.node.service.input_files import read_inputs, schema_text

    found = read_inputs(file).schema
    if not found:
        raise ValueError(f"FILE must have columns with names: {file} has none, and texts need no schema")
    if json:
        print_json({"columns": [{"name": each.name, "kind": each.kind} for each in found]})
    else:
        say(*schema_text(found).splitlines())


@app.command()
def audit(
    out: Annotated[Path, option("--out", "The file to write: JSON lines, signed.", "FILE")],
    node: Node = ".",
    token: Token = None,
) -> None:
    """Write the signed audit log of a node.

    It is a chain of who asked what and when, and what was answered and learnt.
    """
    from folkmoot.files.durable import replace_file

    new_file("--out", out)
    with opened(node, token) as at:
        replace_file(out, at.audit())
    say(
        f"wrote {out}: anybody with the roster can check it: "
        f"folkmoot verify {quote(str(out))} --roster ROSTER.toml"
    )


@app.command()
def reload(node: Node = ".", token: Token = None, json: Json = False) -> None:
    """Let a running node load the model that its node.toml names now.

    If the model cannot be loaded, the old one stays, and the command says why.
    """
    facts = client_of(node, token).reload()
    if json:
        print_json(facts)
    else:
        labels = "labels that it does not say" if facts["labels"] is None else ", ".join(facts["labels"])
        say(f"the model was loaded again: {labels}")


def _peer(peer: dict[str, Any]) -> list[str]:
    state = ("benched" if peer["benched"] else "connected") if peer["connected"] else "away"
    latency, skew = peer["latency"], peer["skew"]
    return [
        peer["name"],
        state,
        "" if latency is None else f"{1000 * latency:.1f} ms",
        "" if skew is None else f"{round(skew, 1) + 0.0:+.1f} s",
        f"{peer['frames']:,}",
        f"{peer['refused']:,}",
        f"{peer['abstained']:,}",
        _asked_today(peer),
    ]


def _asked_today(peer: dict[str, Any]) -> str:
    """What a member has put in the last 24 hours, and the most that it may."""
    if not peer["may_ask"]:
        return "may not"
    (motions, most), (rows, most_rows) = peer["motions_today"], peer["rows_today"]
    line = f"{motions:,}{'' if most is None else f' of {most:,}'} motions"
    return f"{line}, {rows:,}{'' if most_rows is None else f' of {most_rows:,}'} rows"


def _notes(now: dict[str, Any], page: str | None) -> list[str]:
    model, (used, disk) = now["model"], now["disk"]
    notes = [_model(model), f"sandbox of the model: {model['sandbox']}"]
    if model["trouble"]:
        notes.append(f"THE MODEL FAILS: {model['trouble']}")
    if model["late"]:
        notes.append(f"THE MODEL IS SLOW: its votes came too late in {model['late']:,} motions")
    notes.append(
        f"motions under way: {now['all_motions'][0]} of {now['all_motions'][1]}, of its own "
        f"{now['own_motions'][0]} of {now['own_motions'][1]}, and {now['waiting']} wait"
    )
    full = "" if now["has_room"] else "; NO ROOM for new motions"
    notes.append(f"disk: {used / (1 << 20):,.1f} of {disk / (1 << 20):,.0f} MB{full}")
    notes.append(f"roster: epoch {now['epoch']}, digest {now['moot'][:16]}")
    if now["audit"][0]:
        notes.append(f"audit log: {now['audit'][0]:,} entries, head {now['audit'][1][:16]}")
    if not now["present"]:
        notes.append("NOT IN THE ROSTER IN FORCE: it ends what is under way, and cannot ask any more")
    notes += [
        f"proposed roster {each['proposal'][:12]}: {each['counted']} of {each['needed']} signatures; "
        "folkmoot roster propose shows it"
        for each in now["proposals"]
    ]
    notes += [
        f"validation rows for {each['inputs']:,} inputs: {len(each['sent'])} sent some, "
        f"{len(each['refused'])} none, {len(each['owing'])} have not answered"
        for each in now["invitations"]
    ]
    if page:
        notes.append(
            f"page: {page}" if on_terminal() else "page: its address holds a token, for terminals only"
        )
    return notes


def _model(model: dict[str, Any]) -> str:
    line = f"model: {model['model']}, asked {model['chunks']:,} times"
    if model["chunks"]:
        mean = model["seconds"] / model["chunks"]
        line += f" ({mean:.2f} s on average, {model['slowest']:.2f} s at the most)"
        line += f", failed {model['failed']:,} times"
    if spent := model["usage"]:
        line += f"; {spent['requests']:,} requests, {spent['failed']:,} of them failed"
        if tokens := spent["prompt_tokens"] + spent["completion_tokens"]:
            line += f", {tokens:,} tokens ({spent['completion_tokens']:,} of them written)"
    return line


def _bound(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _time(seconds: float) -> str:
    whole = int(seconds)
    days, hours, minutes = whole // 86_400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} m" if hours else f"{minutes} m {whole % 60} s"
