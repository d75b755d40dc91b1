"""An explanation as a section of HTML. Names and labels are text, never markup; nothing is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from folkmoot.explanation.words import (
    COUNTED,
    by_reason,
    called,
    change_in_words,
    closeness_in_words,
    number,
)
from folkmoot.terminal import printable

if TYPE_CHECKING:
    from folkmoot.explanation.explanation import Explanation


def as_html(why: Explanation) -> str:
    """The section: the sentence, first votes as a table, changes of mind as a list."""
    answer = "undecided" if why.answer is None else called(why.answer)
    parts = [f"<h3>{_text(why.called)}: {_text(answer)}</h3>", f"<p>{_text(why.sentence)}</p>"]
    if why.closeness is not None:
        parts.append(f"<p>{_text(closeness_in_words(why.closeness, why.runner_up))}</p>")
    by_trust = why.counted_by in ("trust", "peer review")
    header = [
        "participant",
        "first vote",
        "counts for",
        *(["after listening"] if by_trust else []),
        "in the end",
        "",
    ]
    rows = [
        [
            voice.name,
            called(voice.voted),
            number(voice.counts),
            *([called(voice.opened)] if by_trust else []),
            called(voice.holds),
            voice.note,
        ]
        for voice in why.voices
    ]
    parts.append(_table(f"First votes, {COUNTED[why.counted_by]}", header, rows))
    if why.changes:
        parts.append(_list("Changes of mind", [change_in_words(change) for change in why.changes]))
    if why.unheard:
        reasons = by_reason([(each.name, each.why) for each in why.unheard])
        parts.append(_list("Not counted", [f"{', '.join(names)}: {reason}" for reason, names in reasons]))
    parts += [f"<p>{_text(each)}</p>" for each in why.missing]
    return f'<section class="folkmoot-why">{"".join(parts)}</section>'


def _text(text: str) -> str:
    """Text that can neither be markup nor turn the writing direction around."""
    return escape(printable(text))


def _table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    title = f"<caption>{_text(caption)}</caption>"
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _list(title: str, items: Sequence[str]) -> str:
    return f"<h4>{_text(title)}</h4><ul>{''.join(f'<li>{_text(item)}</li>' for item in items)}</ul>"
