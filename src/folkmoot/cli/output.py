"""Output of commands: one object as JSON, or tables for people; numbers below 1e-308 included."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from folkmoot.files.terminal import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console, ConsoleOptions

    from folkmoot.comparing.printing import RowTable

PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
COMPILING = "compiling (first run)"
ALL_SHOWN = "--participants shows all, --json has them"


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Warnings raised inside, as lines for people (on stderr) and for ``--json`` (in the list)."""
    lines: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield lines
    for line in dict.fromkeys(str(warning.message) for warning in caught):
        lines.append(line)
        warn(line)


def say(*lines: str, error: bool = False) -> None:
    """Print lines on stdout or stderr; commands print by this and the functions below only."""
    for line in lines:
        print(printable(line), file=sys.stderr if error else sys.stdout)


def on_terminal(*, error: bool = False) -> bool:
    """Whether what is said on stdout (or stderr) is read by a person, and by nobody else."""
    stream = sys.stderr if error else sys.stdout
    return stream is not None and stream.isatty()


def warn(line: str) -> None:
    """One line on stderr that something is worth knowing."""
    say(f"folkmoot: warning: {line}", error=True)


def print_json(result: Mapping[str, object]) -> None:
    """One JSON object on stdout, a line a key; NaN and infinities, which JSON does not have, become null."""
    from msgspec.json import encode

    lines = [f" {encode(key).decode()}: {encode(value).decode()}" for key, value in result.items()]
    say("{", *(f"{line}," for line in lines[:-1]), *lines[-1:], "}")


def json_key(name: str) -> str:
    """The name of a line as a key: weighted_majority, dawid_skene."""
    return name.lower().replace(" ", "_").replace("-", "_")


def print_table(
    title: str | Sequence[str],
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    note: str | Sequence[str] = (),
    *,
    words: bool = False,
    left: Collection[str] = (),
) -> None:
    """A table on stdout, first column to the left, the rest to the right; ``words`` to the left, wrapped.

    Columns whose header is in ``left`` hold words in a table of numbers.

    ``title`` and ``note`` are a line or several; a line stays one, whatever it holds. Nothing is markup.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(header):
        table.add_column(
            Text(printable(name)),
            justify="right" if index and not words and name not in left else "left",
            no_wrap=not words,
            overflow="fold" if words else "ellipsis",
        )
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console = Console(highlight=False)
    for line in _lines(title):
        console.print(Text(line, style="bold"), soft_wrap=True)
    if not words:  # a number cut short is worse than a line that wraps
        console.width = max(console.width, console.measure(table, options=_unbounded(console)).maximum)
    console.print(table)
    for line in _lines(note):
        console.print(Text(line), soft_wrap=True)


def _lines(text: str | Sequence[str]) -> list[str]:
    return [printable(line) for line in ([text] if isinstance(text, str) else text) if line]


def _unbounded(console: Console) -> ConsoleOptions:
    return console.options.update(width=10_000)


def print_rows(table: RowTable, *, whole: bool = False, how: str = ALL_SHOWN) -> None:
    """A row for each participant or group; of many, those to look at, unless ``whole``."""
    rows = table.rows if whole else table.brief()
    if rows:
        say("")
        left = ("role", "finding", "verdict")
        print_table(table.title, *table.cells(rows), table.notes(len(rows), how), left=left)


@contextmanager
def compiling_told(tell: Callable[[bool], None]) -> Iterator[None]:
    """Tell when numba begins to compile (True) and when it is done (False); cached code is not compiled."""
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, _event: object) -> None:
            tell(True)

        def on_end(self, _event: object) -> None:
            tell(False)

    with event.install_listener("numba:compile", Listener()):
        yield


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr for work that takes more than a moment; nothing when nobody is watching."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def report(done: int, whole: int) -> None:
            bar.update(task, completed=done, total=whole)

        def compiling(now: bool) -> None:
            bar.update(task, description=COMPILING if now else what, refresh=True)

        with compiling_told(compiling):
            yield report


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None] | None]:
    """Like ``progress_bar``, for work of several parts: each named part has a bar of its own."""
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

        def compiling(now: bool) -> None:
            if now and COMPILING not in tasks:
                tasks[COMPILING] = bar.add_task(COMPILING, total=None)
            bar.update(tasks[COMPILING], visible=now, refresh=True)

        with compiling_told(compiling):
            yield report


def number(value: float) -> str:
    """A probability or a count for people: six decimals, fewer for large ones, scientific for small ones."""
    if not math.isfinite(value):
        return str(value)
    if value != 0 and not 1e-4 <= abs(value) < 1e9:
        return f"{value:.3e}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.6f}".rstrip("0").rstrip(".")


def number_from_log(log: float) -> str:
    """exp(log) for people, also where it is below the smallest double."""
    if math.isinf(log) and log < 0:
        return "0"
    if log > -700:
        return number(math.exp(log))
    tens = log / math.log(10)
    exponent = math.floor(tens)
    return f"{10 ** (tens - exponent):.3f}e{exponent}"


def thinned(size: int, always: Sequence[int], most: int = 24) -> list[int]:
    """About ``most`` of 0..size-1, evenly spread, with the ends and ``always`` among them."""
    step = max(1, math.ceil(size / most))
    kept = {*range(0, size, step), 0, size - 1, *(b for b in always if 0 <= b < size)}
    return sorted(kept)


def picture_path(path: Path | None) -> Path | None:
    """``--plot``, checked before the work begins."""
    return new_file("--plot", path, PICTURES)


def page_path(path: Path | None) -> Path | None:
    """``--play`` checked in the same way."""
    return new_file("--play", path, PAGES)


def new_file(
    option: str, path: Path | None, endings: tuple[str, ...] = (), *, reads: Sequence[Path | None] = ()
) -> Path | None:
    """A file that is to be written, checked before the work begins; of any kind without ``endings``.

    ``reads`` are the files that the command reads: nothing is written over them.
    """
    if path is None:
        return None
    if endings and path.suffix.lower() not in endings:
        raise ValueError(f"{option} must name a file ending in {', '.join(endings)}: got {path}")
    if not path.parent.is_dir():
        raise ValueError(f"{option} must name a file in a folder that exists: there is no {path.parent}")
    if path.is_dir():
        raise ValueError(f"{option} must name a file: {path} is a folder")
    if path.exists() and any(each is not None and each.exists() and path.samefile(each) for each in reads):
        raise ValueError(f"{option} must name another file than those that are read: got {path}")
    return path


def save_picture(figure: Figure, path: Path) -> None:
    """Write the figure and say so on stderr, where it does not disturb ``--json``."""
    figure.savefig(path, dpi=150)
    say(f"wrote {path}", error=True)
