"""How a node chooses among proposed texts: by its own model, by an embedding, or by staying with its own.

``folkmoot.texts.choosing`` has the three ways. Whatever the model does, the node goes on. An input on which
its model makes no choice has no final vote, and the reason stays here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from folkmoot.aggregation.texts import Candidate, Choice
from folkmoot.node.session.header import Header
from folkmoot.texts.choosing import Choose, UnreadableError, nearest, own, prompt_for, read_reply, shuffled


class Reply(NamedTuple):
    """A model's reply to a prompt; ``text`` is None if there is none."""

    text: str | None
    reason: str = ""
    detail: str = ""


class Chosen(NamedTuple):
    """Choices on some inputs, None for none."""

    choices: list[Choice | None]
    reason: str = ""
    detail: str = ""
    failed: int = 0


def chosen_by(
    how: Choose,
    say: Callable[[Sequence[str]], Sequence[Reply]] | None,
    member: int,
    questions: Sequence[Any],
    options: Sequence[tuple[Candidate, ...]],
    secret: bytes,
) -> Chosen:
    """Choose on each question. ``say`` asks the model, and ``secret`` is what its orders follow from.

    A member stays with its own proposals if its model takes no prompts, or if the questions are gone.
    """
    found: list[Choice | None] = [None] * len(options)
    asks: dict[int, list[int]] = {}
    for k, each in enumerate(options):
        if not each:
            continue
        if how == "embedding":
            found[k] = nearest(each)
        elif how == "same" or say is None or (len(each) == 1 and member in each[0].proposers):
            choice = own(member, each)
            found[k] = None if choice.best is None else choice
        else:
            order_of = hashlib.sha256(secret + k.to_bytes(4, "big")).digest()
            asks[k] = shuffled(len(each), order_of)
    if not asks or say is None:
        return Chosen(found)
    texts = {k: [each.text for each in options[k]] for k in asks}
    replies = say([prompt_for(questions[k], texts[k], order) for k, order in asks.items()])
    why = detail = ""
    for (k, order), reply in zip(asks.items(), replies, strict=True):
        try:
            if reply.text is None:
                raise UnreadableError(reply.reason)
            found[k] = read_reply(reply.text, order)
        except UnreadableError as error:
            why = why or str(error)
            detail = detail or reply.detail or f"it said {' '.join((reply.text or '').split())!r:.200}"
    return Chosen(found, why, detail, sum(found[k] is None for k in asks))


def question_of(header: Header, row: Any) -> Any:
    """An input as a model is shown it: by the names of its columns, if these have names."""
    cells = row.tolist() if hasattr(row, "tolist") else row
    if header.schema and isinstance(cells, list):
        return dict(zip((column.name for column in header.schema), cells, strict=True))
    return cells
