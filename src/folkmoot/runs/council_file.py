"""``council.toml``: the members of a council at one desk, each an endpoint with a language model.

::

    choose = "own-model"          # or "embedding", "same"; a member may have its own
    seconds = 60                  # for one request; also faults, least, seed

    [[member]]
    name = "north"
    base_url = "http://127.0.0.1:8000/v1"
    model = "qwen3-8b"
    api_key_env = "NORTH_KEY"     # the variable with the key, if the server wants one

All other keys of a member are parameters of ``folkmoot.models.OpenAIModel``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from folkmoot.checks import ArgumentError
from folkmoot.models import OpenAIModel
from folkmoot.models.prompts import filled
from folkmoot.node.membership.fields import check_name, read_toml
from folkmoot.texts.choosing import CHOOSE
from folkmoot.texts.consensus_text import ConsensusText

_SETTINGS: Final = ("choose", "seconds", "faults", "least", "seed")
_NOT_A_TEXT: Final = ("labels", "answer", "samples")
_MEMBER: Final = tuple(name for name in inspect.signature(OpenAIModel).parameters if name not in _NOT_A_TEXT)
_NEEDED: Final = ("base_url", "model")
MOST_MEMBERS: Final = 100


def read_council(path: Path) -> ConsensusText:
    """Make the council that a file describes."""
    table = read_toml(path)
    tables = table.pop("member", None)
    _check_keys(table, _SETTINGS, f"{path}", "[[member]], ")
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise ValueError(f"{path} must have tables [[member]], each with name, base_url and model")
    if not 2 <= len(tables) <= MOST_MEMBERS:
        raise ValueError(f"{path} must have 2 to {MOST_MEMBERS} tables [[member]]: got {len(tables)}")
    members: dict[str, OpenAIModel] = {}
    choose: dict[str, Any] = {}
    for place, each in enumerate(tables, 1):
        what = f"member {each.get('name', place)!s:.64} in {path}"
        name, how, model = _member(each, what)
        if name in members:
            raise ValueError(f"{path} must give members different names: got {name!r} twice")
        members[name], choose[name] = model, how or table.get("choose", CHOOSE[0])
    given = {key: table[key] for key in table if key != "choose"}
    try:
        return ConsensusText(members, choose=choose, **given)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None


def _member(table: dict[str, Any], what: str) -> tuple[str, Any, OpenAIModel]:
    _check_keys(table, ("name", "choose", *_MEMBER), what)
    missing = [key for key in ("name", *_NEEDED) if key not in table]
    if missing:
        raise ValueError(f"{what} must have {', '.join(('name', *_NEEDED))}: {missing[0]} is missing")
    given = dict(table)
    name, how = given.pop("name"), given.pop("choose", None)
    try:
        check_name(name)
        if how is not None and how not in CHOOSE:
            raise ValueError(f"choose must be one of {', '.join(CHOOSE)}: got {how!r}")
        model = OpenAIModel(**given)
        model.fit()
        filled(model.prompt or "", "", ())  # questions are texts, so no other place can be filled
    except (ArgumentError, ValueError, TypeError) as error:
        raise ValueError(f"{what}: {error}") from None
    return name, how, model


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], what: str, more: str = "") -> None:
    strange = next((key for key in table if key not in known), None)
    if strange is not None:
        raise ValueError(f"{what} may have {more}{', '.join(known)}: got {strange!r:.80}")
