"""A roster with what lets it replace the one before, in one TOML file.

It is a roster like any other (``Roster.read`` takes it) with ``replaced``, ``signatures`` and ``agreed``
besides. ``signatures`` are the consents of members of the roster before, by name. ``agreed`` is there once
their nodes have agreed that it is the next one: a round, and the precommits of a quorum in it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Final

import msgspec

from folkmoot.node.membership.fields import converted, parse_toml, toml_string, toml_strings
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.history import Proposal
from folkmoot.node.rosters.successor import Successor, agrees, check_agreed
from folkmoot.node.session.statement import Quorum, Round, Signature

MOST_BYTES: Final = 1 << 24  # of a file
_HEADER: Final = """\
# A roster that replaces the one before it: enough of that one's members must sign it, and their nodes agree
# on it. Made by `folkmoot roster propose`; `folkmoot roster sign` adds a signature. Do not edit it:
# signatures cover every member's line.
"""


class _Signature(msgspec.Struct, forbid_unknown_fields=True):
    """A member's, in base64."""

    name: str
    signature: Signature


class _Agreed(msgspec.Struct, forbid_unknown_fields=True):
    """The precommits of a quorum in a round."""

    round: Round
    precommits: list[_Signature]


class _Said(msgspec.Struct):
    """The parts of the file besides the roster."""

    replaced: tuple[str, ...] = ()
    signatures: list[_Signature] = []
    agreed: _Agreed | None = None


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
    try:
        said = converted({key: table[key] for key in _Said.__struct_fields__ if key in table}, _Said)
        found = Successor(roster, said.replaced)
        found.check(old)
        signed = _by_place(said.signatures, old, "signatures")
        wrong = next((place for place in signed if not agrees(old, place, found.name, signed[place])), None)
        if wrong is not None:
            raise ValueError(
                f"the signature of {old[wrong].name} does not hold: something in the file was changed after "
                "it, or it is not of its key; ask for the file again"
            )
        agreed = None
        if said.agreed is not None:
            precommits = _by_place(said.agreed.precommits, old, "precommits")
            agreed = Quorum(said.agreed.round, tuple(sorted(precommits.items())))
            check_agreed(agreed, old, found.name)
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


def _by_place(signed: Iterable[_Signature], old: Roster, what: str) -> dict[int, bytes]:
    """By place in the roster before; they are not verified yet."""
    places = {name: place for place, name in enumerate(old.names)}
    found: dict[int, bytes] = {}
    for each in signed:
        if each.name not in places:
            raise ValueError(f"{what} must be of members of the roster before: {each.name!r:.80} is none")
        if places[each.name] in found:
            raise ValueError(f"{what} must be of different members: got {each.name!r} twice")
        found[places[each.name]] = each.signature
    return found
