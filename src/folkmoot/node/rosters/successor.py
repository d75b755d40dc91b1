"""A roster that is to replace another: what it changes, what members sign of it, and who has.

The rule, for an old roster of n members with f and q as everywhere (``session/statement.py``):

- the new roster names the old one's digest and the next epoch;
- q members of the old one **consent** to it. A key that it **replaces** (a stolen one) does not count;
- a member whose certificate changes and is not replaced consents, too, with its old key: it **rotates**.

People consent, and may consent to several proposals: no consent takes another one back. Which of the
proposals with enough consents is next, the members' nodes agree on (``change.py``). So consents that are
split among proposals end nothing: whoever sees that neither gets enough consents to the other one, too.

The signature is of the SHA-256 of the **content**. That is the digest before, epoch, replaced names, every
member's line with its addresses, and the number of liars if the roster has it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

import msgspec

from folkmoot.node.membership.certificates import holds
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.session.sets import value_of
from folkmoot.node.session.statement import MOST_MEMBERS, Digest, Quorum, most_faults
from folkmoot.node.wire.messages import MOST_CONTENT

MOST_NEW: Final = 64  # members that join at once in any roster; in a large one as many as it has
_LONGEST_LINE: Final = 4096  # characters: to read one takes time

_Line = Annotated[str, msgspec.Meta(max_length=_LONGEST_LINE)]


class _Content(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What is signed, field by field; that of 0.2 had no ``faults``."""

    previous: Digest
    epoch: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
    replaced: Annotated[list[str], msgspec.Meta(max_length=MOST_MEMBERS)]
    lines: Annotated[list[_Line], msgspec.Meta(max_length=MOST_MEMBERS)]
    faults: Annotated[int, msgspec.Meta(ge=0, lt=MOST_MEMBERS)] | None = None


_DECODER: Final = msgspec.msgpack.Decoder(_Content)


def change_of(previous: bytes) -> bytes:
    """The name of the agreement on the successor of a roster, like the name of a motion."""
    return hashlib.sha256(b"folkmoot/3 roster change\n" + previous).digest()


def consents(previous: bytes, place: int, name: bytes) -> bytes:
    """The bytes that a member signs to consent to a successor."""
    return b"folkmoot/3 consents\n" + previous + place.to_bytes(4, "big") + name


def agrees(old: Roster, place: int, name: bytes, signature: bytes) -> bool:
    """Whether the member at this place has agreed to a successor."""
    words = consents(old.moot, place, name)
    return 0 <= place < len(old) and holds(old[place].public_key, signature, words)


def check_agreed(agreed: Quorum, old: Roster, name: bytes) -> None:
    """ValueError, with what is wrong, unless the members of ``old`` agreed on the successor called so."""
    change = change_of(old.moot)
    agreed.check(old.members, change, (0, 0), value_of(change, 0, 0, name), "a successor", old.names)


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
    """Members that have consented to a successor, and what is missing."""

    signed: tuple[int, ...]  # places in the old roster
    counted: int  # of these, those that count
    needed: int
    owed: tuple[str, ...]  # who rotates and has not consented with its old key

    @property
    def complete(self) -> bool:
        """Whether the nodes may agree on it."""
        return self.counted >= self.needed and not self.owed


@dataclass(frozen=True)
class Successor:
    """A roster that is to replace the one whose digest it names.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from folkmoot.node.membership.identity import create
    >>> from folkmoot.node.membership.roster import Roster
    >>> from folkmoot.node.rosters.successor import Successor
    >>> with TemporaryDirectory() as folder:
    ...     one, two, three = (create(f"{folder}/{x}", name=x).member() for x in ("ann", "bob", "cal"))
    >>> old = Roster([one, two])
    >>> successor = Successor.after(old, [one, three])
    >>> successor.changes(old).joined, successor.changes(old).left, successor.tally(old, [0]).complete
    (('cal',), ('bob',), False)
    """

    roster: Roster
    replaced: tuple[str, ...] = ()

    @classmethod
    def after(cls, old: Roster, members: Iterable[Member], replaced: Iterable[str] = ()) -> Successor:
        """The successor of a roster with these members, checked."""
        found = list(members)
        tolerated = old.tolerated
        if tolerated is not None and found:
            tolerated = min(tolerated, most_faults(len(found)))
        roster = Roster(found, epoch=old.epoch + 1, previous=old.digest, tolerated=tolerated)
        made = cls(roster, tuple(sorted({*replaced})))
        made.check(old)
        return made

    @classmethod
    def read(cls, content: bytes, old: Roster) -> Successor:
        """The successor of ``old`` in what was signed; ValueError, with what is wrong, if it is none.

        Its cost is bounded by the size of ``old``, however long the content is.
        """
        if len(content) > MOST_CONTENT:
            raise ValueError(f"a roster must have at most {MOST_CONTENT:,} bytes: got {len(content):,}")
        try:
            found = _DECODER.decode(content)
        except RecursionError:
            raise ValueError("a roster must not be nested") from None
        _check_new(old, found.lines)
        known = {member.line(): member for member in old}  # to read a certificate takes long
        members = [known.get(line) or Member.parse(line) for line in found.lines]
        roster = Roster(members, epoch=found.epoch, previous=found.previous.hex(), tolerated=found.faults)
        read = cls(roster, tuple(found.replaced))
        if read.content != content:
            raise ValueError("a roster must be written in the one way there is: this one is not")
        read.check(old)
        return read

    @cached_property
    def content(self) -> bytes:
        """The signed content, in the one way to write it."""
        new = self.roster
        lines = [member.line() for member in new]
        fields: list[object] = [bytes.fromhex(new.previous), new.epoch, list(self.replaced), lines]
        return msgspec.msgpack.encode(fields if new.tolerated is None else [*fields, new.tolerated])

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
        lines = [member.line() for member in new]
        _check_new(old, lines)
        longest = max(map(len, lines))
        if longest > _LONGEST_LINE or len(self.content) > MOST_CONTENT or len(new) > MOST_MEMBERS:
            raise ValueError(
                f"a successor must have at most {MOST_MEMBERS:,} members, {_LONGEST_LINE:,} characters per "
                f"line and {MOST_CONTENT:,} bytes, to be passed on: got {len(new):,}, {longest:,} and "
                f"{len(self.content):,}"
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
        if (old.participants, old.tolerated) == (new.participants, new.tolerated):
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

    def tally(self, old: Roster, signed: Sequence[int]) -> Standing:
        """Whether the consents of these places, each of which holds, are enough."""
        names = {old[place].name for place in signed}
        owed = tuple(name for name in self.changes(old).rotated if name not in names)
        return Standing(tuple(signed), len(names - {*self.replaced}), old.members.quorum, owed)


def _check_new(old: Roster, lines: Sequence[str]) -> None:
    """How many join or change at once is bounded, since each costs the reading of a certificate."""
    known = {member.line() for member in old}
    most = max(MOST_NEW, len(old))
    new = sum(line not in known for line in lines)
    if new > most or len(lines) > len(old) + most:
        raise ValueError(
            f"a successor may have at most {most} lines of members that are new or changed: got {new}; "
            "take two steps"
        )


def _renewed(old: Roster, new: Roster) -> list[str]:
    """Members of both whose certificates differ, by name."""
    before = {member.name: member.fingerprint for member in old}
    return [each.name for each in new if before.get(each.name, each.fingerprint) != each.fingerprint]
