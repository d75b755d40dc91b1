"""A certificate of a motion: what a node holds of it, in a file that anybody with the roster can check.

It is JSON with sorted keys, no spaces and one newline at the end; bytes are in base64. There is one way to
write a certificate, and every part of it is fixed by a signature or by another part, so that no character can
be changed: the header by its name, the name by the asker's signature, closes and evidence by their signers.

It shows that these closes exist. It cannot show that no evidence does: whoever wrote it may have left some
out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeVar

import msgspec

from folkmoot.network.storage.storage import Held, StoredMotion
from folkmoot.network.wire import statements
from folkmoot.network.wire.messages import Close, Commit, Owners, Reveal, Signature, decoded
from folkmoot.network.wire.motion import Motion, motion_name, read_header
from folkmoot.network.wire.review import OwnerMap, owners_digest, read_map
from folkmoot.network.wire.statements import Evidence
from folkmoot.node.membership.roster import Roster

CAVEAT: Final = (
    "a certificate cannot show that no evidence exists: whoever wrote it may have left closes or evidence out"
)
_Item = TypeVar("_Item")


class Certificate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The parts of a certificate."""

    format: Literal["folkmoot certificate 1"]
    moot: str  # the digest of the roster, in hexadecimal
    motion: str  # the name of the motion, too
    header: bytes
    signature: Signature  # of its asker
    closes: list[Close]  # by place
    evidence: list[Evidence]  # by the place of the accused
    owners: list[Owners] = []  # of a motion with check rows: the asker's map, if it was opened


_DECODER: Final = msgspec.json.Decoder(Certificate)
_ENCODER: Final = msgspec.json.Encoder(order="sorted")


def write_certificate(stored: StoredMotion, held: Held) -> bytes:
    """The certificate of a motion that a node has stored.

    Parameters
    ----------
    stored : StoredMotion
        The motion; not one with trust.
    held : Held
        What the node holds of it.

    Returns
    -------
    bytes
        What ``read_certificate`` takes.
    """
    motion = stored.motion
    _refuse_trust(motion)
    return _encoded(
        Certificate(
            "folkmoot certificate 1",
            motion.moot.hex(),
            stored.name.hex(),
            stored.header,
            stored.signature,
            [held.closes[place] for place in sorted(held.closes)],
            [proof for _, proof in sorted(dict(held.evidence).items())],
            [each for each in held.opened.values() if isinstance(each, Owners)],
        )
    )


def read_certificate(data: bytes, roster: Roster) -> tuple[StoredMotion, Held]:
    """What a certificate shows, all of it checked; ValueError, with what is wrong, if it does not hold.

    Parameters
    ----------
    data : bytes
        A certificate, to the last byte as it was written.
    roster : Roster
        Whose keys it is held against.

    Returns
    -------
    StoredMotion
        The motion.
    Held
        Its closes and evidence.
    """
    try:
        found = decoded(_DECODER, data)
    except ValueError as error:  # a DecodeError is one
        raise ValueError(f"it is not a certificate that folkmoot wrote ({error})") from None
    if _encoded(found) != data:
        raise ValueError(
            "it is not to the byte as folkmoot writes a certificate: something in it was changed"
        )
    if found.moot != roster.digest:
        raise ValueError(
            f"it is of another moot, with the digest {found.moot[:16]}: the roster has {roster.digest[:16]}; "
            "give the roster with which the motion was put"
        )
    name = motion_name(found.header)
    if name.hex() != found.motion:
        raise ValueError("its header is not that of the motion which it names")
    try:
        motion = read_header(found.header)
    except TypeError as error:  # an asker may sign what it likes
        raise ValueError(f"its header cannot be read: {error}") from None
    _refuse_trust(motion)
    if motion.moot.hex() != found.moot or not 0 <= motion.asker < len(roster):
        raise ValueError("its motion was not put to this moot")
    said = statements.announcement(name, motion.asker)
    if not statements.holds(roster[motion.asker].public_key, found.signature, said):
        raise ValueError(f"its motion was not signed by its asker, {roster[motion.asker].name}")
    for close in _in_order(found.closes, lambda close: close.node, roster, "closes"):
        signer = roster[close.node]
        signed = statements.holds(signer.public_key, close.signature, statements.closing(close))
        if not signed or close.motion != name:
            raise ValueError(
                f"the close of {signer.name} in it was not signed by {signer.name} in this motion"
            )
        motion.form.unpack(close.decisions)
        motion.form.unpack_first(close.first)
    owners = _map(found.owners, motion, name, roster)
    for proof in _in_order(found.evidence, statements.accused, roster, "evidence"):
        against = roster[statements.accused(proof)]
        holds = statements.proves(proof, against.public_key, bytes.fromhex(against.fingerprint))
        if not holds or statements.motion_of(proof) != name:
            raise ValueError(f"the evidence against {against.name} in it does not hold in this motion")
    stored = StoredMotion(
        name,
        found.header,
        found.signature,
        [each.fingerprint for each in roster],
        [each.name for each in roster],
        opened=motion.created,
        ends=motion.created + motion.seconds,
        closed=motion.created + motion.seconds,
        summary={},
    )
    evidence = [(statements.accused(proof), proof) for proof in found.evidence]
    closes = {close.node: close for close in found.closes}
    return stored, Held(None, {}, closes, evidence, {}, owners=owners)


def _map(owners: Sequence[Owners], motion: Motion, name: bytes, roster: Roster) -> OwnerMap | None:
    """The map of a motion with check rows, which says which of its rows are the asker's; checked."""
    if not owners:
        return None
    opened, asker = owners[0], roster[motion.asker]
    if len(owners) > 1 or motion.review is None or (opened.motion, opened.node) != (name, motion.asker):
        raise ValueError("it has a map of owners that is not that of its motion")
    if owners_digest(opened.seed, opened.owned) != motion.review.owners:
        raise ValueError("its map of owners is not the one that the header of the motion names")
    if not statements.holds(asker.public_key, opened.signature, statements.opens_owners(opened)):
        raise ValueError(f"its map of owners was not signed by the asker, {asker.name}")
    return read_map(opened.seed, motion.review, opened.owned, motion.inputs, len(roster))


def _encoded(certificate: Certificate) -> bytes:
    """The one way to write it. What is not signed, that a message wants one in return, is not told."""
    evidence = [_without_want(proof) for proof in certificate.evidence]
    return _ENCODER.encode(msgspec.structs.replace(certificate, evidence=evidence)) + b"\n"


def _without_want(proof: Evidence) -> Evidence:
    plain = {
        field: msgspec.structs.replace(part, want=False)
        for field, part in msgspec.structs.asdict(proof).items()
        if isinstance(part, Commit | Reveal)
    }
    return msgspec.structs.replace(proof, **plain)


def _in_order(
    items: Sequence[_Item], place_of: Callable[[_Item], int], roster: Roster, what: str
) -> Sequence[_Item]:
    """The items, if each is of another participant of the roster and they are in its order."""
    places = [place_of(item) for item in items]
    if places != sorted(set(places)) or not all(place < len(roster) for place in places):
        raise ValueError(f"its {what} are not of different participants of the roster, in its order")
    return items


def has_certificate(motion: Motion) -> bool:
    """Whether there is a certificate of a motion: there is none of one by trust alone."""
    return not motion.trust


def _refuse_trust(motion: Motion) -> None:
    if not has_certificate(motion):
        raise ValueError(
            "a motion with trust has no certificate: each node decides for itself, by its own trust"
        )
