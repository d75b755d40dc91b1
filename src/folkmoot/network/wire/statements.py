"""What a node signs, word for word; commitments to first votes; evidence against those who contradict
themselves.

Every signed statement begins with its kind, the motion and the place of the signer, so that none can be taken
for another: not for one of another motion, and not for a TLS handshake, which begins otherwise.
"""

from __future__ import annotations

import hashlib
from typing import Final, TypeAlias

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from folkmoot.network.wire.messages import (
    Close,
    Commit,
    Contribution,
    Digest,
    Heard,
    Labels,
    Marks,
    Owners,
    Place,
    Reveal,
    Signature,
    decoded,
)
from folkmoot.network.wire.motion import motion_name, read_header
from folkmoot.network.wire.review import owners_digest

_PREFIX: Final = b"folkmoot/2 "


def announcement(motion: bytes, node: int) -> bytes:
    """Signed by the asker: I put this motion."""
    return _statement(b"announce", motion, node)


def committed(motion: bytes, node: int, commitment: bytes) -> bytes:
    """Signed before anybody has spoken: my first votes are those of this commitment."""
    return _statement(b"commit", motion, node, commitment)


def marked(marks: Marks, node: int) -> bytes:
    """Signed when the commitments are in: these are the marks of those that I hold."""
    return _statement(b"marks", marks.motion, node, marks.salt, marks.marks)


def revealed(reveal: Reveal, node: int) -> bytes:
    """Signed once all commitments are in: these are the first votes that I had committed to."""
    return _statement(b"reveal", reveal.motion, node, reveal.salt, hashlib.sha256(reveal.first).digest())


def state(motion: bytes, node: int, version: int, digest: bytes) -> bytes:
    """Signed with every answer: in this version I hold votes of this digest."""
    return _statement(b"state", motion, node, version.to_bytes(8, "big"), digest)


def closing(close: Close) -> bytes:
    """Signed once: this is what I hold at the end, and what I had voted at first."""
    return _statement(
        b"close",
        close.motion,
        close.node,
        hashlib.sha256(close.decisions).digest(),
        close.salt,
        hashlib.sha256(close.first).digest(),
        close.reason.encode(),
    )


def refusal(motion: bytes, node: int, reason: str) -> bytes:
    """Signed by a node that takes no part, with what it tells the asker."""
    return _statement(b"refuse", motion, node, reason.encode())


def invites(invitation: bytes, node: int) -> bytes:
    """Signed by the asker: I invite check rows for a motion."""
    return _statement(b"invite", invitation, node)


def contributed(invitation: bytes, what: Contribution) -> bytes:
    """Signed with check rows: these are mine, and their labels are those of this commitment."""
    rows = what.rows.to_bytes(4, "big")
    return _statement(b"rows", invitation, what.node, rows, what.digest, what.commitment)


def opens_owners(owners: Owners) -> bytes:
    """Signed by the asker once all votes are fixed: the map of owners is this."""
    return _statement(b"owners", owners.motion, owners.node, owners_digest(owners.seed, owners.owned))


def opens_labels(labels: Labels) -> bytes:
    """Signed by a contributor once the map is open: the labels of my rows are these."""
    digest = hashlib.sha256(labels.labels).digest()
    return _statement(b"labels", labels.motion, labels.node, labels.invite, labels.salt, digest)


def succeeds(consent: Consent) -> bytes:
    """Signed once for each roster: this is the one that shall replace it."""
    return _statement(b"succeed", consent.previous, consent.node, consent.successor)


def commitment_to(motion: bytes, fingerprint: bytes, salt: bytes, first: bytes) -> bytes:
    """A hash that fixes first votes without telling them; bound to who votes, and on what."""
    return hashlib.sha256(_PREFIX + b"commitment\0" + motion + fingerprint + salt + first).digest()


