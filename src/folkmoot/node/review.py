"""Validation rows: labelled rows of members among the inputs, told from these only after votes are fixed.

An invitation is a poll whose ballots are rows, sealed for the asker. A reveal names its member,
so open rows would tell what is no input. The asker shuffles them among its inputs and puts the motion. With
its first votes it reveals the order, and each owner the labels of its rows. Commitments bind both together
with the votes: whoever has seen a vote can choose no label any more.

A row counts as validation row if the asker's order gives it to a member and that member names its label.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

import msgspec
import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from folkmoot.arrays import Array, Ints
from folkmoot.node.ballots import Ballots, Choices, ballots_by
from folkmoot.node.session.header import MOST_INPUTS, Header
from folkmoot.node.session.terms import MOST_ROWS

_KEY: Final = 32
_NONCE: Final = bytes(12)  # a key is used once
SEALED_MORE: Final = 48  # bytes of a sealed text beyond the text: a key, and an authentication tag
_COUNT: Final = 2  # bytes that say how many of the rows are there
_SEED: Final = 32

Spot: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=MOST_INPUTS)]


class FirstVotes(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A member's ballot where validation rows are among the inputs.

    ``places`` are those of its own rows, and ``truths`` their labels or numbers. ``order`` is of the asker:
    the seed by which it shuffled, and how many rows there are of each member.
    """

    votes: bytes = b""
    places: Annotated[tuple[Spot, ...], msgspec.Meta(max_length=MOST_ROWS)] = ()
    truths: bytes = b""
    order: bytes = b""

    def check(self, header: Header, n: int, member: int) -> None:
        """ValueError unless it is a ballot of this member."""
        ballots_of(header, 0).unpack(self.votes)
        if list(self.places) != sorted(set(self.places)) or max(self.places, default=0) >= header.inputs:
            raise ValueError(f"rows must be different ones of {header.inputs} inputs, in order")
        if len(self.places) > header.terms.rows:
            raise ValueError(f"a member must name at most {header.terms.rows} rows: got {len(self.places)}")
        form = truths_of(header, len(self.places))
        if bool(self.places) != bool(self.truths) or not form.complete(self.truths):
            raise ValueError("each row must have its label, and each label its row")
        if (member == header.asker) != bool(self.order):
            raise ValueError("the asker must tell the order of the inputs, and nobody else")
        if self.order:
            read_order(header, n, self.order)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(FirstVotes)


def ballots_of(header: Header, poll: int) -> Ballots:
    """How votes of a poll are written. Final votes on probabilities are labels, on the asker's inputs.

    The answer of a motion is written as final votes; of texts, as one member's proposals. Final votes on
    texts are ``Choices``.
    """
    if poll == 0:
        return ballots_by(header.terms, header.inputs)
    return ballots_by(header.terms, header.asked, "labels" if header.terms.labels else None)


def truths_of(header: Header, rows: int) -> Ballots:
    """How labels or numbers of validation rows are written."""
    return ballots_by(header.terms, rows, "labels" if header.terms.labels else None)


def judge_of(header: Header, poll: int, n: int) -> Callable[[int, bytes], bool]:
    """A function that says whether bytes are a ballot of a member. No bytes at all are one."""
    if header.invites:
        size = SEALED_MORE + rows_size(header)
        return lambda _, data: len(data) in (0, size)
    final_on_texts = poll == 1 and header.terms.answers == "text"
    form = Choices(header.inputs) if final_on_texts else ballots_of(header, poll)

    def is_ballot(member: int, data: bytes) -> bool:
        try:
            if poll == 0 and header.rows:
                read_first(data).check(header, n, member)
            else:
                form.unpack(data)
        except ValueError:
            return not data
        return True

    return is_ballot


def read_first(data: bytes) -> FirstVotes:
    """A ballot with rows; ValueError if it is not encoded in the one right way."""
    if not data:
        return FirstVotes()
    found = _DECODER.decode(data)
    if _ENCODER.encode(found) != data:
        raise ValueError("a ballot must be encoded in the one right way")
    return found


