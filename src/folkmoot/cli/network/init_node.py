"""``folkmoot node``: a participant on a machine of its own. The network is imported when a command runs."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from folkmoot.cli.options import Json
from folkmoot.cli.output import print_json, say

app = typer.Typer(
    help="A participant on a machine of its own: its key, its model, its place in the network.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder of the node: key, certificate, settings.")
]


def check_node(folder: Path) -> None:
    """ValueError unless a node was made in a folder."""
    from folkmoot.node.membership.identity import SETTINGS

    if not (folder / SETTINGS).is_file():
        raise ValueError(f"there is no node in {folder}: give the folder that folkmoot node init has made")


@app.callback()
def node() -> None:
    """A participant on a machine of its own: its key, its model, its place in the network."""


@app.command()
def init(
    folder: Folder,
    name: Annotated[
        str, typer.Option("--name", help="1 to 64 letters, digits, '-', '_', '.'.", show_default=False)
    ],
    organisation: Annotated[
        str,
        typer.Option("--organisation", help="The organisation it belongs to; any text.", show_default=False),
    ] = "",
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", help="HOST:PORT where it waits for others.")
    ] = "127.0.0.1:7654",
    address: Annotated[
        list[str] | None,
        typer.Option(
            "--address",
            metavar="HOST:PORT",
            help="HOST:PORT where others reach it; may be repeated.",
            show_default="that of --listen",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make a node: a key that stays in DIR, and the line that goes into everybody's roster."""
    from folkmoot.node.membership.exported import EXPORTED, exported_lines, read_exported
    from folkmoot.node.membership.identity import create

    made = create(folder, name=name, organisation=organisation, listen=listen, addresses=address or None)
    line, exported = made.member().line(), read_exported(folder)
    if json:
        print_json(
            {
                "folder": str(folder),
                "name": made.name,
                "organisation": made.organisation,
                "listen": made.listen,
                "addresses": made.addresses,
                "fingerprint": made.fingerprint,
                "line": line,
                "exported": exported,
            }
        )
    else:
        say(line)
    if exported:
        taken = "; ".join(exported_lines(exported))
        say(f"took over from {folder / EXPORTED}: {taken}", error=True)
    say(
        f"made a node in {folder}; its key, {folder / 'key.pem'}, must never leave it",
        "give the line above to whoever keeps the roster, who types: folkmoot roster add ROSTER.toml - "
        f"(or, here: folkmoot roster add ROSTER.toml {quote(str(folder))})",
        error=True,
    )
