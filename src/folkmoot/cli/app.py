"""The ``folkmoot`` command and its groups."""

from __future__ import annotations

from typing import Annotated

import typer

from folkmoot import __version__
from folkmoot.cli import (
    ask,
    deliberate,
    demo,
    learn,
    local,
    motions,
    node,
    reproduce,
    roster,
    serve,
    theory,
)

app = typer.Typer(
    name="folkmoot",
    help="Consensus learning: many private models, one agreed answer, no server.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
app.add_typer(theory.app, name="theory")
app.add_typer(node.app, name="node")
app.add_typer(roster.app, name="roster")
app.command()(demo.demo)
app.command()(learn.learn)
app.command()(reproduce.reproduce)
app.command()(deliberate.deliberate)
app.command()(local.local)
app.command()(ask.ask)
app.command()(motions.motions)
app.command()(motions.truth)
app.command()(motions.evidence)
node.app.command()(serve.run)
node.app.command()(serve.check)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"folkmoot {__version__}")
        raise typer.Exit


@app.callback()
def folkmoot(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Consensus learning: many private models, one agreed answer, no server."""
