"""Who is off, and for whom joining is worth it: two sections of a page, of labels or of numbers."""

from __future__ import annotations

from typing import Any

from folkmoot.comparison.who.groups import GroupTable
from folkmoot.comparison.who.rows import RowTable
from folkmoot.report.page import Page


def add_who(page: Page, people: RowTable[Any], joining: GroupTable[Any] | None, about: str) -> None:
    """Both tables, as far as there are any; ``about`` says what the columns of the first one are."""
    page.heading("Who is off")
    rows = people.brief()
    page.table(*people.cells(rows))
    page.text(" ".join([about, *people.left_out(len(rows), "participants.csv has all.")]))
    if joining is None:
        return
    page.heading("Is joining worth it?")
    groups = joining.brief()
    if groups:
        page.table(*joining.cells(groups), bold="all of them")
    for note in joining.notes(len(groups), "results.json has all"):
        page.text(note[0].upper() + note[1:] + ".")
