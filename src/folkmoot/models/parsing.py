"""Read a language model's answer: it is one of the labels, or nothing.

An answer counts only in the form that was asked for. Anything else is no vote with a reason. No label is
looked for in the middle of a text, since what a text quotes is not what it says.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

Form = Literal["label", "first-line", "json"]
FORMS: Final[tuple[Form, ...]] = ("label", "first-line", "json")

REFUSED: Final = "its model refused to answer"
CUT: Final = "its model's answer was cut off"

_AROUND: Final = " \t\r\n\"'`*\u201c\u201d\u2018\u2019«»"  # what models put around a word
_HEAD_OF_JSON: Final = re.compile(r'\s*\{\s*"label"\s*:\s*"')
_LONGEST: Final = 4096  # characters in which a label is looked for


def normal(text: str) -> str:
    """A label without what does not tell it from others: case, quotes around it, a full stop after it."""
    plain = unicodedata.normalize("NFKC", text[:_LONGEST]).casefold()
    return plain.strip(_AROUND).removesuffix(".").strip(_AROUND) or plain


def by_normal(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The labels by what is read as them; ValueError if two answers cannot be told apart."""
    found: dict[str, Any] = {}
    first: dict[str, str] = {}
    for said, label in pairs:
        twin = first.setdefault(normal(said), said)
        if twin is not said:
            raise ValueError(
                f"labels must differ by more than case, quotes and a full stop: got {twin!r} and {said!r}"
            )
        found[normal(said)] = label
    return found


def label_in(text: str, form: Form, table: Mapping[str, Any]) -> Any:
    """The label that an answer is; None if it is none."""
    if len(text) > _LONGEST and form != "first-line":
        return None
    if form == "json":
        return _in_json(text, table)
    if form == "first-line":
        text = next((line for line in text[:_LONGEST].splitlines() if line.strip()), "")
    return table.get(normal(text))


def _in_json(text: str, table: Mapping[str, Any]) -> Any:
    """The label in {"label": "..."}; no other member, and none twice."""
    try:
        found = json.loads(text, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, tuple) or len(found) != 1 or found[0][0] != "label":
        return None
    said = found[0][1]
    return table.get(normal(said)) if isinstance(said, str) else None


def schema_of(labels: Sequence[str]) -> dict[str, Any]:
    """``response_format`` of a request for {"label": "..."}."""
    schema = {
        "type": "object",
        "properties": {"label": {"type": "string", "enum": list(labels)}},
        "required": ["label"],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "vote", "strict": True, "schema": schema}}


class Token(NamedTuple):
    """A token of an answer with its log-probability, and what could have stood in its place."""

    text: str
    logprob: float
    others: Sequence[tuple[str, float]] = ()


def chances_in(tokens: Sequence[Token], form: Form, table: Mapping[str, Any]) -> tuple[float, ...] | None:
    """The probability of each label by the tokens of an answer; None if these do not say.

    A continuation counts for a label once it fits that label alone. P(label) is the sum of
    P(tokens before it) P(token) over such continuations. A continuation that fits no label, or several, is
    left out, and the rest adds up to 1. Only alternatives that the server lists are known; a label among none
    of them has 0.
    """
    names = list(table)
    longest = max(map(len, names)) + 64
    mass, before, path = [0.0] * len(names), "", 0.0
    for token in tokens:
        for text, logprob in token.others:
            if text != token.text and len(places := _fitting(before + text, form, names)) == 1:
                mass[places[0]] += math.exp(min(0.0, path + logprob))
        before, path = before + token.text, path + min(0.0, token.logprob)
        places = _fitting(before, form, names)
        if len(places) == 1:
            mass[places[0]] += math.exp(path)
            break
        if not places or len(before) > longest:
            break
    else:  # another label begins with what was said, and the server does not show that it ended there
        return None
    total = sum(mass)
    return tuple(each / total for each in mass) if total > 0 else None


def _fitting(text: str, form: Form, names: Sequence[str]) -> list[int]:
    """The labels that an answer that begins so can be; all of them while nothing is said."""
    if form == "json":
        head = _HEAD_OF_JSON.match(text)
        if head is None:
            return list(range(len(names)))
        text = text[head.end() :]
    said = unicodedata.normalize("NFKC", text).casefold().lstrip(_AROUND)
    ended = said != (said := said.rstrip(_AROUND))
    return [place for place, name in enumerate(names) if _fits(said, name, ended)]


def _fits(said: str, name: str, ended: bool) -> bool:
    if said.startswith(name):
        return not said[len(name) : len(name) + 1].isalnum()
    return name.startswith(said) and (not ended or name[len(said) : len(said) + 1].isspace() or not said)