# The order of the inputs


def shuffled(seed: bytes, rows: int) -> Ints:
    """(row,): where each row stands, by eight bytes of SHAKE-256 each."""
    keys = np.frombuffer(hashlib.shake_256(b"folkmoot/3 order\n" + seed).digest(8 * rows), dtype=">u8")
    return np.argsort(np.argsort(keys, kind="stable"), kind="stable")


def read_order(header: Header, n: int, order: bytes) -> tuple[Ints, Ints]:
    """Places of the asker's inputs, and the owner of each place (input,): -1 is the asker's question."""
    counts = np.frombuffer(order[_SEED:], "<u2").astype(np.int64) if len(order) == _SEED + 2 * n else None
    if counts is None or counts.sum() != header.rows or counts.max() > header.terms.rows:
        raise ValueError(
            f"an order must be a seed of {_SEED} bytes, and how many of {header.rows} rows are whose"
        )
    where = shuffled(order[:_SEED], header.inputs)
    owner = np.full(header.inputs, -1, dtype=np.int64)
    owner[where[header.asked :]] = np.repeat(np.arange(n), counts)
    return where[: header.asked], owner


# What members do


def rows_size(header: Header) -> int:
    """Bytes of the rows that a member shows, before they are sealed: the same however many there are."""
    return _COUNT + header.inputs * header.row_bytes


def pack_rows(header: Header, rows: Array) -> bytes:
    """Rows to show, in the header's dtype, as the text that is sealed."""
    if len(rows) > header.inputs:
        raise ValueError(f"at most {header.inputs} rows can be shown: got {len(rows)}")
    data = np.ascontiguousarray(rows, dtype=header.dtype).reshape(len(rows), header.columns).tobytes()
    return (len(rows).to_bytes(_COUNT, "little") + data).ljust(rows_size(header), b"\0")


def unpack_rows(header: Header, text: bytes) -> Array:
    """The rows in a text; ValueError if there are none."""
    many = int.from_bytes(text[:_COUNT], "little")
    end = _COUNT + many * header.row_bytes
    if len(text) != rows_size(header) or many > header.inputs or text[end:].strip(b"\0"):
        raise ValueError("rows must be as many as are said, and end with zeros")
    return np.frombuffer(text[_COUNT:end], header.dtype).reshape(many, header.columns)


def mixed(inputs: Array, shown: Mapping[int, Array], n: int, seed: bytes) -> tuple[Array, bytes]:
    """The asker's inputs among the rows of members, and the order, which stays secret until votes are fixed.

    A row that is not new, an input or another's, is left out: else its owner's label would tell on it.
    """
    seen = {row.tobytes() for row in inputs}
    kept: list[Array] = []
    counts = np.zeros(n, dtype="<u2")
    for member in sorted(shown):
        for row in shown[member].astype(inputs.dtype):
            if row.tobytes() not in seen:
                seen.add(row.tobytes())
                kept.append(row)
                counts[member] += 1
    together = np.concatenate([inputs, np.array(kept, dtype=inputs.dtype).reshape(-1, inputs.shape[1])])
    batch = np.empty_like(together)
    batch[shuffled(seed, len(together))] = together
    return batch, seed + counts.tobytes()


def first_ballot(header: Header, votes: Ints, own: Mapping[int, int], order: bytes = b"") -> bytes:
    """First votes on all inputs, the labels or numbers of own rows by place, and the asker's order."""
    places = tuple(sorted(own))
    truths = np.array([own[place] for place in places], dtype=np.int64)
    packed = truths_of(header, len(places)).pack(truths) if places else b""
    return _ENCODER.encode(FirstVotes(ballots_of(header, 0).pack(votes), places, packed, order))


