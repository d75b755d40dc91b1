"""The ``folkmoot`` command and its groups."""

from __future__ import annotations

from typing import Annotated

import typer

from folkmoot import __version__
from folkmoot.cli import cluster, deliberate, demo, learn, plan, predict, reproduce, theory
from folkmoot.cli.network import (
    ask,
    evidence,
    init_node,
    local,
    manage_roster,
    motions,
    node_status,
    run_node,
    verify,
)
from folkmoot.cli.options import ListingCommand

app = typer.Typer(
    name="folkmoot",
    help="Consensus learning: many private models, one agreed answer, no server.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
app.add_typer(theory.app, name="theory")
app.add_typer(init_node.app, name="node")
app.add_typer(manage_roster.app, name="roster")
app.command()(demo.demo)
app.command(cls=ListingCommand)(learn.learn)
app.command()(predict.predict)
app.command()(reproduce.reproduce)
app.command(cls=ListingCommand)(deliberate.deliberate)
app.command()(cluster.cluster)
app.command(cls=ListingCommand)(plan.plan)
app.command()(local.local)
app.command(cls=ListingCommand)(ask.ask)
app.command()(motions.motions)
app.command()(motions.truth)
app.command()(evidence.evidence)
app.command()(verify.verify)
init_node.app.command()(run_node.run)
init_node.app.command()(run_node.check)
init_node.app.command()(node_status.status)


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
