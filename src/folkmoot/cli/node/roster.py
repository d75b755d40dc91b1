"""``folkmoot roster``: the file that says who takes part, and how members replace it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.main import BAD_INPUT
from folkmoot.cli.node.options import Node, Token, opened, option
from folkmoot.cli.options import INT, Json
from folkmoot.cli.output import new_file, print_json, print_table, say, warn

if TYPE_CHECKING:
    from folkmoot.node.membership.roster import Member, Roster

app = typer.Typer(
    help="Make, check and change the list of members.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

File = Annotated[
    Path, typer.Argument(metavar="ROSTER.toml", help="The file of the roster.", show_default=False)
]
Lines = Annotated[
    list[str],
    typer.Argument(
        metavar="LINE...",
        help="Lines that 'folkmoot node init' printed, files with such lines (*.line), or - for stdin.",
        show_default=False,
    ),
]
Faults = Annotated[
    int | None,
    option("--faults", "How many members may lie.", default="floor((n-1)/3)", **INT),
]


@app.command()
def make(
    lines: Lines,
    out: Annotated[Path, option("--out", "The file to write.", "FILE")] = Path("roster.toml"),
    faults: Faults = None,
    json: Json = False,
) -> None:
    """Make the roster of a moot from the lines of its members.

    The same file goes to all of them.
    """
    from folkmoot.node.membership.roster import Roster
    from folkmoot.node.session.statement import most_faults

    if out.exists():
        raise ValueError(f"--out must be a new file: {out} is there; change it with folkmoot roster add")
    members = sorted(members_in(lines), key=lambda each: each.name)
    if faults is not None and not 0 <= faults <= most_faults(len(members)):
        most = most_faults(len(members))
        raise ValueError(f"--faults must be within 0..{most} with {len(members)} members: got {faults}")
    roster = Roster(members, tolerated=faults)
    roster.write(out)
    _tell(f"wrote {out}", roster, json=json)


@app.command()
def add(file: File, lines: Lines, json: Json = False) -> None:
    """Add members to a roster that is not in use yet, all or none."""
    from folkmoot.node.membership.roster import Roster

    roster = Roster.read(file)
    members = list(members_in(lines))
    for member in members:
        roster = roster.add(member)
    roster.write(file)
    _tell(f"added {', '.join(each.name for each in members)}", roster, json=json)


@app.command()
def remove(
    file: File,
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="The members that leave.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Remove members from a roster that is not in use yet, all or none."""
    from folkmoot.node.membership.roster import Roster

    roster = Roster.read(file)
    for name in dict.fromkeys(names):
        roster = roster.remove(name)
    roster.write(file)
    _tell(f"removed {', '.join(dict.fromkeys(names))}", roster, json=json)


@app.command()
def check(file: File, json: Json = False) -> None:
    """Show members and how many may lie, or everything that is wrong with the file."""
    from folkmoot.node.membership.roster import Roster, examine

    _, problems = examine(file)
    if problems:
        if json:
            print_json({"ok": False, "problems": problems})
        else:
            for problem in problems:
                say(f"folkmoot: {file}: {' '.join(problem.split())}", error=True)
        raise typer.Exit(BAD_INPUT)
    roster = Roster.read(file)
    if json:
        print_json({"ok": True, "problems": []} | facts_of(roster))
        return
    rows = [
        [each.name, each.organisation, each.fingerprint[:16], ", ".join(each.addresses)] for each in roster
    ]
    header = ["name", "organisation", "fingerprint", "addresses"]
    print_table(summary_of(roster), header, rows, f"digest {roster.digest}", words=True)


@app.command()
def propose(
    node: Node = ".",
    token: Token = None,
    add: Annotated[
        list[str] | None,
        option("--add", "The line of a member that joins.", "LINE"),
    ] = None,
    remove: Annotated[
        list[str] | None,
        option("--remove", "The members that leave.", "NAME"),
    ] = None,
    rotate: Annotated[
        list[str] | None,
        option("--rotate", "The line of a member with a new key; its old key must sign.", "LINE"),
    ] = None,
    replace: Annotated[
        list[str] | None,
        option("--replace", "The line of a member whose key was lost or stolen.", "LINE"),
    ] = None,
    out: Annotated[
        Path | None,
        option("--out", "Write the proposal, to send it.", "FILE"),
    ] = None,
    json: Json = False,
) -> None:
    """Propose the next roster and sign it as this node.

    Without options it shows what is proposed.
    """
    new_file("--out", out)
    change = {
        "add": [each.line() for each in members_in(add or [])],
        "remove": remove or [],
        "rotate": [each.line() for each in members_in(rotate or [])],
        "replace": [each.line() for each in members_in(replace or [])],
    }
    with opened(node, token) as at:
        if not any(change.values()):
            _show(at.roster(), json=json)
            return
        proposed = at.propose(**change)
    _tell_proposal(proposed, out, json=json)


