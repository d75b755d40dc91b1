"""``folkmoot motions``: what a node remembers of motions, and what it is told afterwards."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from folkmoot.cli.node.account_output import print_account, write_decisions
from folkmoot.cli.node.reached import opened
from folkmoot.cli.node.words import Node, Token
from folkmoot.cli.options import Everything, Json, Play, whole_number
from folkmoot.cli.output import new_file, page_path, print_json, print_table, say, warn

if TYPE_CHECKING:
    from folkmoot.cli.node.reached import Stored
    from folkmoot.client import Client

app = typer.Typer(
    help="List the motions of a node, show one, say why, and tell what was right.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Motion = Annotated[
    str, typer.Argument(metavar="MOTION", help="4 or more digits of its name, or 'last'.", show_default=False)
]
_IN_VAIN: Final = 3  # invitations that came to nothing, which are shown


@app.command(name="list")
def list_motions(
    node: Node = ".",
    token: Token = None,
    last: Annotated[int, typer.Option("--last", metavar="N", help="The N newest.", parser=whole_number)] = 20,
    json: Json = False,
) -> None:
    """List the motions that a node took part in, the newest last."""
    if last < 1:
        raise ValueError(f"--last must be at least 1: got {last}")
    with opened(node, token) as at:
        told = at.motions(last)
    if json:
        print_json(told)
    else:
        rows = [
            [
                each["motion"][:12],
                datetime.fromtimestamp(each["created"]).astimezone().strftime("%Y-%m-%d %H:%M:%S"),
                each["asker"],
                f"{each['inputs']:,}",
                each["rule"],
                each["state"],
                f"{each['inputs'] - each['undecided']:,}",
                f"{len(each['took_part'])} of {each['participants']}",
                f"{each['seconds']:.1f} s",
            ]
            for each in told["motions"]
        ]
        header = ["motion", "put", "by", "inputs", "rule", "state", "decided", "took part", "time"]
        hidden = told["count"] - len(rows) - len(told["damaged"])
        notes = [f"{hidden:,} older ones: --last {told['count']}"] if hidden > 0 else []
        notes += [
            f"invitation {each['name'][:12]} ({each['inputs']} inputs): no motion; {each['why']}"
            for each in told["invitations"][:_IN_VAIN]
        ]
        print_table(f"{told['count']:,} motion{'' if told['count'] == 1 else 's'}", header, rows, notes)
    if told["damaged"]:
        names = ", ".join(each["motion"][:12] for each in told["damaged"][:8])
        raise ValueError(
            f"{len(told['damaged'])} motions are damaged and not shown ({names}): what is stored is not what "
            "this node wrote; put a copy of the database back (docs/operations.md)"
        )


@app.command()
def show(
    motion: Motion,
    node: Node = ".",
    token: Token = None,
    why: Annotated[
        list[int] | None,
        typer.Option("--why", metavar="INPUT", help="Why this input got its answer; may be repeated.",
                     show_default=False, parser=whole_number),
    ] = None,
    everything: Everything = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Write the decisions as .csv.", show_default=False),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="Write the proof, for folkmoot verify.", show_default=False
        ),
    ] = None,
    play: Play = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Show a motion: what was decided, from which votes, and who took part."""
    new_file("--out", out)
    new_file("--certificate", certificate)
    page = page_path(play)
    with opened(node, token) as at:
        told = _whole(at, motion)
        name = told["motion"]
        reasons = [at.why(name, each) for each in why or []]
        if certificate is not None:
            _write(certificate, at.certificate(name))
            say(
                f"anybody with the roster can check it: folkmoot verify {certificate} --roster ROSTER.toml",
                error=True,
            )
        if page is not None:
            _write(page, at.play(name).encode())
    if out is not None:
        write_decisions(out, told)
    if json:
        print_json(told | ({"why": [each["reason"] for each in reasons]} if why else {}))
        return
    if not why:
        print_account(told, everything=everything)
    for reason in reasons:
        say(*reason["text"].split("\n"))


@app.command()
def truth(
    motion: Motion,
    file: Annotated[
        Path,
        typer.Argument(metavar="TRUTH", help="Columns input (from 0) and label; or one label per line."),
    ],
    node: Node = ".",
    token: Token = None,
    json: Json = False,
) -> None:
    """Tell a node what was right: its members' track records follow, for --believe record and own."""
    with opened(node, token) as at:
        told = at.tell(motion, file.read_bytes())
    if told["warning"]:
        warn(told["warning"])
    if json:
        print_json(told)
        return
    rows = [
        [name, f"{each['right']:,}", f"{each['voted']:,}", f"{each['accuracy']:.3f}"]
        for name, each in sorted(told["records"].items())
    ]
    title = f"told {told['told']:,} truths of motion {told['motion'][:12]}; first votes of all motions:"
    print_table(title, ["member", "right", "voted", "accuracy"], rows)


@app.command()
def evidence(
    node: Node = ".",
    token: Token = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FOLDER", help="Write each piece into a file there.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show who contradicted itself; anybody with the roster can verify each piece."""
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out must be a folder, which may be new: {out} is a file")
    with opened(node, token) as at:
        told = at.evidence()
        for each in told:
            if out is None:
                break
            about = each["motion"] or each["roster"]
            out.mkdir(parents=True, exist_ok=True)
            _write(
                out / f"{about[:12]}-{each['participant']}.evidence",
                at.evidence_file(about, each["participant"]),
            )
    if json:
        print_json({"evidence": told})
    elif not told:
        say("no evidence: nobody has been seen to contradict itself")
    else:
        rows = [[each["participant"], each["what"], (each["motion"] or each["roster"])[:12]] for each in told]
        print_table(f"{len(told)} pieces of evidence", ["against", "what", "about"], rows, words=True)


def _whole(at: Client | Stored, motion: str) -> dict[str, Any]:
    """The account of a motion with a list per input."""
    told = at.motion(motion)
    told.pop("live", None)
    return told | at.inputs(told["motion"])


def _write(path: Path, data: bytes) -> None:
    from folkmoot.files.durable import replace_file

    replace_file(path, data)
    say(f"wrote {path}", error=True)
