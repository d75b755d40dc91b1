"""The commands of ``folkmoot-chain``, in the order of a motion."""

from __future__ import annotations

from typing import Annotated

import typer

from folkmoot_chain import __version__
from folkmoot_chain.cli import answering, participating, supplying
from folkmoot_chain.cli.local import local
from folkmoot_chain.cli.tying import tie

ABOUT = "The moot on a chain: test sets, stakes, past performance and rewards."

app = typer.Typer(
    name="folkmoot-chain",
    help=ABOUT,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
for command in (
    local,
    supplying.key,
    tie,
    supplying.deploy,
    supplying.put,
    supplying.fund,
    participating.commit,
    participating.reveal,
    answering.post,
    answering.dispute,
    supplying.tell,
    answering.score,
    participating.claim,
    participating.withdraw,
    answering.record,
    participating.watch,
):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"folkmoot-chain {__version__}")
        raise typer.Exit


@app.callback(help=ABOUT)
def folkmoot_chain(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Print the version, or nothing: the commands do the work."""