@app.command()
def sign(
    proposal: Annotated[
        str,
        typer.Argument(
            metavar="PROPOSAL", help="The first digits of a proposal, or its file.", show_default=False
        ),
    ],
    node: Node = ".",
    token: Token = None,
    out: Annotated[
        Path | None,
        option("--out", "Write the proposal with the signature.", "FILE"),
    ] = None,
    json: Json = False,
) -> None:
    """Sign a proposed roster as this node.

    When a quorum has signed, the nodes agree on it and use it.
    """
    new_file("--out", out)
    file = Path(proposal)
    if not file.is_file() and not re.fullmatch("[0-9a-f]{4,64}", proposal):
        raise ValueError(
            f"PROPOSAL must be a file, or the first digits of a proposal (4 or more): there is no {proposal}"
        )
    with opened(node, token) as at:
        proposed = at.sign(file.read_bytes() if file.is_file() else proposal)
    _tell_proposal(proposed, out or (file if file.is_file() else None), json=json)


def members_in(entries: list[str]) -> Iterator[Member]:
    """The members that lines and files of lines name."""
    from folkmoot.node.membership.roster import Member

    for entry in entries:
        if entry.lstrip().startswith("{"):
            yield Member.parse(entry)
            continue
        if entry != "-" and not Path(entry).is_file():
            there = "a folder" if Path(entry).is_dir() else "no file"
            raise ValueError(
                "a member must be a line that folkmoot node init printed, a file with such lines, or -: "
                f"got {entry!r}, which is {there}"
            )
        where = "stdin" if entry == "-" else entry
        try:
            text = (sys.stdin.buffer.read() if entry == "-" else Path(entry).read_bytes()).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError(f"{where} must be text in UTF-8, with a line of folkmoot node init") from None
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        if not lines:
            raise ValueError(f"{where} must have a line that folkmoot node init printed: it has none")
        for line in lines:
            try:
                yield Member.parse(line)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None


def summary_of(roster: Roster) -> str:
    """How many there are, and how many may lie."""
    facts = facts_of(roster)
    n, faults = facts["n"], facts["faults"]
    epoch = f", epoch {roster.epoch}" if roster.epoch else ""
    lie = "nobody may lie" if not faults else f"{faults} of them may lie"
    return f"{n} member{'' if n == 1 else 's'}{epoch}: a quorum is {facts['quorum']}, {lie}"


def facts_of(roster: Roster) -> dict[str, Any]:
    """Facts about a roster, for people."""
    members = roster.members
    keys = ("name", "organisation", "fingerprint", "addresses")
    return {
        "n": members.n,
        "digest": roster.digest,
        "epoch": roster.epoch,
        "quorum": members.quorum,
        "faults": members.faults,
        "participants": [{key: getattr(each, key) for key in keys} for each in roster],
    }


def _tell(what: str, roster: Roster, *, json: bool) -> None:
    if json:
        print_json(facts_of(roster))
    else:
        say(f"{what}: {summary_of(roster)}, digest {roster.digest[:16]}")
    for line in _shared_addresses(roster):
        warn(line)


def _shared_addresses(roster: Roster) -> Iterator[str]:
    """Members that cannot all be reached; they may dial others, so it is no mistake in the file."""
    members: dict[str, list[str]] = {}
    for each in roster:
        for address in each.addresses:
            members.setdefault(address, []).append(each.name)
    for address, names in members.items():
        if len(names) > 1:
            yield f"{', '.join(names)} have the same address {address}; only one is reached there"


def _tell_proposal(proposed: dict[str, Any], out: Path | None, *, json: bool) -> None:
    """What was signed, and what is missing."""
    from folkmoot.files.durable import replace_file

    if out is not None:
        replace_file(out, proposed["file"].encode())
        say(f"wrote {out}", error=True)
    if json:
        print_json(proposed)
        return
    say(
        f"proposal {proposed['proposal'][:12]} for epoch {proposed['epoch']}: {_changes(proposed)}",
        f"signed by {', '.join(proposed['signed'])}: {proposed['counted']} of {proposed['needed']} "
        "signatures needed",
    )
    if proposed["owed"]:
        say(f"the old key must sign, too: {', '.join(proposed['owed'])}")
    if proposed["in_force"]:
        say("it is in force at this node")


def _show(roster: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json(roster)
        return
    title = (
        f"epoch {roster['epoch']}: {roster['n']} members, a quorum is {roster['quorum']}, "
        f"digest {roster['digest']}"
    )
    rows = [
        [
            each["proposal"][:12],
            _changes(each),
            f"{each['counted']} of {each['needed']}",
            ", ".join(each["signed"]),
            ", ".join(each["owed"]),
        ]
        for each in roster["proposals"]
    ]
    notes = [
        f"EVIDENCE against {x['participant']}, about the successor of epoch {x['epoch']}"
        for x in roster["evidence"]
    ]
    if rows:
        header = ["proposal", "changes", "signatures", "signed by", "old key owed by"]
        print_table(title, header, rows, notes, words=True)
    else:
        say(title, "nothing is proposed", *notes)


def _changes(proposed: dict[str, Any]) -> str:
    """joined hugo; left gina"""
    kinds = ("joined", "left", "rotated", "replaced", "edited")
    return "; ".join(f"{kind} {', '.join(proposed[kind])}" for kind in kinds if proposed[kind])