def own_rows(batch: Array, rows: Array, truths: Sequence[int]) -> dict[int, int]:
    """Places of rows among the inputs, with their labels or numbers: for ``first_ballot``."""
    known = {row.tobytes(): truth for row, truth in zip(rows.astype(batch.dtype), truths, strict=True)}
    found = ((place, known.get(row.tobytes())) for place, row in enumerate(batch))
    return {place: truth for place, truth in found if truth is not None}


# Sealed rows, which only the asker of an invitation reads: X25519, HKDF (RFC 5869), ChaCha20-Poly1305. The
# key pair belongs to one invitation. The text is bound to motion and member: nobody can show it again, or as
# its own.


def seal_of(secret: bytes) -> bytes:
    """The public key of 32 secret random bytes: what stands in the header of an invitation."""
    return X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def sealed(text: bytes, seal: bytes, motion: bytes, member: int, drawn: bytes) -> bytes:
    """A text that only the holder of the seal's secret reads; ``drawn`` are 32 random bytes."""
    own = X25519PrivateKey.from_private_bytes(drawn)
    shared = own.exchange(X25519PublicKey.from_public_bytes(seal))
    public = own.public_key().public_bytes_raw()
    where = _where(motion, member)
    return public + ChaCha20Poly1305(_key(shared, seal, public)).encrypt(_NONCE, text, where)


def unsealed(data: bytes, secret: bytes, motion: bytes, member: int) -> bytes:
    """The text; ValueError if this member did not seal it for this motion."""
    public = data[:_KEY]
    try:
        shared = X25519PrivateKey.from_private_bytes(secret).exchange(
            X25519PublicKey.from_public_bytes(public)
        )
        key = _key(shared, seal_of(secret), public)
        return ChaCha20Poly1305(key).decrypt(_NONCE, data[_KEY:], _where(motion, member))
    except (InvalidTag, ValueError):
        raise ValueError(f"the rows of member {member} must be sealed for this motion") from None


def _key(shared: bytes, seal: bytes, public: bytes) -> bytes:
    return HKDF(SHA256(), _KEY, salt=None, info=b"folkmoot/3 seal\n" + seal + public).derive(shared)


def _where(motion: bytes, member: int) -> bytes:
    return motion + member.to_bytes(4, "big")


# What a table says


@dataclass(frozen=True, eq=False)
class Reviewed:
    """A table of first votes, taken apart."""

    form: Ballots  # how the votes are written
    # (member, asked input, ...): votes on the asker's inputs, in its own order. None if the asker did
    # not reveal the order: then nobody knows which they are.
    asked: Ints | None
    rows: Ints  # (member, row, ...): votes on validation rows
    # What its owner says of each row, and whose it is.
    truth: Ints
    owner: Ints
    # Where the asker's inputs, and validation rows, stand among all inputs.
    asked_at: Ints | None = None
    rows_at: Ints | None = None


def reviewed(header: Header, table: Mapping[int, bytes], n: int) -> Reviewed:
    """The votes of a first table: on inputs, and on validation rows whose owners named their labels."""
    form = ballots_of(header, 0)
    none = np.zeros(0, dtype=np.int64)
    if not header.rows:
        votes = form.table(dict(table), n)
        return Reviewed(form, votes, votes[:, :0], none, none)
    ballots = {member: read_first(data) for member, data in table.items()}
    votes = form.table({member: ballot.votes for member, ballot in ballots.items()}, n)
    order = ballots[header.asker].order if header.asker in ballots else b""
    if not order:
        return Reviewed(form, None, votes[:, :0], none, none)
    asked, whose = read_order(header, n, order)
    truth = np.zeros(header.inputs, dtype=np.int64)
    named = np.full(header.inputs, -1, dtype=np.int64)
    for member, ballot in sorted(ballots.items()):
        places = np.array(ballot.places, dtype=np.int64)
        mine = whose[places] == member
        said = truths_of(header, len(places)).unpack(ballot.truths)
        truth[places[mine]], named[places[mine]] = said[mine], member
    rows = np.flatnonzero(named >= 0)
    return Reviewed(form, votes[:, asked], votes[:, rows], truth[rows], whose[rows], asked, rows)
