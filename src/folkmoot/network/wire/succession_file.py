"""A roster with the signatures that let it replace the one before, in one TOML file.

It is a roster like any other (``Roster.read`` takes it) with ``replaced`` and ``signatures`` besides: members
of the roster before, by name, and what they signed (``wire/succession.py``).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from folkmoot.files.durable import replace_file
from folkmoot.network.wire.succession import Succession
from folkmoot.node.membership.fields import read_toml, toml_string, toml_strings
from folkmoot.node.membership.roster import Roster

HEADER = """\
# A roster that replaces the one before it once enough of that one's members have signed. Made by
# `folkmoot roster propose`; `folkmoot roster sign` adds a signature. Do not edit it: signatures cover every
# member's line.
"""


def write_succession(
    path: Path | str, succession: Succession, old: Roster, signatures: Mapping[int, bytes]
) -> None:
    """Write a successor of ``old``, and who of it has signed, by place."""
    signed = "".join(
        f"  {{ name = {toml_string(old[place].name)}, signature = "
        f"{toml_string(base64.b64encode(signature).decode())} }},\n"
        for place, signature in sorted(signatures.items())
    )
    replaced = f"replaced = {toml_strings(succession.replaced)}\n" if succession.replaced else ""
    text = f"{HEADER}{replaced}signatures = [\n{signed}]\n{succession.roster.toml()}"
    replace_file(Path(path), text.encode())


def read_succession(path: Path | str, old: Roster) -> tuple[Succession, dict[int, bytes]]:
    """The successor of ``old`` in a file, and its signatures by place; ValueError if one does not hold."""
    roster, table = Roster.read(path), read_toml(Path(path))
    replaced = table.get("replaced", [])
    if not isinstance(replaced, list) or not all(isinstance(name, str) for name in replaced):
        raise ValueError(f"{path}: replaced must be a list of names: got {replaced!r}")
    try:
        found = Succession(roster, tuple(replaced))
        found.check(old)
        signatures = dict(_signature(entry, old) for entry in _entries(table))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    signed = found.standing(old, signatures).signed
    wrong = next((old[place].name for place in signatures if place not in signed), None)
    if wrong is not None:
        raise ValueError(
            f"{path}: the signature of {wrong} does not hold: something in the file was changed after it, or "
            "it is not of its key; ask for the file again"
        )
    return found, signatures


def _entries(table: Mapping[str, Any]) -> list[Any]:
    entries = table.get("signatures", [])
    if not isinstance(entries, list):
        raise ValueError(f"signatures must be a list of tables: got {entries!r}")
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"signatures must be of different members: got {twice!r} twice")
    return entries


def _signature(entry: object, old: Roster) -> tuple[int, bytes]:
    if not isinstance(entry, dict) or {*entry} != {"name", "signature"}:
        raise ValueError(f"a signature must be a table with name and signature: got {entry!r}")
    places = {member.name: place for place, member in enumerate(old)}
    if entry["name"] not in places:
        raise ValueError(f"signatures must be of members of the roster before: {entry['name']!r} is none")
    try:
        data = base64.b64decode(entry["signature"], validate=True)
    except (TypeError, ValueError, binascii.Error):
        data = b""
    if len(data) != 64:
        raise ValueError(f"the signature of {entry['name']} must be base64 of 64 bytes")
    return places[entry["name"]], data
