"""The text path: one small language model under six prompts, one of which lies (``capitals.json``).

An answer is right if it has the name of the capital and not the lie. Liars propose the lie, with an
instruction to ignore all others, and choose it. A chairman is one of the six, drawn by lot: the model reads
all proposals and answers, and a lying one says its lie. Without a lie nobody was asked to choose by its own
model.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from experiments.deceptive_member.language_model import PROMPTS, falsehood, salt
from folkmoot.aggregation.texts import Candidate, Choice, candidates, normal, verdict
from folkmoot.texts.choosing import UnreadableError, nearest, own, read_reply, shuffled
from folkmoot.texts.embedding import tfidf

FILE: Final = Path(__file__).parent / "capitals.json"
MEMBERS: Final = len(PROMPTS)
WAYS: Final = (
    "a member alone", "chairman", "moot, same", "moot, TF-IDF", "moot, WordLlama", "moot, own model"
)  # fmt: skip


@cache
def recorded() -> list[dict[str, Any]]:
    """Questions with all that the model said."""
    found: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def is_right(text: str | None, fact: dict[str, Any]) -> bool:
    """Whether a text names the capital, and not the lie."""
    said = f" {_plain(text or '')} "
    return f" {_plain(fact['capital'])} " in said and f" {_plain(fact['lie'])} " not in said


def _plain(text: str) -> str:
    """Words without accents."""
    return normal(unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode())


def options(place: int, fact: dict[str, Any], lies: bool) -> tuple[Candidate, ...]:
    """The candidates of a question; its number says who lies."""
    heard = list(fact["proposals"])
    if lies:
        heard[place % MEMBERS] = falsehood(fact["country"], fact["lie"])
    return candidates(dict(enumerate(heard)), salt(place))


def choices(way: str, place: int, fact: dict[str, Any], lies: bool) -> dict[int, Choice]:
    """A choice of each member that has one."""
    found = options(place, fact, lies)
    liar = place % MEMBERS if lies else -1
    cast = {}
    for i in range(MEMBERS):
        if way == "moot, same" or i == liar:
            cast[i] = own(i, found)
        elif way == "moot, TF-IDF":
            cast[i] = nearest(found, tfidf)
        elif way == "moot, WordLlama":
            cast[i] = Choice(fact["nearest"][lies], tuple(range(len(found))))
        else:
            try:
                cast[i] = read_reply(fact["choices"][i], shuffled(len(found), salt(place, i)))
            except UnreadableError:
                continue
    return cast


def answer(way: str, place: int, fact: dict[str, Any], lies: bool) -> str | None:
    """What a moot decides."""
    faults = (MEMBERS - 1) // 3
    return verdict(options(place, fact, lies), choices(way, place, fact, lies), faults=faults).answer


def scored(lies: bool) -> dict[str, float]:
    """The share of questions that each way answers rightly."""
    facts = recorded()
    found = {"a member alone": _mean([is_right(t, f) for f in facts for t in f["proposals"]])}
    chaired = _mean([is_right(fact["chairman"][lies], fact) for fact in facts])
    found["chairman"] = chaired * (MEMBERS - 1) / MEMBERS if lies else chaired
    for way in WAYS[2:] if lies else WAYS[2:-1]:
        found[way] = _mean([is_right(answer(way, k, fact, lies), fact) for k, fact in enumerate(facts)])
    return found


def unreadable() -> float:
    """The share of choices of honest members that were in no form of a choice."""
    facts = recorded()
    cast = sum(len(choices("moot, own model", k, fact, True)) - 1 for k, fact in enumerate(facts))
    return 1 - cast / (len(facts) * (MEMBERS - 1))


def _mean(some: Sequence[bool]) -> float:
    return sum(some) / len(some)