def mark(salt: bytes, commit: Commit) -> bytes:
    """Eight bytes that tell one commitment of a participant from another, and from none (zeros).

    They are too few to withstand a search for two commitments of one mark. The salt is drawn by whoever holds
    the commitments, after these were made, so that nobody can search for it.
    """
    said = committed(commit.motion, commit.node, commit.commitment)
    return hashlib.sha256(salt + said).digest()[:8]


def holds(key: Ed25519PublicKey, signature: bytes, statement: bytes) -> bool:
    """Whether ``key`` has signed ``statement``."""
    try:
        key.verify(signature, statement)
    except InvalidSignature:
        return False
    return True


class Consent(msgspec.Struct, frozen=True):
    """A member of the roster ``previous`` has signed that ``successor`` (its name) shall replace it."""

    previous: Digest
    node: Place
    successor: Digest
    signature: Signature


class TwoStates(msgspec.Struct, frozen=True, tag="two answers"):
    """Two signed answers of one version that differ: who asked was told different things."""

    motion: bytes
    one: Heard
    other: Heard


class TwoCommits(msgspec.Struct, frozen=True, tag="two commitments"):
    """Two signed commitments to first votes in one motion."""

    one: Commit
    other: Commit


class TwoCloses(msgspec.Struct, frozen=True, tag="two closes"):
    """Two signed closes of one motion that differ."""

    one: Close
    other: Close


class BrokenCommitment(msgspec.Struct, frozen=True, tag="broken commitment"):
    """A close whose first votes are not those that the same node had committed to."""

    commit: Commit
    close: Close
    fingerprint: bytes


class BrokenReveal(msgspec.Struct, frozen=True, tag="broken reveal"):
    """First votes, signed and shown before the talk, that are not those committed to."""

    commit: Commit
    reveal: Reveal
    fingerprint: bytes


class TwoSuccessors(msgspec.Struct, frozen=True, tag="two successors"):
    """Two signed successors of one roster."""

    one: Consent
    other: Consent


class BrokenOwners(msgspec.Struct, frozen=True, tag="broken map of owners"):
    """A map of owners, signed by the asker, that is not the one of the motion's header."""

    header: bytes
    owners: Owners


class BrokenLabels(msgspec.Struct, frozen=True, tag="broken labels"):
    """Labels of check rows, signed by who sent them, that are not those committed to."""

    contribution: Contribution
    labels: Labels
    fingerprint: bytes


Evidence: TypeAlias = (
    TwoStates
    | TwoCommits
    | TwoCloses
    | BrokenCommitment
    | BrokenReveal
    | TwoSuccessors
    | BrokenOwners
    | BrokenLabels
)

_DECODER: Final = msgspec.msgpack.Decoder(Evidence)
_ENCODER: Final = msgspec.msgpack.Encoder()


def write_evidence(evidence: Evidence) -> bytes:
    """Evidence as it is stored and shown to others."""
    return _ENCODER.encode(evidence)


def read_evidence(data: bytes) -> Evidence:
    """The evidence in ``data``; ValueError if there is none."""
    evidence: Evidence = decoded(_DECODER, data)
    return evidence


def evidence_file(fingerprint: str, evidence: Evidence) -> bytes:
    """A file of evidence against whoever has this certificate; ``folkmoot evidence`` verifies it."""
    return _ENCODER.encode((fingerprint, write_evidence(evidence)))


def kind(evidence: Evidence) -> str:
    """What it shows, in words."""
    return str(type(evidence).__struct_config__.tag)


def motion_of(evidence: Evidence) -> bytes:
    """The motion in which it happened; of two successors, the digest of the roster that they follow."""
    if isinstance(evidence, TwoStates):
        return evidence.motion
    if isinstance(evidence, TwoSuccessors):
        return evidence.one.previous
    if isinstance(evidence, BrokenOwners | BrokenLabels):
        return _opened(evidence).motion
    return (
        evidence.commit.motion
        if isinstance(evidence, BrokenCommitment | BrokenReveal)
        else evidence.one.motion
    )


