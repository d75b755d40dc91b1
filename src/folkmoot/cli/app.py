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
        "Show what it does: 101 small models agree on digits; 30 lie.",
    ),
    "learn": Entry(
        "folkmoot.cli.learn:learn",
        "Fit a model per group of a table; all agree on the test rows.",
    ),
    "predict": Entry(
        "folkmoot.cli.predict:predict",
        "Answer new rows by a moot that learn has fitted.",
    ),
    "deliberate": Entry(
        "folkmoot.cli.deliberate:deliberate",
        "Answer every task of a vote file, beside the majority.",
    ),
    "cluster": Entry(
        "folkmoot.cli.cluster:cluster",
        "Agree on one clustering from those of all participants.",
    ),
    "council": Entry(
        "folkmoot.cli.council:council",
        "Ask language models, which choose among their answers.",
    ),
    "plan": Entry(
        "folkmoot.cli.plan:plan",
        "Choose protocol, k, alpha and rounds for a moot.",
    ),
    "local": Entry(
        "folkmoot.cli.node.local:local",
        "Start a moot of real processes on this machine.",
    ),
    "ask": Entry(
        "folkmoot.cli.node.ask:ask",
        "Put inputs to the moot, and print what it decides.",
    ),
    "motions": Entry(
        "folkmoot.cli.node.motions:app",
        "List motions, show one and why, and tell what was right.",
    ),
    "verify": Entry(
        "folkmoot.cli.node.verify:verify",
        "Check a certificate, evidence, an audit log or a roster.",
    ),
    "doctor": Entry(
        "folkmoot.cli.doctor:doctor",
        "Look for what is broken on this machine or at a node.",
    ),
    "theory": Entry(
        "folkmoot.cli.theory:app",
        "Compute exact probabilities of consensus by Slush.",
    ),
    "node": Entry(
        "folkmoot.cli.node.node:app",
        "Make, run and look at a member of a moot.",
    ),
    "roster": Entry(
        "folkmoot.cli.node.roster:app",
        "Make, check and change the list of members.",
    ),
}


# By reader, what to type first.
BEGIN: Final = {
    "to see what it does": "folkmoot demo",
    "with a table of your own": "folkmoot learn TABLE --target COLUMN --group COLUMN",
    "with votes that you have": "folkmoot deliberate VOTES.csv",
    "to try a moot of nodes": "folkmoot local",
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

    command.help = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
    inner = {f"{path} {name}": each for name, each in getattr(command, "commands", {}).items()}
    lines = EXAMPLES.get(path) or [EXAMPLES[each][0] for each in inner if each in EXAMPLES][:2]
    if lines:
        command.epilog = "\n\n".join(["Examples:", *(f"folkmoot {line}" for line in lines)])
    for name, each in inner.items():
        _add_examples(each, name)


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
    """Print the version, or where to begin if no command is called, or nothing: the commands do the work."""
    if context.invoked_subcommand is None:
        wide = max(map(len, BEGIN))
        lines = [f"  {reader:<{wide}}  {line}" for reader, line in BEGIN.items()]
        about = "folkmoot --help lists all commands; folkmoot COMMAND --help explains one."
        typer.echo("\n".join([ABOUT, "", "Where to begin:", *lines, "", about]))
        raise typer.Exit(2)
