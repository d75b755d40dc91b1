"""A file of evidence: two statements of one participant that no honest one makes; anybody can check it.

It is JSON with sorted keys, no spaces and one newline at the end; bytes are in base64. Two statements
contradict each other if they are different ones for one slot, or if the second breaks a lock
(``session/book.py``). The participant is named by its fingerprint, so that any roster in which it has that
certificate will do: its place may have been another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

import msgspec

from folkmoot.node.membership.certificates import holds
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.rosters.successor import change_of
from folkmoot.node.session.book import Evidence, contradict
from folkmoot.node.session.statement import Kind, Said

MOST_BYTES: Final = 4096  # of a file
_KINDS: Final = {
    Kind.COMMIT: "two commitments to votes",
    Kind.PROPOSE: "two proposals",
    Kind.PREVOTE: "two prevotes",
    Kind.PRECOMMIT: "two precommits",
    Kind.RESULT: "two results",
}
_Hex = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class EvidenceFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parts of a file. ``about`` is the motion, or the digest of a roster whose successor it is about."""

    format: Literal["folkmoot evidence 2"]
    about: _Hex
    roster: bool  # whether it is about a roster
    fingerprint: _Hex
    one: Said
    other: Said


@dataclass(frozen=True)
class Proven:
    """The statement that a file of evidence proves."""

    participant: Member
    what: str
    motion: str  # "" if it is about a roster
    roster: str  # the digest of the roster whose successor it is about; "" if it is about a motion

    kind: ClassVar = "evidence"

    def __str__(self) -> str:
        about = (
            f"in motion {self.motion[:12]}"
            if self.motion
            else f"about the successor of roster {self.roster[:12]}"
        )
        return f"the evidence holds: {self.participant.name} contradicted itself {about}: {self.what}"


_DECODER: Final = msgspec.json.Decoder(EvidenceFile)
_ENCODER: Final = msgspec.json.Encoder(order="sorted")


def what_of(evidence: Evidence) -> str:
    """The offence, in a few words."""
    if evidence.one.slot == evidence.other.slot:
        return f"it signed {_KINDS.get(Kind(evidence.one.kind), 'two statements')} for one slot"
    return "it signed a prevote against its own precommit"


def evidence_file(evidence: Evidence, fingerprint: str, roster: str = "") -> bytes:
    """Evidence as a file; ``roster`` is the digest of the roster that it is about, if it is about one."""
    about = roster or evidence.motion.hex()
    found = EvidenceFile(
        "folkmoot evidence 2", about, bool(roster), fingerprint, evidence.one, evidence.other
    )
    return _ENCODER.encode(found) + b"\n"


def check_evidence(data: bytes, roster: Roster) -> Proven:
    """The statement that a file proves; ValueError, with the reason, if it proves nothing."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"a file of evidence must have at most {MOST_BYTES:,} bytes: got {len(data):,}")
    try:
        found = _DECODER.decode(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not evidence that folkmoot wrote ({error})") from None
    if _ENCODER.encode(found) + b"\n" != data:
        raise ValueError("it is not to the byte as folkmoot writes evidence: something in it was changed")
    place = roster.position(found.fingerprint)
    if place is None:
        raise ValueError(
            f"its participant has the fingerprint {found.fingerprint[:16]}, and is not in the roster: give "
            "the roster that was in force"
        )
    about = bytes.fromhex(found.about)
    motion = change_of(about) if found.roster else about
    evidence = Evidence(motion, found.one, found.other)
    if not contradict(found.one, found.other):
        raise ValueError("its two statements do not contradict each other")
    member = roster[place]
    for said in (found.one, found.other):
        if not holds(member.public_key, said.signature, said.words(motion)):
            raise ValueError(f"its statements were not signed by {member.name}, as it says")
    what = what_of(evidence)
    return Proven(member, what, "" if found.roster else found.about, found.about if found.roster else "")
