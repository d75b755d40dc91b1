"""Quorum sets and statements of federated motions as they are sent: one encoding each, all others refused.

A statement is packed as: the number of inputs (four bytes, big-endian), of labels (one), of counters (one,
the last at which anything is said), then three vectors of votes (``packing.py``): what is said, by phase,
counter and input; what is wanted, by input; the counters that the node is at, as votes among 17.
"""

from __future__ import annotations

import struct
from typing import Final

import numpy as np

from folkmoot.arrays import Array, Colours
from folkmoot.federated.agreement import MOST_COUNTERS, Statement
from folkmoot.federated.ballots import COMMITTED, NONE, PHASES
from folkmoot.federated.quorum_set import QuorumSet
from folkmoot.network.wire.messages import Ballot, SetForm
from folkmoot.network.wire.packing import pack, packed_size, unpack

_HEAD: Final = struct.Struct(">IBB")
_AT: Final = MOST_COUNTERS + 1  # counters that a node may be at, 0 among them
NOTHING: Final = "nothing said"
DECIDED: Final = "decided"


def form_of(quorum_set: QuorumSet) -> SetForm:
    """A quorum set as it is sent: members by name, inner sets by their content."""
    inner = sorted((form_of(part) for part in quorum_set.inner), key=_content)
    return SetForm(quorum_set.threshold, tuple(sorted(quorum_set.members)), tuple(inner))


def _content(form: SetForm) -> tuple[int, tuple[str, ...], tuple[object, ...]]:
    return form.threshold, form.members, tuple(map(_content, form.inner))


def read_set(form: SetForm) -> QuorumSet:
    """The quorum set that was sent; ValueError unless it is one, in the one right order."""
    found = _read(form, 1)
    if form_of(found) != form:
        raise ValueError("the members of a quorum set must be sorted")
    return found


def _read(form: SetForm, depth: int) -> QuorumSet:
    if depth > 4:
        raise ValueError("a quorum set may be nested 4 levels deep")
    return QuorumSet(form.threshold, form.members, [_read(part, depth + 1) for part in form.inner])


def pack_statement(statement: Statement, classes: int) -> bytes:
    """A statement as bytes."""
    said = np.asarray(statement.said)
    used = np.flatnonzero((said != NONE).any(axis=(0, 2)))
    counters = int(used[-1]) + 1 if used.size else 0
    inputs = said.shape[2]
    return b"".join((
        _HEAD.pack(inputs, classes, counters),
        pack(said[:, :counters].ravel(), classes),
        pack(np.asarray(statement.wanted), classes),
        pack(np.asarray(statement.counter).astype(np.int8), _AT),
    ))  # fmt: skip


def unpack_statement(data: bytes, quorum_set: bytes) -> tuple[Statement, int]:
    """The statement in ``data``, and how many labels it knows; ValueError unless it is packed as it must be.

    ``quorum_set`` is the hash of its signer's set.
    """
    if len(data) < _HEAD.size:
        raise ValueError(f"a statement must have a head of {_HEAD.size} bytes: got {len(data)}")
    inputs, classes, counters = _HEAD.unpack_from(data)
    if not (inputs and 2 <= classes <= 127 and counters <= MOST_COUNTERS):
        raise ValueError(f"a statement must be about inputs and labels, at {MOST_COUNTERS} counters or fewer")
    rest = memoryview(data)[_HEAD.size :]
    said, rest = _piece(rest, len(PHASES) * counters * inputs, classes)
    wanted, rest = _piece(rest, inputs, classes)
    at, rest = _piece(rest, inputs, _AT)
    if len(rest):
        raise ValueError(f"a statement must end with its counters: {len(rest)} bytes follow")
    labels = said.reshape(len(PHASES), counters, inputs)
    if counters and (labels[:, -1] == NONE).all():
        raise ValueError("a statement must have no counters at which nothing is said")
    if (at < 0).any():
        raise ValueError("a statement must be at some counter of each input")
    return Statement(quorum_set.hex(), labels, at.astype(np.int64), wanted), classes


def _piece(data: memoryview, votes: int, classes: int) -> tuple[Colours, memoryview]:
    """The first vector of so many votes, and what follows it."""
    size = packed_size(votes, classes, open_votes=bool(len(data) and data[0] == 1))
    if len(data) < size:
        raise ValueError(f"a statement is too short: {size - len(data)} bytes are missing")
    return unpack(bytes(data[:size]), votes, classes), data[size:]


def statement_bytes(inputs: int, classes: int) -> int:
    """Bytes of a packed statement, at the most."""
    said = packed_size(len(PHASES) * MOST_COUNTERS * inputs, classes, open_votes=True)
    wanted = packed_size(inputs, classes, open_votes=True)
    return _HEAD.size + said + wanted + packed_size(inputs, _AT, open_votes=False)


def contradict(one: Ballot, other: Ballot) -> bool:
    """Whether two ballots of one node exclude each other; ValueError if one of them cannot be read.

    What a node has said stays said, and its counters only grow. So a ballot with a higher number says all
    that one with a lower says, and of one number there is one ballot.
    """
    if one.number == other.number:
        return one.ballots != other.ballots
    earlier, later = sorted((one, other), key=lambda each: each.number)
    before, labels = unpack_statement(earlier.ballots, earlier.quorum_set)
    after, known = unpack_statement(later.ballots, later.quorum_set)
    if (labels, len(before.counter)) != (known, len(after.counter)):
        return True  # about other inputs or labels than those of the motion
    return takes_back(before, after)


def takes_back(before: Statement, after: Statement) -> bool:
    """Whether the later of two statements lacks, or changes, something that the earlier says."""
    said = _padded(after.said)
    earlier = _padded(before.said)
    lost = (earlier != NONE) & (said != earlier)
    return bool(lost.any() or (after.counter < before.counter).any())


def _padded(said: Colours) -> Colours:
    whole: Colours = np.full((len(PHASES), MOST_COUNTERS, said.shape[2]), NONE, dtype=np.int8)
    whole[:, : said.shape[1]] = said
    return whole


def committed_in(statement: Statement) -> Colours:
    """(counter, input): what a statement accepts as committed, -1 for nothing."""
    committed: Colours = _padded(statement.said)[COMMITTED]
    return committed


def phases_of(statement: Statement, decided: Array) -> list[str]:
    """How far a node is with each input, in a word: the last phase of its last ballot, or that it decided."""
    said = _padded(statement.said) != NONE  # (phase, counter, input)
    spoken = said.any(axis=0)
    last = MOST_COUNTERS - 1 - spoken[::-1].argmax(axis=0)
    at = said[:, last, np.arange(said.shape[2])]
    phase = len(PHASES) - 1 - at[::-1].argmax(axis=0)
    words = [PHASES[each] for each in phase.tolist()]
    there = spoken.any(axis=0).tolist()
    settled = (np.asarray(decided) != NONE).tolist()
    return [
        DECIDED if done else word if said_so else NOTHING
        for word, said_so, done in zip(words, there, settled, strict=True)
    ]
