"""The commands of ``folkmoot chain``, in the order of a motion."""

from __future__ import annotations

import typer

from folkmoot.cli.chain import answering, participating, supplying
from folkmoot.cli.chain.local import local
from folkmoot.cli.chain.tying import tie

app = typer.Typer(
    help="The moot on a chain: test sets, stakes, past performance and rewards (docs/chain.md).",
    no_args_is_help=True,
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
