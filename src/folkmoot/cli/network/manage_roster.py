"""``folkmoot roster``: the file that says who takes part. Certificates are read when a command runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.main import BAD_INPUT
from folkmoot.cli.network.succession import propose, sign, status
from folkmoot.cli.options import Json
from folkmoot.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from folkmoot.node.membership.roster import Member, Roster

app = typer.Typer(
    help="Who takes part: one file, the same for every participant of a network.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

File = Annotated[
    Path, typer.Argument(metavar="ROSTER.toml", help="The roster, a TOML file.", show_default=False)
]


@app.command()
def add(
    file: File,
    entries: Annotated[
        list[str],
        typer.Argument(
            metavar="LINE|DIR|-...",
            help="A line that 'folkmoot node init' printed, the folder of a node, or - for lines on stdin.",
            show_default=False,
        ),
    ],
) -> None:
    """Add participants, all or none; the file is made if it is not there."""
    from folkmoot.node.membership.roster import Roster

    roster = Roster.read(file) if file.exists() else None
    added = []
    for participant in participants_of(entries):
        if roster is not None and any(each.name == participant.name for each in roster):
            raise ValueError(_taken(file, roster, participant))
        roster = Roster([participant]) if roster is None else roster.add(participant)
        added.append(participant.name)
    if roster is None or not added:
        raise ValueError("lines on stdin must be as folkmoot node init prints them: got none")
    roster.write(file)
    say(f"added {', '.join(added)}: {_summary(roster)}")


@app.command()
def remove(
    file: File,
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="The names to remove.", show_default=False)
    ],
) -> None:
    """Remove participants by name, all or none."""
    from folkmoot.node.membership.roster import Roster

    roster = Roster.read(file)
    for name in dict.fromkeys(names):
        roster = roster.remove(name)
    roster.write(file)
    say(f"removed {', '.join(dict.fromkeys(names))}: {_summary(roster)}")


@app.command()
def show(file: File, json: Json = False) -> None:
    """Who takes part, and how many of them may lie."""
    from folkmoot.node.membership.roster import Roster, faults, quorum

    roster = Roster.read(file)
    if json:
        print_json(_result(roster))
        return
    rows = [
        [each.name, each.organisation, each.fingerprint[:16], ", ".join(each.addresses)] for each in roster
    ]
    n = len(roster)
    print_table(
        f"{n} participants" if n > 1 else "1 participant",
        ["name", "organisation", "fingerprint", "addresses"],
        rows,
        [
            f"digest {roster.digest}" + (f", epoch {roster.epoch}" if roster.epoch else ""),
            f"quorum {quorum(n)} of {n}; tolerates {faults(n)} liar{'' if faults(n) == 1 else 's'}, "
            "fewer than n/5",
        ],
        words=True,
    )


@app.command()
def check(file: File, json: Json = False) -> None:
    """Say everything that is wrong with a roster, a line each; or that it is in order."""
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
        print_json({"ok": True, "problems": []} | _result(roster))
    else:
        say(f"ok: {_summary(roster)}")


app.command()(propose)
app.command()(sign)
app.command()(status)


def participants_of(entries: list[str]) -> Iterator[Member]:
    """Those that lines and folders name."""
    from folkmoot.node.membership.identity import load
    from folkmoot.node.membership.roster import Member

    for entry in entries:
        if entry == "-":
            yield from map(Member.parse, _lines_on_stdin())
        elif entry.lstrip().startswith("{"):
            yield Member.parse(entry)
        elif Path(entry).is_dir():
            yield load(entry).member()
        else:
            raise ValueError(
                "a participant must be a line that folkmoot node init printed, the folder of a node, or -: "
                f"got {entry!r}"
            )


def _lines_on_stdin() -> list[str]:
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("lines on stdin must be text in UTF-8") from None
    lines = [line.strip() for line in text.split("\n")]
    return [line for line in lines if line and not line.startswith("#")]


def _taken(file: Path, roster: Roster, participant: Member) -> str:
    if any(each.fingerprint == participant.fingerprint for each in roster):
        have = f"{participant.name!r} takes part already"
    else:
        have = f"another {participant.name!r} takes part already"
    return f"{file}: {have}; to replace it, run folkmoot roster remove {file} {participant.name} first"


def _summary(roster: Roster) -> str:
    n = len(roster)
    epoch = f", epoch {roster.epoch}" if roster.epoch else ""
    return f"{n} participant{'' if n == 1 else 's'}, digest {roster.digest}{epoch}"


def _result(roster: Roster) -> dict[str, Any]:
    from folkmoot.node.membership.roster import faults, quorum

    n = len(roster)
    return {
        "n": n,
        "digest": roster.digest,
        "epoch": roster.epoch,
        "quorum": quorum(n),
        "faults": faults(n),
        "participants": [
            {
                "name": each.name,
                "organisation": each.organisation,
                "fingerprint": each.fingerprint,
                "addresses": each.addresses,
            }
            for each in roster
        ],
    }
