"""A roster with what lets it replace the one before, in one TOML file.

It is a roster like any other (``Roster.read`` takes it) with ``replaced``, ``signatures`` and ``agreed``
besides. ``signatures`` are the consents of members of the roster before, by name. ``agreed`` is there once
their nodes have agreed that it is the next one: a round, and the precommits of a quorum in it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any, Final

from folkmoot.node.membership.fields import parse_toml, toml_string, toml_strings
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.chronicle import Agreed, Proposal
from folkmoot.node.rosters.successor import Successor, agrees
from folkmoot.node.session.statement import MOST_ROUND

MOST_BYTES: Final = 1 << 24  # of a file
_HEADER: Final = """\
# A roster that replaces the one before it: enough of that one's members must sign it, and their nodes agree
# on it. Made by `folkmoot roster propose`; `folkmoot roster sign` adds a signature. Do not edit it:
# signatures cover every member's line.
"""


def roster_text(proposal: Proposal) -> bytes:
    """A successor of a roster as a file, with all that is known to have been signed of it."""
    found, old = proposal.successor, proposal.old
    replaced = f"replaced = {toml_strings(found.replaced)}\n" if found.replaced else ""
    text = f"{_HEADER}{replaced}signatures = {_signed(old, proposal.consents.items())}\n"
    if proposal.agreed is not None:
        precommits = _signed(old, proposal.agreed.precommits).replace("\n", "")
        text += f"agreed = {{ round = {proposal.agreed.round}, precommits = {precommits} }}\n"
    return f"{text}{found.roster.toml()}".encode()


def read_roster_text(data: bytes, old: Roster, where: str = "the file") -> Proposal:
    """The successor of ``old`` in a file; ValueError, with what is wrong, if a signature does not hold."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"{where} must have at most {MOST_BYTES:,} bytes: got {len(data):,}")
    roster, table = Roster.parse(data, where), parse_toml(data, where)
    replaced = table.get("replaced", [])
    if not isinstance(replaced, list) or not all(isinstance(name, str) for name in replaced):
        raise ValueError(f"{where}: replaced must be a list of names: got {replaced!r:.80}")
    try:
        found = Successor(roster, tuple(replaced))
        found.check(old)
        signed = _signatures(table.get("signatures", []), old, "signatures")
        wrong = next((place for place in signed if not agrees(old, place, found.name, signed[place])), None)
        if wrong is not None:
            raise ValueError(
                f"the signature of {old[wrong].name} does not hold: something in the file was changed after "
                "it, or it is not of its key; ask for the file again"
            )
        agreed = _agreed(table["agreed"], old) if "agreed" in table else None
        if agreed is not None:
            agreed.check(old, found.name)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return Proposal(old, found, signed, agreed)


def _signed(old: Roster, signatures: Iterable[tuple[int, bytes]]) -> str:
    lines = "".join(
        f"  {{ name = {toml_string(old[place].name)}, signature = "
        f"{toml_string(base64.b64encode(signature).decode())} }},\n"
        for place, signature in sorted(signatures)
    )
    return f"[\n{lines}]"


def _agreed(table: object, old: Roster) -> Agreed:
    if not isinstance(table, Mapping) or {*table} != {"round", "precommits"}:
        raise ValueError(f"agreed must be a table with round and precommits: got {table!r:.80}")
    number = table["round"]
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MOST_ROUND:
        raise ValueError(f"the round of agreed must be a whole number below {MOST_ROUND}: got {number!r:.80}")
    return Agreed(number, tuple(sorted(_signatures(table["precommits"], old, "precommits").items())))


def _signatures(entries: object, old: Roster, what: str) -> dict[int, bytes]:
    """By place in the roster before; they are not verified yet."""
    if not isinstance(entries, list):
        raise ValueError(f"{what} must be a list of tables: got {entries!r:.80}")
    places = {member.name: place for place, member in enumerate(old)}
    found: dict[int, bytes] = {}
    for entry in entries:
        if not isinstance(entry, dict) or {*entry} != {"name", "signature"}:
            raise ValueError(f"a signature must be a table with name and signature: got {entry!r:.80}")
        place = _place(entry["name"], places, what)
        if place in found:
            raise ValueError(f"{what} must be of different members: got {entry['name']!r} twice")
        found[place] = _decoded(entry)
    return found


def _place(name: object, places: Mapping[str, int], what: str) -> int:
    if not isinstance(name, str) or name not in places:
        raise ValueError(f"{what} must be of members of the roster before: {name!r:.80} is none")
    return places[name]


def _decoded(entry: Mapping[str, Any]) -> bytes:
    try:
        data = base64.b64decode(entry["signature"], validate=True)
    except (TypeError, ValueError, binascii.Error):
        data = b""
    if len(data) != 64:
        raise ValueError(f"the signature of {entry['name']} must be base64 of 64 bytes")
    return data
