"""The certificate of a motion: anybody with the roster checks it, and computes the answer again.

It is JSON with sorted keys, no spaces and one newline at the end; bytes are in base64. There is one way to
write a certificate, and every part is fixed by a signature or by a hash, so no bit can be changed. The header
is fixed by its hash and the asker's signature, a set by a quorum of precommits to its hash, votes by the
commitments in the set.

A certificate shows what was decided, and from which votes. It cannot show that a member it leaves out had
nothing to say, nor that no evidence exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import msgspec

from folkmoot.node.answer import answer_of
from folkmoot.node.membership.certificates import holds
from folkmoot.node.membership.roster import Roster
from folkmoot.node.review import judge_of
from folkmoot.node.session.agreement import Agreement
from folkmoot.node.session.frames import Salt, Votes
from folkmoot.node.session.header import Header, motion_of, read_header, unchecked_header
from folkmoot.node.session.motion import Motion
from folkmoot.node.session.sets import (
    COMMITMENTS,
    REVEALS,
    Commitments,
    Revealed,
    most_bytes,
    read_commitments,
    read_revealed,
    value_of,
)
from folkmoot.node.session.statement import (
    MOST_MEMBERS,
    NIL,
    Members,
    Quorum,
    Round,
    Signature,
    Signatures,
    asked,
    commitment,
)

MOST_BYTES: Final = 1 << 28  # of a certificate
_MOST_POLLS: Final = 2
_MOST_HEADER: Final = 1 << 23  # bytes
_MANY: Final = msgspec.Meta(max_length=MOST_MEMBERS)
CAVEAT: Final = (
    "a certificate cannot show that no evidence exists, nor what a member that it leaves out would have said"
)


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Any of the parts below."""


class Agreed(_Part, frozen=True):
    """A set, and the precommits of a quorum to it, all of one round."""

    set: bytes
    round: Round
    precommits: Annotated[Signatures, _MANY]


class Opened(_Part, frozen=True):
    """The reveal of a member."""

    salt: Salt
    votes: Votes


class PollProof(_Part, frozen=True):
    """The agreed sets of a poll; ``opened`` are those who revealed, by place."""

    commitments: Agreed
    reveals: Agreed
    opened: Annotated[tuple[Opened, ...], _MANY]


class Certificate(_Part, frozen=True):
    """The parts of a certificate."""

    format: Literal["folkmoot certificate 2"]
    motion: str  # the hash of the header, in hexadecimal
    header: bytes
    signature: Signature  # of the asker
    polls: Annotated[tuple[PollProof, ...], msgspec.Meta(min_length=1, max_length=_MOST_POLLS)]


_DECODER: Final = msgspec.json.Decoder(Certificate)
_ENCODER: Final = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, eq=False)
class Poll:
    """A poll that was checked: who is in the set, and the votes of those who revealed."""

    agreed: Commitments
    votes: dict[int, bytes]

    @property
    def withheld(self) -> list[int]:
        """Members that committed, and whose votes are not in the set of reveals."""
        return [i for i in self.agreed.members if i not in self.votes]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The contents of a certificate."""

    motion: bytes
    header: Header
    n: int
    faults: int
    polls: tuple[Poll, ...]
    answer: bytes


def certificate_of(motion: Motion, signature: bytes) -> bytes:
    """The certificate of a motion whose answer is known; ``signature`` is the asker's."""
    if motion.answer is None:
        raise ValueError("a motion has a certificate once it is decided: this one is not")
    polls = []
    for poll in motion.polls:
        agreed = [_agreed(stage) for stage in poll.agreements]
        shown = [poll.reveals[i] for i in sorted(poll.table or {})]
        polls.append(PollProof(agreed[0], agreed[1], tuple(Opened(each.salt, each.votes) for each in shown)))
    found = Certificate(
        "folkmoot certificate 2", motion.name.hex(), motion.header.encoded(), signature, tuple(polls)
    )
    return encoded(found)


def _agreed(stage: Agreement) -> Agreed:
    if stage.decided is None:
        raise ValueError("a poll must be decided")
    return Agreed(stage.bodies[stage.decided], stage.quorum.round, stage.quorum.precommits)


def encoded(certificate: Certificate) -> bytes:
    """The one way to write it."""
    return _ENCODER.encode(certificate) + b"\n"


def read_certificate(data: bytes) -> Certificate:
    """The parts of a certificate, none of which is checked yet; ValueError if these are not all of one."""
    if len(data) > MOST_BYTES:
        raise ValueError(f"a certificate must have at most {MOST_BYTES:,} bytes: got {len(data):,}")
    try:
        found = _DECODER.decode(data)
    except (ValueError, RecursionError) as error:  # a DecodeError is a ValueError
        raise ValueError(f"it is not a certificate that folkmoot wrote ({error})") from None
    if encoded(found) != data:
        raise ValueError(
            "it is not to the byte as folkmoot writes a certificate: something in it was changed"
        )
    return found


