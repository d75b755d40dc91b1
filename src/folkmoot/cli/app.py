"""The ``folkmoot`` command and its groups. Commands are imported when they are called."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from folkmoot import __version__

ABOUT: Final = "Consensus learning: many private models, one agreed answer, no server."


class Entry(NamedTuple):
    """A command of the list."""

    where: str  # "module:name" of its function, or of a Typer with commands of its own
    line: str  # how its docstring begins


COMMANDS: Final = {
    "demo": Entry(
        "folkmoot.cli.demo:demo",
        "Show what it does: 101 participants with small models of their own agree on digits; 30 lie.",
    ),
    "learn": Entry(
        "folkmoot.cli.learn:learn",
        "Let every group of a table fit a model of its own, and all agree on the test rows.",
    ),
    "predict": Entry(
        "folkmoot.cli.predict:predict",
        "Answer new rows by a moot that learn has fitted: labels, probabilities, and how far they agree.",
    ),
    "deliberate": Entry(
        "folkmoot.cli.deliberate:deliberate",
        "Answer every task of a vote file, beside the majority and other ways to answer.",
    ),
    "cluster": Entry(
        "folkmoot.cli.cluster:cluster",
        "Let participants agree on one clustering from their own in a file, beside what a server would find.",
    ),
    "plan": Entry(
        "folkmoot.cli.plan:plan",
        "Choose protocol, k, alpha and rounds: what they give, what they cost, and where they break.",
    ),
    "local": Entry(
        "folkmoot.cli.node.local:local",
        "Start a moot of real processes on this machine and put digits to it; some may lie, or be killed.",
    ),
    "ask": Entry(
        "folkmoot.cli.node.ask:ask",
        "Put inputs to the moot: every member's model votes, and what a quorum signs is the answer.",
    ),
    "motions": Entry(
        "folkmoot.cli.node.motions:app",
        "List the motions of a node, show one, say why, and tell what was right.",
    ),
    "verify": Entry(
        "folkmoot.cli.node.verify:verify",
        "Check a certificate, evidence or an audit log by signatures alone, and compute the answer again.",
    ),
    "doctor": Entry(
        "folkmoot.cli.doctor:doctor",
        "Look at versions, extras, compiler cache, clock and limits; of a node at all that it needs.",
    ),
    "theory": Entry(
        "folkmoot.cli.theory:app",
        "The exact theory of consensus learning with Slush: probabilities, not estimates.",
    ),
    "node": Entry(
        "folkmoot.cli.node.node:app",
        "A member of a moot on a machine of its own: its key, its model, its place in the network.",
    ),
    "roster": Entry(
        "folkmoot.cli.node.roster:app",
        "Who takes part: one file, the same for every member of a moot.",
    ),
}


@cache
def command_called(name: str) -> Any:
    """Import and make the command of this name."""
    from folkmoot.cli.options import ListingCommand

    module, _, attribute = COMMANDS[name].where.partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        command: Any = get_group(found)
    else:
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(cls=ListingCommand)(found)
        command = get_command(alone)
    command.name = name
    _add_examples(command, name)
    return command


def _add_examples(command: Any, path: str) -> None:
    """Let the help of a command, and of those in it, end with what can be typed."""
    from folkmoot.cli.examples import EXAMPLES

    if path in EXAMPLES:
        command.epilog = "\n\n".join(["Examples:", *(f"folkmoot {line}" for line in EXAMPLES[path])])
    for name, inner in getattr(command, "commands", {}).items():
        _add_examples(inner, f"{path} {name}")


class Folkmoot(TyperGroup):
    """The commands above: names and lines until one is called, which then is imported."""

    def __init__(self, **settings: Any) -> None:
        """As Typer makes it, with the commands."""
        listed = {name: TyperCommand(name, help=entry.line) for name, entry in COMMANDS.items()}
        super().__init__(**settings | {"commands": listed})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, whole."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found if name is None else command_called(name), rest


app = typer.Typer(
    name="folkmoot",
    cls=Folkmoot,
    help=ABOUT,
    add_completion=False,
    rich_markup_mode=None,  # the list is plain: rich takes longer to load than all else here
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"folkmoot {__version__}")
        raise typer.Exit


@app.callback(help=ABOUT, invoke_without_command=True)
def folkmoot(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Print the version, the list of commands if none is called, or nothing: the commands do the work."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
