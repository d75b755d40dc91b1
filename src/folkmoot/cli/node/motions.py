"""``folkmoot motions``: what a node remembers of motions, and what it is told afterwards."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from folkmoot.cli.node.account_output import print_account, write_decisions
from folkmoot.cli.node.options import Node, Token, opened, option
from folkmoot.cli.options import OUTPUT_PANEL, Everything, Json, OutCsv, Play, whole_number, why_option
from folkmoot.cli.output import new_file, page_path, print_json, print_table, say, warn

if TYPE_CHECKING:
    from folkmoot.node.client import Client

app = typer.Typer(
    help="List motions, show one and why, and tell what was right.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Motion = Annotated[
    str, typer.Argument(metavar="MOTION", help="Its first digits (4 or more), or 'last'.", show_default=False)
]
_IN_VAIN: Final = 3  # invitations that came to nothing, which are shown


@app.command(name="list")
def list_motions(
    node: Node = ".",
    token: Token = None,
    last: Annotated[
        int,
        option("--last", "How many motions, from the newest.", "N", parser=whole_number),
    ] = 20,
    evidence: Annotated[
        Path | None,
        option(
            "--evidence",
            "Write every piece of evidence into this folder, for folkmoot verify.",
            "FOLDER",
            panel=OUTPUT_PANEL,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the motions of a node, the newest last, and who contradicted itself."""
    if last < 1:
        raise ValueError(f"--last must be at least 1: got {last}")
    if evidence is not None and evidence.exists() and not evidence.is_dir():
        raise ValueError(f"--evidence must be a folder, which may be new: {evidence} is a file")
    with opened(node, token) as at:
        listed = at.motions(last) | {"evidence": at.evidence()}
        if evidence is not None:
            for each in listed["evidence"]:
                _write_evidence(at, each, evidence)
    if json:
        print_json(listed)
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
            for each in listed["motions"]
        ]
        header = ["motion", "put", "by", "inputs", "rule", "state", "decided", "took part", "time"]
        hidden = listed["count"] - len(rows) - len(listed["damaged"])
        notes = [f"{hidden:,} older ones: --last {listed['count']}"] if hidden > 0 else []
        notes += [
            f"invitation {each['name'][:12]} ({each['inputs']} inputs): no motion; {each['why']}"
            for each in listed["invitations"][:_IN_VAIN]
        ]
        notes += [
            f"EVIDENCE against {each['participant']}: {each['what']}, in {_about(each)}"
            for each in listed["evidence"]
        ]
        if listed["evidence"] and evidence is None:
            notes.append("--evidence FOLDER writes what proves it")
        print_table(f"{listed['count']:,} motion{'' if listed['count'] == 1 else 's'}", header, rows, notes)
    if listed["damaged"]:
        names = ", ".join(each["motion"][:12] for each in listed["damaged"][:8])
        raise ValueError(
            f"{len(listed['damaged'])} motions are damaged and not shown ({names}): what is stored is not "
            "what this node wrote; put a copy of the database back (docs/operations.md)"
        )


@app.command()
def show(
    motion: Motion,
    node: Node = ".",
    token: Token = None,
    why: Annotated[list[int] | None, why_option("INPUT", parser=whole_number)] = None,
    everything: Everything = False,
    out: OutCsv = None,
    certificate: Annotated[
        Path | None,
        option("--certificate", "Write the proof, for folkmoot verify.", "FILE", panel=OUTPUT_PANEL),
    ] = None,
    play: Play = None,
    json: Json = False,
) -> None:
    """Show a motion: what was decided, from which votes, and who took part."""
    new_file("--out", out)
    new_file("--certificate", certificate)
    page = page_path(play)
    with opened(node, token) as at:
        account = _whole(at, motion)
        name = account["motion"]
        missing = [each for each in why or [] if not 0 <= each < account["inputs"]]
        if missing and account["inputs"]:
            last = account["inputs"] - 1
            raise ValueError(f"--why must be an input of the motion, 0 to {last}: got {missing[0]}")
        reasons = [at.why(name, each) for each in why or []]
        if certificate is not None:
            _write(certificate, at.certificate(name))
            say(
                "anybody with the roster can check it: "
                f"folkmoot verify {quote(str(certificate))} --roster ROSTER.toml",
                error=True,
            )
        if page is not None:
            _write(page, at.play(name).encode())
    if out is not None:
        write_decisions(out, account)
    if json:
        print_json(account | ({"why": [each["reason"] for each in reasons]} if why else {}))
        return
    if not why:
        print_account(account, everything=everything)
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
    """Tell a node what was right, so that it keeps records of its members.

    Motions use the records with --believe record.
    """
    with opened(node, token) as at:
        answer = at.tell(motion, file.read_bytes())
    if answer["warning"]:
        warn(answer["warning"])
    if json:
        print_json(answer)
        return
    rows = [
        [name, f"{each['right']:,}", f"{each['voted']:,}", f"{each['accuracy']:.3f}"]
        for name, each in sorted(answer["records"].items())
    ]
    title = f"told {answer['told']:,} truths of motion {answer['motion'][:12]}; first votes of all motions:"
    print_table(title, ["member", "right", "voted", "accuracy"], rows)


def _about(evidence: dict[str, Any]) -> str:
    motion = evidence["motion"]
    return f"motion {motion[:12]}" if motion else f"the roster after {evidence['roster'][:12]}"


def _write_evidence(at: Client, evidence: dict[str, Any], folder: Path) -> None:
    about = evidence["motion"] or evidence["roster"]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{about[:12]}-{evidence['participant']}.evidence"
    _write(path, at.evidence_file(about, evidence["participant"]))


def _whole(at: Client, motion: str) -> dict[str, Any]:
    """The account of a motion with a list per input."""
    account = at.motion(motion)
    account.pop("live", None)
    return account | at.inputs(account["motion"])


def _write(path: Path, data: bytes) -> None:
    from folkmoot.files.durable import replace_file

    replace_file(path, data)
    say(f"wrote {path}", error=True)