def accused(evidence: Evidence) -> int:
    """The place of the participant whom it is against."""
    if isinstance(evidence, BrokenOwners | BrokenLabels):
        return _opened(evidence).node
    return (
        evidence.commit.node if isinstance(evidence, BrokenCommitment | BrokenReveal) else evidence.one.node
    )


def proves(evidence: Evidence, key: Ed25519PublicKey, fingerprint: bytes) -> bool:
    """Whether it holds against the participant with this key: offline, by signatures alone."""
    if isinstance(evidence, TwoStates):
        one, other = evidence.one, evidence.other
        return (
            (one.node, one.version) == (other.node, other.version)
            and one.digest != other.digest
            and all(
                holds(key, x.signature, state(evidence.motion, x.node, x.version, x.digest))
                for x in (one, other)
            )
        )
    if isinstance(evidence, TwoCommits):
        first, second = evidence.one, evidence.other
        return (
            (first.motion, first.node) == (second.motion, second.node)
            and first.commitment != second.commitment
            and all(
                holds(key, x.signature, committed(x.motion, x.node, x.commitment)) for x in (first, second)
            )
        )
    if isinstance(evidence, TwoCloses):
        a, b = evidence.one, evidence.other
        return (
            (a.motion, a.node) == (b.motion, b.node)
            and closing(a) != closing(b)
            and all(holds(key, x.signature, closing(x)) for x in (a, b))
        )
    if isinstance(evidence, TwoSuccessors):
        x, y = evidence.one, evidence.other
        return (
            (x.previous, x.node) == (y.previous, y.node)
            and x.successor != y.successor
            and all(holds(key, each.signature, succeeds(each)) for each in (x, y))
        )
    if isinstance(evidence, BrokenOwners):
        return _broke_its_map(evidence, key)
    if isinstance(evidence, BrokenLabels):
        return _broke_its_labels(evidence, key, fingerprint)
    commit = evidence.commit
    if isinstance(evidence, BrokenCommitment):
        shown: Close | Reveal = evidence.close
        same, said = evidence.close.node == commit.node, closing(evidence.close)
    else:  # a reveal is of whoever has signed it
        shown = evidence.reveal
        same, said = True, revealed(evidence.reveal, commit.node)
    return (
        same
        and commit.motion == shown.motion
        and evidence.fingerprint == fingerprint
        and commitment_to(shown.motion, fingerprint, shown.salt, shown.first) != commit.commitment
        and holds(key, commit.signature, committed(commit.motion, commit.node, commit.commitment))
        and holds(key, shown.signature, said)
    )


def _opened(evidence: BrokenOwners | BrokenLabels) -> Owners | Labels:
    return evidence.owners if isinstance(evidence, BrokenOwners) else evidence.labels


def _broke_its_map(evidence: BrokenOwners, key: Ed25519PublicKey) -> bool:
    owners = evidence.owners
    try:
        motion = read_header(evidence.header)
    except (ValueError, TypeError):
        return False
    return (
        motion_name(evidence.header) == owners.motion
        and motion.asker == owners.node
        and motion.review is not None
        and motion.review.owners != owners_digest(owners.seed, owners.owned)
        and holds(key, owners.signature, opens_owners(owners))
    )


def _broke_its_labels(evidence: BrokenLabels, key: Ed25519PublicKey, fingerprint: bytes) -> bool:
    """An opening without labels is a refusal to open, and proves nothing."""
    promised, opened = evidence.contribution, evidence.labels
    return (
        promised.node == opened.node
        and evidence.fingerprint == fingerprint
        and len(opened.labels) > 0
        and commitment_to(opened.invite, fingerprint, opened.salt, opened.labels) != promised.commitment
        and holds(key, promised.signature, contributed(opened.invite, promised))
        and holds(key, opened.signature, opens_labels(opened))
    )


def _statement(kind_: bytes, motion: bytes, node: int, *parts: bytes) -> bytes:
    """The kind, the motion, the place, and every part with its length in front."""
    body = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return _PREFIX + kind_ + b"\0" + motion + node.to_bytes(4, "big") + body
