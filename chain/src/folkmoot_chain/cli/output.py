"""Output of commands: lines, one object as JSON, or tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager


def printable(text: str) -> str:
    r"""Write every character that a terminal could obey, or not show, as an escape.

    >>> print(printable("\x1b[2J north \u202e"))
    \x1b[2J north \u202e
    """
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def say(*lines: str, error: bool = False) -> None:
    """Print lines on stdout or stderr; commands print by this and the functions below only."""
    for line in lines:
        print(printable(line), file=sys.stderr if error else sys.stdout)


def print_json(result: Mapping[str, object]) -> None:
    """One JSON object on stdout, a line for each key."""
    lines = [f" {json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in result.items()]
    say("{", *(f"{line}," for line in lines[:-1]), *lines[-1:], "}")


def print_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str] = (),
    *,
    left: Collection[str] = (),
) -> None:
    """A table on stdout, its first column and those in ``left`` to the left; it is never cut to the width."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(header):
        table.add_column(
            Text(printable(name)), justify="right" if index and name not in left else "left", no_wrap=True
        )
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console = Console(highlight=False)
    console.print(Text(printable(title), style="bold"), soft_wrap=True)
    unbounded = console.options.update(width=10_000)
    console.width = max(console.width, console.measure(table, options=unbounded).maximum)
    console.print(table)
    for line in notes:
        console.print(Text(printable(line)), soft_wrap=True)


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar on stderr for each named part of the work; nothing when nobody is watching."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, TaskID

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, whole: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what)
            bar.update(tasks[what], completed=done, total=whole)

        yield report
