"""The quorum set that somebody has written down: in ``node.toml``, or in a file of its own.

    [quorum_set]
    threshold = 3
    members = ["north", "mid", "south"]   # names of the roster, or fingerprints

    [[quorum_set.inner]]
    threshold = 2
    members = ["east-1", "east-2", "east-3"]

In JSON the same keys are understood, and those of public lists (``validators``, ``innerQuorumSets``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from folkmoot.federated.quorum_set import DEEPEST, QuorumSet
from folkmoot.network.membership.fields import check_keys, parse_toml
from folkmoot.network.membership.identity import SETTINGS
from folkmoot.network.membership.roster import Member
from folkmoot.tabular import shortened

KEY: Final = "quorum_set"  # of its table in node.toml
_KEYS: Final = ("threshold", "members", "inner")
_PUBLIC: Final = {"validators": "members", "innerQuorumSets": "inner"}


def quorum_set_in(table: object, where: str = KEY, depth: int = 1) -> QuorumSet:
    """The quorum set in a table; ValueError, with what is wrong, if it is none."""
    such_as = 'with threshold = 3 and members = ["a", "b", "c", "d"]'
    if not isinstance(table, Mapping):
        raise ValueError(f"{where} must be a table {such_as}: got {table!r:.60}")
    if depth > DEEPEST:
        raise ValueError(f"{where} is nested deeper than {DEEPEST} levels: write its members further out")
    said = {_PUBLIC.get(str(key), str(key)): value for key, value in table.items()}
    for problem in check_keys(said, _KEYS, optional=("members", "inner")):
        raise ValueError(f"{where}: {problem}; write it {such_as}")
    members, inner = said.get("members", []), said.get("inner", [])
    if not isinstance(members, list) or not all(isinstance(name, str) for name in members):
        raise ValueError(f'{where}: members must be a list of names, such as ["a", "b"]: got {members!r:.60}')
    if not isinstance(inner, list):
        raise ValueError(f"{where}: inner must be tables, such as [[{where}.inner]]: got {inner!r:.60}")
    parts = [quorum_set_in(part, f"{where}.inner", depth + 1) for part in inner]
    try:
        return QuorumSet(said["threshold"], members, parts)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{where}: {error}") from None


def read_quorum_set(path: Path) -> QuorumSet:
    """The quorum set in a file (TOML or JSON), or in ``node.toml`` of a node's folder.

    Parameters
    ----------
    path : Path
        The file, or the folder.

    Returns
    -------
    QuorumSet
        As it is written: by names or fingerprints.
    """
    file = path / SETTINGS if path.is_dir() else path
    data = file.read_bytes()
    if data.lstrip()[:1] == b"{":
        try:
            table: Any = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{file} must be JSON or TOML: {error}") from None
    else:
        table = parse_toml(data, str(file))
    if path.is_dir() and KEY not in table:
        raise ValueError(f"{file} has no quorum set: write [{KEY}] with threshold and members into it")
    for key in (KEY, "quorumSet"):
        if key in table:
            table = table[key]
            break
    try:
        return quorum_set_in(table)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def by_names(quorum_set: QuorumSet, members: Iterable[Member]) -> QuorumSet:
    """The same set, with names instead of fingerprints; whoever is not among the members stays as it is."""
    listed = list(members)
    called = {member.fingerprint: member.name for member in listed}
    names = {member.name for member in listed}
    known = {each: called[each.lower()] for each in quorum_set.everyone() if each.lower() in called}
    return quorum_set.renamed({each: name for each, name in known.items() if each not in names})


def check_named(quorum_set: QuorumSet, members: Iterable[Member], where: str) -> QuorumSet:
    """The set by names; ValueError if it names somebody that is not among these members.

    Parameters
    ----------
    quorum_set : QuorumSet
        A set by names or fingerprints.
    members : iterable of Member
        Who may be named.
    where : str
        Where it is written, for the message.

    Returns
    -------
    QuorumSet
        The same set by names.
    """
    listed = list(members)
    names = sorted({member.name for member in listed})
    try:
        found = by_names(quorum_set, listed)
    except ValueError as error:  # a name and its own fingerprint
        raise ValueError(f"{where}: {error}") from None
    stranger = next((each for each in found.everyone() if each not in names), None)
    if stranger is not None:
        raise ValueError(
            f"{where} must name members of the roster, {shortened(names)}, or their fingerprints: "
            f"got {stranger!r:.80}"
        )
    return found
