"""The page of a node, as somebody at a browser uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

LIVE: Final = 30_000  # milliseconds in which something must have happened


def ready(page: Page) -> None:
    """Until it shows the participants, and follows the node."""
    page.wait_for_selector("#peers tbody tr")
    page.wait_for_selector("#link.there")


def table(page: Page, selector: str) -> list[list[str]]:
    """The cells of a table's body, row by row."""
    found: list[list[str]] = page.locator(f"{selector} tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.children].map(cell => cell.innerText.trim()))"
    )
    return found


def column(page: Page, selector: str, name: str) -> dict[str, str]:
    """What a table has in the column of a name, by the first cell of each row."""
    place = page.locator(f"{selector} thead th").all_inner_texts().index(name)
    return {row[0]: row[place] for row in table(page, selector)}


def dropped(page: Page, name: str, content: str) -> None:
    """Drop a file where tables are taken."""
    data: Any = page.evaluate_handle(
        "([name, text]) => { const data = new DataTransfer();"
        " data.items.add(new File([text], name, {type: 'text/csv'})); return data; }",
        [name, content],
    )
    for kind in ("dragenter", "dragover", "drop"):
        page.dispatch_event(".drop", kind, {"dataTransfer": data})
