"""Results in a notebook: small tables of HTML, one way for all of them.

They have no colour, style or script. So they follow the notebook's theme, dark or light, and can stand in any
page. Names and labels are text, never markup, and cannot turn the writing direction around.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from folkmoot.files.terminal import printable


def text(what: str) -> str:
    """Make text that a browser shows as it is."""
    return escape(printable(what))


def table(header: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Write a table; every cell is text."""
    head = "".join(f'<th scope="col">{text(cell)}</th>' for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def bullets(title: str, items: Sequence[str]) -> str:
    """Write a list under a heading."""
    return f"<h4>{text(title)}</h4><ul>{''.join(f'<li>{text(item)}</li>' for item in items)}</ul>"


def paragraphs(lines: Sequence[str]) -> str:
    """Write each line as a paragraph."""
    return "".join(f"<p>{text(line)}</p>" for line in lines)


def titled(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Write a table with a title above it and notes below."""
    below = f"<p>{'<br>'.join(map(text, notes))}</p>" if notes else ""
    return f"{paragraphs([title])}{table(header, rows)}{below}"
