"""Tables of participants and groups on the terminal: whom to look at, and how to see the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from folkmoot.cli.output import print_table, say

if TYPE_CHECKING:
    from folkmoot.comparing import Joining, ParticipantTable

ALL_SHOWN = "--participants shows all, --json has them"


def print_participants(table: ParticipantTable | Any, *, whole: bool = False, how: str = ALL_SHOWN) -> None:
    """A row for each participant; of many, those with findings, the best and the worst, unless ``whole``."""
    rows = table.rows if whole else table.brief()
    if rows:
        say("")
        header, cells = table.cells(rows)
        print_table(table.title, header, cells, table.left_out(len(rows), how), left=("role", "finding"))


def print_joining(table: Joining | None, *, whole: bool = False, how: str = ALL_SHOWN) -> None:
    """Each group alone and together on its own rows; nothing if that was not compared."""
    if table is None:
        return
    rows = table.rows if whole else table.brief()
    say("")
    print_table(table.title, *table.cells(rows), table.notes(len(rows), how), left=("verdict",))