def verify(data: bytes, roster: Roster, *, answer: bytes | None = None) -> Outcome:
    """The contents of a certificate, all of it checked and the answer computed from the votes.

    ``roster`` has the members whose keys must have signed it. ``answer`` is given where whoever made the
    certificate has just computed it from the same votes. ValueError, with what, if anything does not hold.
    """
    found = read_certificate(data)
    motion, header = _asked(found, roster)
    members = roster.members
    if len(found.polls) != header.polls:
        raise ValueError(
            f"a motion on its terms has {header.polls} polls, and the certificate {len(found.polls)}"
        )
    polls, before = [], NIL
    for number, proof in enumerate(found.polls):
        place = _PollCheck(motion, header, number, before, members, roster)
        poll, before = place.poll(proof)
        polls.append(poll)
    if answer is None:
        tables = [poll.votes for poll in polls]
        answer = answer_of(header, tables, _coin(found), members.n, members.faults)
    return Outcome(motion, header, members.n, members.faults, tuple(polls), answer)


def opened(data: bytes, n: int, faults: int, answer: bytes) -> Outcome:
    """The contents of a certificate that this node wrote itself: nothing is checked, nothing computed."""
    found = _DECODER.decode(data)
    polls = []
    for proof in found.polls:
        agreed, shown = read_commitments(proof.commitments.set), read_revealed(proof.reveals.set)
        votes = {i: each.votes for i, each in zip(shown.members, proof.opened, strict=True)}
        polls.append(Poll(agreed, votes))
    return Outcome(bytes.fromhex(found.motion), read_header(found.header, n), n, faults, tuple(polls), answer)


def coin_of(data: bytes) -> bytes:
    """The seed that settles ties, from a certificate that this node wrote itself: nothing is checked."""
    return _coin(_DECODER.decode(data))


def _coin(found: Certificate) -> bytes:
    return value_of(bytes.fromhex(found.motion), 0, COMMITMENTS, found.polls[0].commitments.set)


def _asked(found: Certificate, roster: Roster) -> tuple[bytes, Header]:
    """The header's hash is the motion, and its asker signed it."""
    motion = motion_of(found.header)
    if motion.hex() != found.motion:
        raise ValueError("its header is not that of the motion which it names")
    if len(found.header) > _MOST_HEADER:
        raise ValueError(f"its header must have at most {_MOST_HEADER:,} bytes: got {len(found.header):,}")
    try:
        header = unchecked_header(found.header)
        if header.moot.hex() == roster.digest:
            header.check(len(roster))
    except (ValueError, RecursionError) as error:  # an asker may sign what it likes
        raise ValueError(f"its header cannot be read: {error}") from None
    if header.moot.hex() != roster.digest:
        raise ValueError(
            f"it is of the moot whose roster has the digest {header.moot.hex()[:16]}, and this roster has "
            f"{roster.digest[:16]}: give the roster under which the motion was put"
        )
    if not holds(roster[header.asker].public_key, found.signature, asked(motion)):
        raise ValueError(f"its motion was not signed by its asker, {roster[header.asker].name}")
    return motion, header


@dataclass(frozen=True)
class _PollCheck:
    """A poll of a motion, and what its votes are checked by."""

    motion: bytes
    header: Header
    number: int
    before: bytes  # what the poll before decided
    members: Members
    roster: Roster

    def poll(self, proof: PollProof) -> tuple[Poll, bytes]:
        """The poll, and the value that it decided."""
        name = ("first", "final")[self.number]
        first = self._quorum(COMMITMENTS, proof.commitments, f"the commitments to {name} votes")
        agreed = read_commitments(proof.commitments.set)
        agreed.check(self.motion, self.number, self.members)
        second = self._quorum(REVEALS, proof.reveals, f"the reveals of {name} votes")
        shown = read_revealed(proof.reveals.set)
        shown.check(first, agreed, self.members)
        return Poll(agreed, self._votes(agreed, shown, proof.opened)), second

    def _quorum(self, stage: int, agreed: Agreed, what: str) -> bytes:
        """Precommits of just a quorum of different members to one set in one round; the set's hash."""
        if len(agreed.set) > most_bytes(self.members.n):
            raise ValueError(f"the set of {what} has too many bytes for {self.members.n} members")
        value = value_of(self.motion, self.number, stage, agreed.set)
        quorum = Quorum(agreed.round, agreed.precommits)
        quorum.check(self.members, self.motion, (self.number, stage), value, what, self.roster.names)
        return value

    def _votes(self, agreed: Commitments, shown: Revealed, opened: Sequence[Opened]) -> dict[int, bytes]:
        """The votes of members that revealed: each opens its commitment, and is a ballot."""
        if len(opened) != len(shown.members):
            raise ValueError(
                f"{len(shown.members)} members revealed, and the votes of {len(opened)} are there"
            )
        is_ballot = judge_of(self.header, self.number, self.members.n)
        votes = {}
        for member, each in zip(shown.members, opened, strict=True):
            value = commitment(self.motion, self.number, self.before, member, each.salt, each.votes)
            if value != agreed.entries[member][0][0]:
                raise ValueError(f"the votes of {self.roster[member].name} are not those it had committed to")
            if not is_ballot(member, each.votes):
                raise ValueError(f"the votes of {self.roster[member].name} are no ballot of this motion")
            votes[member] = each.votes
        return votes
