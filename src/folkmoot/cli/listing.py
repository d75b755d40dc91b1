"""Commands that are imported when they are called, and their list, which is shown without them.

Typer makes every command of a program, with all its options, before it looks at what was typed, and its help
loads readers of markdown and of code: together two thirds of the time that ``folkmoot --help`` took. Here a
group knows the names of its commands, where they are, and a line each, and draws its own help. It looks like
Typer's, which draws that of the commands; ``tests/cli/test_listing.py`` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from folkmoot.cli.options import ListingCommand

BOLD: Final = "1"
DIM: Final = "2"
CYAN: Final = "1;36"
YELLOW: Final = "1;33"
Cell = tuple[str, str]  # a word and its style


class Entry(NamedTuple):
    """A command of the list."""

    where: str  # "module:name" of its function, or of a Typer with commands of its own
    line: str  # how its docstring begins


class Commands(Mapping[str, Any]):
    """Typer's commands by name, each made when it is asked for."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        """Of these entries."""
        self.entries = entries
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """Import and make the command; KeyError if there is none of this name."""
        if name not in self._made:
            self._made[name] = _made(name, self.entries[name].where)
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        """Without making it."""
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of the list."""
        return iter(self.entries)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.entries)


def _made(name: str, where: str) -> Any:
    module, _, attribute = where.partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        command: Any = get_group(found)
    else:
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(cls=ListingCommand)(found)
        command = get_command(alone)
    command.name = name
    return command


class ListingGroup(TyperGroup):
    """A group whose commands are made when they are called: ``ENTRIES`` of a subclass names them."""

    ENTRIES: Mapping[str, Entry] = {}

    def __init__(self, **settings: Any) -> None:
        """As Typer makes it, with the commands of ``ENTRIES``."""
        super().__init__(**settings)
        vars(self)["commands"] = Commands(self.ENTRIES)

    def list_commands(self, _ctx: Any) -> list[str]:
        """The names alone."""
        return list(self.ENTRIES)

    def format_help(self, ctx: Any, _formatter: Any) -> None:
        """Print usage, options and commands."""
        from folkmoot.cli.output import print_drawn, show_colours, show_lines

        width, box, colours = get_terminal_size().columns, show_lines(), show_colours()
        known: list[Any] = self.get_params(ctx)
        options = [(", ".join(option.opts), getattr(option, "help", None) or "") for option in known]
        named = max(len(name) for name, _ in options)
        longest = max(map(len, self.ENTRIES))
        usage = self.get_usage(ctx).removeprefix("Usage: ")
        drawn = [
            "",
            f" {_styled('Usage: ', YELLOW, colours)}{_styled(usage, BOLD, colours)}",
            "",
            *(f" {line}" for line in wrap(self.help or "", max(width - 2, 20))),
            "",
            *_panel(
                "Options",
                [([(f"{name:{named}}", CYAN)], text) for name, text in options],  # all of them flags
                width, box, colours,
            ),
            *_panel(
                "Commands",
                [([(f"{name:{longest}}", CYAN)], entry.line) for name, entry in self.ENTRIES.items()],
                width, box, colours,
            ),
            "",
        ]  # fmt: skip
        print_drawn(drawn)


def _panel(
    title: str, rows: Sequence[tuple[Sequence[Cell], str]], width: int, lines: bool, colours: bool
) -> Iterator[str]:
    """A box of rows: cells, then a text that is wrapped in the rest of the width."""
    corners, dash, side = ("╭╮╰╯", "─", "│") if lines else ("++++", "-", "|")
    inner = max(width - 4, 40)
    edge = _styled(side, DIM, colours)
    head = f"{dash} {title} ".ljust(inner + 2, dash)
    yield _styled(f"{corners[0]}{head}{corners[1]}", DIM, colours)
    for cells, text in rows:
        before = sum(len(cell) + 2 for cell, _ in cells)
        for number, line in enumerate(wrap(text, max(inner - before, 20)) or [""]):
            first = "".join(_styled(cell, style, colours) + "  " for cell, style in cells)
            rest = line.ljust(inner - before)
            yield f"{edge} {first if not number else ' ' * before}{rest} {edge}"
    yield _styled(f"{corners[2]}{dash * (inner + 2)}{corners[3]}", DIM, colours)


def _styled(text: str, style: str, colours: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if colours else text
