"""An explanation as a section of HTML. Names and labels are text, never markup; nothing is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from folkmoot.explanation.words import (
    COUNTED,
    by_reason,
    called,
    change_in_words,
    closeness_in_words,
    number,
)
from folkmoot.pictures.notebook import bullets, paragraphs, table, text

if TYPE_CHECKING:
    from folkmoot.explanation.explanation import Explanation


def as_html(why: Explanation) -> str:
    """The section: the sentence, first votes as a table, changes of mind as a list."""
    answer = "undecided" if why.answer is None else called(why.answer)
    parts = [f"<h3>{text(why.called)}: {text(answer)}</h3>", paragraphs([why.sentence])]
    close = closeness_in_words(why)
    parts += [] if close is None else [paragraphs([close])]
    header = ["participant", "first vote", "counts for", "in the end", ""]
    rows = [
        [
            participant.name,
            called(participant.voted),
            number(participant.counts),
            called(participant.holds),
            participant.note,
        ]
        for participant in why.participants
    ]
    parts.append(table(header, rows, f"First votes, {COUNTED[why.counted_by]}"))
    if why.changes:
        parts.append(bullets("Changes of mind", [change_in_words(change) for change in why.changes]))
    if why.uncounted:
        reasons = by_reason([(each.name, each.why) for each in why.uncounted])
        parts.append(bullets("Not counted", [f"{', '.join(names)}: {reason}" for reason, names in reasons]))
    parts.append(paragraphs(why.missing))
    return f'<section class="folkmoot-why">{"".join(parts)}</section>'
