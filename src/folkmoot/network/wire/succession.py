"""How a roster replaces another: a quorum of the old one signs the new one, each member at most once.

The rule, for an old roster of n members with f and q as in ``membership/roster.py``:

- the new roster names the old one's digest and the next epoch;
- it holds once q members of the old one have signed it. A key that it **replaces** (a stolen one) does not
  count;
- a member whose certificate changes and is not replaced has signed, too, with its old key: it **rotates**.

**No two successors of a roster both hold**, while at most f of its members sign more than once. Both would
have q signers, and two sets of q of n share at least 2q - n > f members. One of these signs once, and would
have signed both. So, by induction, all honest nodes that begin with one roster go through the same rosters
in the same order.

What is signed is the SHA-256 of the **content**: digest before, epoch, replaced names, and every member's
line with its addresses. Two signatures of a member under two contents that follow one roster are evidence
against it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from folkmoot.network.wire import statements
from folkmoot.network.wire.messages import Count, Digest, decoded
from folkmoot.network.wire.statements import Consent
from folkmoot.node.membership.roster import Member, Roster, quorum

MOST_CONTENT: Final = 900 * 1024  # bytes: with the signatures it must fit into a frame
MOST_MEMBERS: Final = 4096


class _Content(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What is signed, field by field."""

    previous: Digest
    epoch: Count
    replaced: list[str]
    lines: Annotated[list[str], msgspec.Meta(max_length=MOST_MEMBERS)]


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Content)


@dataclass(frozen=True)
class Changes:
    """In what a roster differs from the one before, by the names of members."""

    joined: tuple[str, ...]
    left: tuple[str, ...]
    rotated: tuple[str, ...]  # another certificate, and the old key must agree
    replaced: tuple[str, ...]  # another certificate, whatever the old key says
    edited: tuple[str, ...]  # another organisation or other addresses


@dataclass(frozen=True)
class Standing:
    """Who has signed a successor, and what is missing."""

    signed: tuple[int, ...]  # places in the old roster whose signatures hold
    counted: int  # of these, those that count for the quorum
    needed: int
    owed: tuple[str, ...]  # who rotates and has not signed with its old key

    @property
    def complete(self) -> bool:
        """Whether the successor holds."""
        return self.counted >= self.needed and not self.owed


@dataclass(frozen=True)
class Succession:
    """A roster that is to replace the one whose digest it names."""

    roster: Roster
    replaced: tuple[str, ...] = ()

    @classmethod
    def after(cls, old: Roster, members: Iterable[Member], replaced: Iterable[str] = ()) -> Succession:
        """The successor of a roster with these members, checked."""
        roster = Roster(members, epoch=old.epoch + 1, previous=old.digest)
        made = cls(roster, tuple(sorted({*replaced})))
        made.check(old)
        return made

    @classmethod
    def read(cls, content: bytes, old: Roster) -> Succession:
        """The successor of ``old`` in what was signed; ValueError, with what is wrong, if it is none."""
        if len(content) > MOST_CONTENT:
            raise ValueError(f"a roster must have at most {MOST_CONTENT:,} bytes: got {len(content):,}")
        found = decoded(_DECODER, content)
        known = {member.line(): member for member in old}  # to read a certificate takes long
        members = [known.get(line) or Member.parse(line) for line in found.lines]
        roster = Roster(members, epoch=found.epoch, previous=found.previous.hex())
        read = cls(roster, tuple(found.replaced))
        if read.content != content:
            raise ValueError("a roster must be written in the one way there is: this one is not")
        read.check(old)
        return read

    @cached_property
    def content(self) -> bytes:
        """What is signed, in the one way to write it."""
        return _ENCODER.encode(
            _Content(
                bytes.fromhex(self.roster.previous),
                self.roster.epoch,
                list(self.replaced),
                [member.line() for member in self.roster],
            )
        )

    @cached_property
    def name(self) -> bytes:
        """The SHA-256 of the content, by which a successor is known."""
        return hashlib.sha256(self.content).digest()

    def check(self, old: Roster) -> None:
        """ValueError, with what is wrong, unless this may follow ``old``."""
        new = self.roster
        if (new.epoch, new.previous) != (old.epoch + 1, old.digest):
            raise ValueError(
                f"a successor must follow the roster of epoch {old.epoch}, digest {old.digest[:16]}: "
                f"this one is of epoch {new.epoch} and follows {new.previous[:16] or 'none'}"
            )
        if len(self.content) > MOST_CONTENT or len(new) > MOST_MEMBERS:
            raise ValueError(
                f"a successor must have at most {MOST_MEMBERS:,} members and {MOST_CONTENT:,} bytes, to be "
                f"passed on: got {len(new):,} and {len(self.content):,}"
            )
        renewed = _renewed(old, new)
        strange = next((name for name in self.replaced if name not in renewed), None)
        if strange is not None:
            raise ValueError(
                f"replaced must name members whose certificates change, {', '.join(renewed) or 'none here'}: "
                f"got {strange!r}"
            )
        if list(self.replaced) != sorted(set(self.replaced)):
            raise ValueError("replaced must name each member once, in order")
        if old.participants == new.participants:
            raise ValueError("a successor must change something: its members are those of the roster before")

    def changes(self, old: Roster) -> Changes:
        """In what the new roster differs from ``old``."""
        before, after = ({member.name: member for member in each} for each in (old, self.roster))
        renewed = _renewed(old, self.roster)
        return Changes(
            tuple(name for name in after if name not in before),
            tuple(name for name in before if name not in after),
            tuple(name for name in renewed if name not in self.replaced),
            self.replaced,
            tuple(
                name
                for name in after
                if name in before and name not in renewed and before[name] != after[name]
            ),
        )

    def standing(self, old: Roster, signatures: Mapping[int, bytes]) -> Standing:
        """Who has signed, and whether that is enough; signatures that do not hold are left out."""
        consents = (self.consent(place, signature) for place, signature in sorted(signatures.items()))
        return self.tally(old, [each.node for each in consents if agrees(old, each)])

    def tally(self, old: Roster, signed: Sequence[int]) -> Standing:
        """Whether the signatures of these places, each of which holds, are enough."""
        names = {old[place].name for place in signed}
        owed = tuple(name for name in self.changes(old).rotated if name not in names)
        return Standing(tuple(signed), len(names - {*self.replaced}), quorum(len(old)), owed)

    def consent(self, place: int, signature: bytes) -> Consent:
        """What a member of the old roster has said by signing this."""
        return Consent(bytes.fromhex(self.roster.previous), place, self.name, signature)

    def signed_by(self, key: Ed25519PrivateKey, place: int) -> bytes:
        """The signature of a member of the old roster, which must be stored before anybody is shown it."""
        return key.sign(statements.succeeds(self.consent(place, bytes(64))))


def agrees(old: Roster, consent: Consent) -> bool:
    """Whether the member of the roster that a consent names has signed it."""
    return (
        consent.previous.hex() == old.digest
        and 0 <= consent.node < len(old)
        and statements.holds(old[consent.node].public_key, consent.signature, statements.succeeds(consent))
    )


def _renewed(old: Roster, new: Roster) -> list[str]:
    """Members of both whose certificates differ, by name."""
    before = {member.name: member.fingerprint for member in old}
    return [each.name for each in new if before.get(each.name, each.fingerprint) != each.fingerprint]
