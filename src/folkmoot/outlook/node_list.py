"""Lists of nodes in the public JSON form of the Stellar network: read and counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from folkmoot.files.terminal import printable
from folkmoot.outlook.quorum_set import QuorumSet
from folkmoot.outlook.system import QuorumSystem

MOST_NODES: Final = 10_000  # who names whom takes that squared


@dataclass(frozen=True)
class NodeList:
    """Nodes with their quorum sets, as a public list has them."""

    quorum_sets: dict[str, QuorumSet | None]  # by public key; None where the list has none
    names: dict[str, str]  # by public key; "" where the list has none
    # A title for each key: its name if no other node has it, else the beginning of the key.
    titles: dict[str, str]
    # How many nodes have no quorum set, how many have one that nobody can satisfy, how many validators are
    # named and have no entry, how many nodes do not name themselves, how many are not active.
    notes: dict[str, int]
    active_only: bool = False  # whether nodes that are not active are taken as validators without an entry

    @classmethod
    def from_list(cls, entries: object, *, active_only: bool = False) -> NodeList:
        """From the list, as ``json.load`` gives it."""
        if not isinstance(entries, list):
            form = '[{"publicKey": ..., "quorumSet": ...}, ...]'
            raise ValueError(f"expected a list of nodes, {form}: got {_kind(entries)}")
        if len(entries) > MOST_NODES:
            raise ValueError(f"a list must have at most {MOST_NODES:,} nodes: got {len(entries):,}")
        sets: dict[str, QuorumSet | None] = {}
        names: dict[str, str] = {}
        notes = Counter[str]()
        for number, entry in enumerate(entries, 1):
            key, name = _key(number, entry)
            if key in names:
                raise ValueError(f"node {number}: key {key!r} is there twice; a list has a node once")
            names[key] = name
            active = entry.get("active", True) is not False
            notes["inactive"] += not active
            if active or not active_only:
                sets[key] = _quorum_set(number, name or key, entry)
        notes["without_quorum_set"] = sum(each is None for each in sets.values())
        notes["never_satisfied"] = sum(each is not None and not each.satisfiable for each in sets.values())
        named = {name for each in sets.values() if each is not None for name in each.everyone()}
        notes["validators_without_entry"] = len(named - set(sets))
        notes["not_in_own_set"] = sum(
            each is not None and key not in set(each.everyone()) for key, each in sets.items()
        )
        return cls(sets, names, _titles(names, named), dict(notes), active_only)

    def system(self) -> QuorumSystem:
        """The nodes and their sets, to ask questions of."""
        return QuorumSystem(self.quorum_sets)

    def title(self, key: str) -> str:
        """The title of a node."""
        return self.titles.get(key, key)


def read_nodes(path: str | Path, *, active_only: bool = False) -> NodeList:
    """Read such a list from a file."""
    try:
        entries = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_once)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    try:
        return NodeList.from_list(entries, active_only=active_only)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, many in Counter(key for key, _ in pairs).items() if many > 1)
        raise ValueError(f"an object has {printable(twice)!r} twice; which one holds?")
    return made


def _key(number: int, entry: object) -> tuple[str, str]:
    if not isinstance(entry, Mapping):
        raise ValueError(
            f"node {number}: expected an object with publicKey and quorumSet: got {_kind(entry)}"
        )
    key, name = entry.get("publicKey"), entry.get("name") or ""
    if not isinstance(key, str) or not key:
        raise ValueError(f"node {number}: publicKey must be a text: got {key!r}")
    if not isinstance(name, str):
        raise ValueError(f"node {number}: name must be a text: got {name!r}")
    return key, name


def _quorum_set(number: int, title: str, entry: Mapping[str, Any]) -> QuorumSet | None:
    form = entry.get("quorumSet")
    try:
        return None if form is None else QuorumSet.from_dict(form)
    except (ValueError, TypeError) as error:
        raise ValueError(f"node {number} ({printable(title)}): {error}") from None


def _titles(names: Mapping[str, str], named: set[str]) -> dict[str, str]:
    many = Counter(names.values())
    titles = {}
    for key in [*names, *sorted(named - set(names))]:
        name = printable(names.get(key, ""))
        short = printable(key) if len(key) <= 12 else printable(key[:8]) + "..."
        titles[key] = name if name and many[names[key]] == 1 else f"{name} {short}".strip()
    return titles


def _kind(value: object) -> str:
    return "an object" if isinstance(value, Mapping) else repr(value)[:40]
