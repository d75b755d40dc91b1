"""The commands of ``folkmoot node``, in the order of its help."""

from __future__ import annotations

import typer

from folkmoot.cli.node import init, running

app = typer.Typer(
    help="Make, run and look at a member of a moot.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
app.command()(init.init)
app.command()(running.run)
app.command()(running.status)
app.command()(running.schema)
app.command()(running.audit)
app.command()(running.reload)
