"""``folkmoot audit``: export a node's log of who asked what, and verify that nothing in it was changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.network.init_node import check_node
from folkmoot.cli.network.motions import Node, storage_of
from folkmoot.cli.options import Json
from folkmoot.cli.output import new_file, print_json, say

if TYPE_CHECKING:
    from folkmoot.network.storage.audit import Entry
    from folkmoot.node.membership.roster import Roster

app = typer.Typer(
    help="The audit log of a node: who asked what and when, what was answered and learnt, in a chain.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command()
def export(
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where to write it (JSON lines), signed.")
    ],
    via: Node = Path(),
    json: Json = False,
) -> None:
    """Write the audit log of a node into a file that others can verify; keep it for a later --since."""
    from folkmoot.files.durable import replace_file
    from folkmoot.network.storage.audit import export_log
    from folkmoot.node.membership import identity

    new_file("--out", out)
    storage = storage_of(via)
    me = identity.load(via)
    entries = storage.check_audit()
    replace_file(out, export_log(entries, me.name, me.fingerprint, me.key).encode())
    if json:
        print_json({"file": str(out), **_told(entries)})
    else:
        check = f"folkmoot audit verify {out} --roster ROSTER.toml"
        say(f"wrote {out}: {_words(entries)}; anybody can check it with {check}")


@app.command()
def verify(
    log: Annotated[
        Path,
        typer.Argument(metavar="FILE|DIR", help="An export, or the folder of a node.", show_default=False),
    ],
    roster: Annotated[
        Path | None,
        typer.Option(
            "--roster",
            metavar="ROSTER.toml",
            help="Whose keys signed an export.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            "--since", metavar="FILE", help="An earlier export, from which it must go on.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Verify a log: nothing was changed, taken out, moved or cut off, and it goes on from an earlier one."""
    from folkmoot.network.storage.audit import check_goes_on
    from folkmoot.node.membership.roster import Roster

    if roster is None and (since is not None or not log.is_dir()):
        raise ValueError("an export is verified by the keys of a roster: give --roster ROSTER.toml")
    moot = None if roster is None else Roster.read(roster)
    if log.is_dir():
        check_node(log)
    with _holding(log):
        entries, node = (storage_of(log).check_audit(), str(log)) if log.is_dir() else _read(log, moot)
    if since is not None:
        with _holding(since):
            earlier, other = _read(since, moot)
        if not log.is_dir() and other != node:
            raise ValueError(f"--since must be an export of the same node, {node}: {since} is of {other}")
        with _holding(log):
            check_goes_on(entries, earlier)
    if json:
        print_json({"holds": True, "node": node, **_told(entries)})
    else:
        say(f"the log of {node} holds: {_words(entries)}")


@contextmanager
def _holding(file: Path) -> Iterator[None]:
    """What is wrong is wrong with this file."""
    try:
        yield
    except UnicodeDecodeError:
        raise ValueError(f"{file} does not hold: it is not text") from None
    except ValueError as error:
        raise ValueError(f"{file} does not hold: {error}") from None


def _read(log: Path, moot: Roster | None) -> tuple[list[Entry], str]:
    from folkmoot.network.storage.audit import check_export

    if moot is None:
        raise ValueError("an export is verified by the keys of a roster: give --roster ROSTER.toml")
    return check_export(log.read_text(encoding="utf-8"), moot)


def _told(entries: list[Entry]) -> dict[str, object]:
    head = entries[-1].link.hex() if entries else ""
    first, last = (entries[0].seq, entries[-1].seq) if entries else (1, 0)
    gone = sum(entry.text is None for entry in entries)
    return {"entries": len(entries), "first": first, "last": last, "forgotten": gone, "head": head}


def _words(entries: list[Entry]) -> str:
    told = _told(entries)
    gone = f", {told['forgotten']} of them digests of what was forgotten" if told["forgotten"] else ""
    return f"{len(entries):,} entries{gone}, head {str(told['head'])[:16]}"
