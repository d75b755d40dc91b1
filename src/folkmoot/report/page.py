"""One self-contained HTML page: text, tables, pictures, curves, the player; no request to anywhere."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from folkmoot.player.document import document, part
from folkmoot.player.page import SCRIPTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2733; --soft: #5d6b79; --line: #d8dee4;
        --paper: #fff; --mark: #eaf1f9; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ee; --soft: #9fadbb; --line: #37424d; --paper: #14191f; --mark: #1d2b3a; }
  figure img { background: #fff; border-radius: 6px; }
}
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 82rem; margin: 2rem auto; padding: 0 1rem; }
p { max-width: 52rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; } main > h2 { margin-top: 2.2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .3rem .8rem .3rem 0; text-align: right; border-bottom: 1px solid var(--line);
         white-space: pre; vertical-align: top; }
th.long, td.long { white-space: normal; min-width: 9rem; text-align: left; }
th:first-child, td:first-child, th.text, td.text { text-align: left; }
tr.bold td { font-weight: 650; background: var(--mark); }
figure { margin: 1.5rem 0; } figure img { max-width: 100%; height: auto; }
figcaption, footer { color: var(--soft); font-size: .88rem; }
""".strip()


class Page:
    """Add parts in the order in which they are read, then take ``html()``."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        self._data: dict[str, Any] = {}  # what scripts read
        self._scripts: list[str] = []

    def heading(self, text: str) -> None:
        """A heading below the title."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        """A paragraph."""
        self._parts.append(f"<p>{escape(text)}</p>")

    def strong(self, text: str) -> None:
        """A paragraph that is not to be missed."""
        self._parts.append(f"<p><strong>{escape(text)}</strong></p>")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], *, bold: str | None = None) -> None:
        """A table, numbers to the right; ``bold`` names the first cell of a row to mark."""
        kinds = [_kind([row[i] for row in rows]) for i in range(len(header))]
        head = "".join(f"<th{kind}>{escape(cell)}</th>" for cell, kind in zip(header, kinds, strict=True))
        lines = []
        for row in rows:
            cells = "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
            mark = ' class="bold"' if row[0] == bold else ""
            lines.append(f"<tr{mark}>{cells}</tr>")
        body = "\n".join(lines)
        self._parts.append(
            f'<div class="scroll" tabindex="0"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'
        )

    def figure(self, figure: Figure, caption: str) -> None:
        """A picture, drawn into the page itself."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        data = base64.b64encode(buffer.getvalue()).decode()
        self._parts.append(
            f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{escape(caption)}</figcaption></figure>"
        )

    def player(self, data: dict[str, Any]) -> None:
        """A player; ``data`` as of ``folkmoot.player.page.player_data``."""
        self._parts.append(part("player.html"))
        self._data |= data
        self._needs(SCRIPTS)

    def curves(self, name: str, data: dict[str, Any], caption: str) -> None:
        """Curves or stacks that show their values; ``report.curves`` makes the data. The name is ours."""
        self._parts.append(
            f'<figure class="curves" data-from="{name}"><figcaption>{escape(caption)}</figcaption></figure>'
        )
        self._data[name] = data
        self._needs(("parts.js", "curves.js"))

    def _needs(self, scripts: Sequence[str]) -> None:
        self._scripts += [script for script in scripts if script not in self._scripts]

    def html(self) -> str:
        """The whole page."""
        body = "\n".join(self._parts)
        return document(
            self._title,
            f"<main>\n<h1>{escape(self._title)}</h1>\n{body}\n</main>\n<footer>Made by folkmoot.</footer>",
            styles=[*([part("player.css")] if self._scripts else []), _STYLE],
            scripts=[part(script) for script in self._scripts],
            data=self._data,
        )


def _kind(cells: Sequence[str]) -> str:
    """Numbers to the right, words to the left, sentences wrapped."""
    if any(len(cell) > 40 for cell in cells):
        return ' class="long"'
    return ' class="text"' if any(map(_is_word, cells)) else ""


def _is_word(cell: str) -> bool:
    try:
        float(cell.replace(",", ""))  # 1.25e+05 is a number, and so is nan
    except ValueError:
        return any(character.isalpha() for character in cell)
    return False
