"""The commands of ``folkmoot node``, in the order of its help."""

from __future__ import annotations

import typer

from folkmoot.cli.node import init, running

app = typer.Typer(
    help="A member of a moot on a machine of its own: its key, its model, its place in the network.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.command()(init.init)
app.command()(running.run)
app.command()(running.status)
app.command()(running.schema)
app.command()(running.audit)
app.command()(running.reload)
