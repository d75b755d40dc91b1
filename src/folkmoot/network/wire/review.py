"""Check rows in a motion: which rows of the batch are the asker's, and whose the others are.

The asker's rows come first, then those that it kept of each contributor. A secret seed shuffles them:
SHAKE-256 of the seed gives eight bytes a row, and rows stand in the order of these. The header holds the
digest of the seed and of what the contributors signed. So whoever is told both later knows the whole map,
and nobody can be told another one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from folkmoot.arrays import Array, Colours, Ints
from folkmoot.network.wire.forms import Answers, Form, LabelForm, NumberForm, form_of
from folkmoot.network.wire.messages import Digest, Owned
from folkmoot.votes import UNCOLOURED

_PREFIX: Final = b"folkmoot/2 owners\0"
_ENCODER: Final = msgspec.msgpack.Encoder()


class Review(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What the header of a motion says of rows whose truth becomes known.

    ``asked`` rows of the batch are the asker's, the others are check rows; 0: there are none, and all are the
    asker's. ``learnt``: nodes also learn from truths that they were told of former motions.
    """

    asked: int = 0
    invite: bytes = b""  # the invitation to which check rows were sent
    owners: bytes = b""  # the digest of the map of owners
    learnt: bool = False

    def check(self, inputs: int) -> None:
        """ValueError, with what is wrong, unless it can be that of so many rows."""
        if not self.asked:
            if self.invite or self.owners or not self.learnt:
                raise ValueError("a motion without check rows must name no owners, and learn from truths")
            return
        if not 1 <= self.asked <= inputs:
            raise ValueError(f"the asker's rows must be 1 to {inputs}, all of them: got {self.asked}")
        if len(self.invite) != 32 or len(self.owners) != 32:
            raise ValueError("a motion with check rows must name invitation and owners in 32 bytes each")


def claims_form(answers: Answers, rows: int, classes: int) -> LabelForm | NumberForm:
    """What a contributor says of its check rows: numbers where these are asked for, else labels."""
    return NumberForm(rows) if answers == "numbers" else LabelForm(rows, classes)


def to_be_invited(asked: int, *, learnt: bool) -> Review:
    """What stands in the header of a motion while check rows are invited, which are not there yet."""
    return Review(asked, bytes(32), bytes(32), learnt)


class CheckedForm(Form):
    """Answers to all rows at first; to the asker's rows in the talk and in closes.

    Where probabilities are handed in, the talk is about labels: each makes these of all it was told.
    """

    def __init__(self, answers: Answers, asked: int, rows: int, classes: int) -> None:
        super().__init__(asked)
        self._whole = form_of(answers, rows, classes)
        self._held = claims_form(answers, asked, classes)

    def nothing(self, rows: int) -> Array:
        """No first vote."""
        return self._whole.nothing(rows)

    def pack_first(self, first: Array) -> bytes:
        """Of all rows."""
        return self._whole.pack_first(first)

    def unpack_first(self, data: bytes) -> Array:
        """Of all rows."""
        return self._whole.unpack_first(data)

    def first_colours(self, first: Array) -> Colours:
        """Of rows that are picked already."""
        return self._whole.first_colours(first)

    def opening(self, first: Array) -> Array:  # noqa: ARG002 (which of them are asked is not known yet)
        """Nothing: before the map of owners is opened nobody knows which rows are talked about."""
        return self._held.nothing(self.inputs)

    def pack(self, held: Array) -> bytes:
        """Of the asker's rows."""
        return self._held.pack(held)

    def unpack(self, data: bytes) -> Array:
        """Of the asker's rows."""
        return self._held.unpack(data)

    @property
    def first_bytes(self) -> int:
        """Of all rows."""
        return self._whole.first_bytes

    @property
    def held_bytes(self) -> int:
        """Of the asker's rows."""
        return self._held.held_bytes

    def colours(self, held: Array) -> Colours:
        """Of the asker's rows."""
        return self._held.colours(held)

    def word(self, held: Array, i: int, labels: Sequence[str]) -> str | None:
        """Of one of the asker's rows."""
        return self._held.word(held, i, labels)


@dataclass(frozen=True, eq=False)
class OwnerMap:
    """Whose row each row of a batch is.

    Parameters
    ----------
    asked : ndarray of int, shape (input,)
        Where the asker's rows stand in the batch.
    rows : dict
        By contributor: where its rows stand, and which of those it sent they are.

    Examples
    --------
    >>> from folkmoot.network.wire.review import owner_map
    >>> owner_map(bytes(32), 3, []).asked.tolist()
    [1, 2, 0]
    """

    asked: Ints
    rows: dict[int, tuple[Ints, Ints]]

    def of_asker(self, first: Array) -> Array:
        """The asker's rows of votes (row, ...), in its own order."""
        return np.asarray(first[self.asked])


def owners_digest(seed: bytes, owned: Sequence[Owned]) -> Digest:
    """What the header says of the map that is opened later."""
    return hashlib.sha256(_PREFIX + seed + _ENCODER.encode(list(owned))).digest()


def shuffled(seed: bytes, rows: int) -> Ints:
    """(row,): where each row stands in the batch."""
    keys = np.frombuffer(hashlib.shake_256(seed).digest(8 * rows), dtype=">u8")
    order = np.argsort(keys, kind="stable")  # by place: which row stands there
    return np.argsort(order, kind="stable")


def kept_rows(owned: Owned) -> Ints:
    """Which of the rows that it sent are in the batch."""
    return np.setdiff1d(np.arange(owned.contribution.rows), np.array(owned.dropped, dtype=np.int64))


def owner_map(seed: bytes, asked: int, owned: Sequence[Owned]) -> OwnerMap:
    """The map of a batch: the asker's rows, then what is kept of each contributor, shuffled."""
    kept = [kept_rows(each) for each in owned]
    where = shuffled(seed, asked + sum(map(len, kept)))
    rows, start = {}, asked
    for each, which in zip(owned, kept, strict=True):
        rows[each.contribution.node] = (where[start : start + len(which)], which)
        start += len(which)
    return OwnerMap(where[:asked], rows)


def read_map(seed: bytes, review: Review, owned: Sequence[Owned], inputs: int, n: int) -> OwnerMap:
    """The map in what an asker opened; ValueError if it cannot be that of so many rows and participants."""
    nodes = [each.contribution.node for each in owned]
    if nodes != sorted(set(nodes)) or not all(node < n for node in nodes):
        raise ValueError("contributors must be different participants, in their order")
    for each in owned:
        if each.contribution.rows > inputs or list(each.dropped) != sorted(set(each.dropped)):
            raise ValueError("rows of a contributor must be numbered within those that it sent")
        if each.dropped and each.dropped[-1] >= each.contribution.rows:
            raise ValueError("rows of a contributor must be numbered within those that it sent")
    total = review.asked + sum(each.contribution.rows - len(each.dropped) for each in owned)
    if total != inputs:
        raise ValueError(f"the rows of all owners must be {inputs}, those of the batch: got {total}")
    return owner_map(seed, review.asked, owned)


def first_of_asker(first: Array, owners: OwnerMap | None, review: Review | None) -> Array:
    """First votes (row, ...) on the asker's rows, in its own order; none while the map is not known."""
    if review is None or not review.asked:
        return first
    if owners is None:
        none = np.nan if first.dtype.kind == "f" else UNCOLOURED
        return np.full((review.asked, *first.shape[1:]), none, dtype=first.dtype)
    return owners.of_asker(first)
