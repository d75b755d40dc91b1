"""Check rows that a node shows: own labelled rows, each once, to askers whom its policy allows.

A row that was opened in one motion is known to all who took part in it, and could be answered well by liars
in the next. So no row is shown twice: the database remembers how far a node has come.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.aggregation import LARGEST
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.network.session.minutes import Seat
from folkmoot.network.session.opening import ShownRows
from folkmoot.network.storage.storage import Storage
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.invitation import ROWS_BYTES, Invitation
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.review import claims_form
from folkmoot.node.wire.schema import Alignment, MismatchError, Schema

LEAST: Final = 2  # rows: with fewer nobody can begin to learn
MOST_KEPT: Final = 64  # invitations that were answered
NONE_SHOWN: Final = "it shows no check rows ([policy] check_rows is 0)"
NO_ROWS: Final = "it has no labelled rows to show: its holdout must be rows with labels"
ALL_SHOWN: Final = "it has no check rows left that it has not shown before: it needs a new holdout"


def as_they_come(schema: Schema, columns: int) -> Alignment:
    """Columns as they come, whatever they are called: for models that do not mind."""
    low, high = np.full(columns, -np.inf), np.full(columns, np.inf)
    return Alignment(None, low, high, tuple(column.name for column in schema), "")


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows that a node holds out, in the order of its model's columns, with their labels.

    Parameters
    ----------
    rows : ndarray of float, shape (row, column)
        The inputs.
    labels : sequence of str
        Their labels.
    fit : callable
        Says how the columns of others' inputs become those of the model; MismatchError if they cannot.
    classes : bool
        Whether the labels are those of a classifier, and no numbers, though they may look like some.
    """

    rows: Floats
    labels: Sequence[str]
    fit: Callable[[Schema, int], Alignment] = as_they_come
    classes: bool = False

    @property
    def digest(self) -> str:
        """By which it is remembered how many of them were shown."""
        what = np.ascontiguousarray(self.rows, dtype="<f8").tobytes() + "\0".join(self.labels).encode()
        return hashlib.sha256(what).hexdigest()

    def in_turn(self) -> Ints:
        """An order in which the classes come in turn, whatever part of it is taken."""
        drawn = np.random.default_rng(int(self.digest[:16], 16)).permutation(len(self.labels))
        labels = np.array(list(self.labels))[drawn]
        _, which, many = np.unique(labels, return_inverse=True, return_counts=True)
        turn = np.empty(len(drawn), dtype=np.int64)
        by_label = np.argsort(which, kind="stable")
        turn[by_label] = np.arange(len(drawn)) - np.repeat(np.cumsum(many) - many, many)
        return drawn[np.argsort(turn, kind="stable")]

    def some(self, which: Ints) -> LabelledRows:
        """Only these rows."""
        labels = [self.labels[i] for i in which.tolist()]
        return LabelledRows(self.rows[which], labels, self.fit, self.classes)

    def arranged(self, wanted: Invitation) -> tuple[Array, Ints]:
        """The rows as an invitation wants them, and which can be sent: exact, within range, known labels."""
        if self.classes and wanted.answers == "numbers":
            raise MismatchError("its check rows have labels, not numbers", "")
        fit = self.fit(wanted.schema, wanted.columns)
        if self.rows.shape[1] != wanted.columns:
            raise MismatchError("the inputs do not have the columns that its model takes", "")
        given = np.empty_like(self.rows)
        given[:, slice(None) if fit.order is None else fit.order] = self.rows
        with np.errstate(all="ignore"):
            cast = given.astype(wanted.dtype)
            back = cast.astype(np.float64)
        whole = np.isfinite(back) == np.isfinite(given) if cast.dtype.kind == "f" else back == given
        fine = whole.all(axis=1) & ~fit.outside(self.rows).any(axis=1)
        fine &= self._known(wanted)
        return np.ascontiguousarray(cast), np.flatnonzero(fine)

    def _known(self, wanted: Invitation) -> Bools:
        """(row,): whether its label can be told: it is one of those asked for, or a number."""
        if wanted.answers == "labels":
            return np.isin(np.array(list(self.labels)), wanted.labels)
        return np.array([abs(number_of(label)) <= LARGEST for label in self.labels])


def number_of(label: str) -> float:
    """The number that a label is; NaN if it is none."""
    try:
        return float(label)
    except ValueError:
        return math.nan


class Contributor:
    """What one node shows of its rows, and what it has shown for which invitation."""

    def __init__(
        self,
        seat: Seat,
        storage: Storage,
        rows: LabelledRows | None,
        most: int,
        rng: random.Random,
    ) -> None:
        """``most`` rows are shown in a motion."""
        self._seat, self._storage, self._rows, self._most, self._rng = seat, storage, rows, most, rng
        # Made once: there may be many rows, and an invitation is answered between two frames of others.
        shows = rows is not None and most > 0
        self._order = rows.in_turn() if shows and rows is not None else np.zeros(0, dtype=np.int64)
        self._key = f"check rows shown {rows.digest}" if shows and rows is not None else ""
        self._given: dict[bytes, tuple[m.Rows, ShownRows]] = {}

    def knows(self, wanted: Invitation) -> bool:
        """Whether rows were chosen for an invitation already."""
        return wanted.name in self._given

    def rows_for(self, wanted: Invitation) -> m.Rows:
        """The rows for an invitation, the same if it comes again; MismatchError, with why, if there are none.

        They are noted as shown before they are given away.
        """
        name = wanted.name
        if name not in self._given:
            self._given[name] = self._choose(wanted, name)
            if len(self._given) > MOST_KEPT:
                del self._given[next(iter(self._given))]
        return self._given[name][0]

    def shown_for(self, motion: Motion) -> ShownRows | None:
        """The rows that this node has sent for a motion, once: the next motion gets none of them."""
        if motion.review is None:
            return None
        given = self._given.pop(motion.review.invite, None)
        return None if given is None else given[1]

    def _choose(self, wanted: Invitation, name: bytes) -> tuple[m.Rows, ShownRows]:
        if not self._most:
            raise MismatchError(NONE_SHOWN, "")
        if self._rows is None:
            raise MismatchError(NO_ROWS, "")
        most = min(self._most, ROWS_BYTES // max(1, wanted.row_bytes))
        begun = self._storage.database.number(self._key)
        taken, picked, labels = begun, dict[bytes, Array](), list[str]()
        while len(picked) < most and taken < len(self._order):
            part = self._rows.some(self._order[taken : taken + most])
            cast, fine = part.arranged(wanted)
            able = set(fine.tolist())
            for i in range(len(cast)):
                if len(picked) == most:
                    break
                taken += 1
                if i in able and cast[i].tobytes() not in picked:
                    picked[cast[i].tobytes()] = cast[i]
                    labels.append(part.labels[i])
        if len(picked) < LEAST:
            raise MismatchError(ALL_SHOWN if begun else NO_ROWS, "")
        self._storage.database.keep_number(self._key, taken)
        return self._signed(wanted, name, np.stack([*picked.values()]), labels)

    def _signed(
        self, wanted: Invitation, name: bytes, rows: Array, labels: Sequence[str]
    ) -> tuple[m.Rows, ShownRows]:
        seat, form = self._seat, claims_form(wanted.answers, len(labels), len(wanted.labels))
        told, salt, data = (
            form.pack(self._claims(labels, wanted.labels)),
            self._rng.randbytes(32),
            rows.tobytes(),
        )
        commitment = statements.commitment_to(name, seat.fingerprints[seat.place], salt, told)
        digest = hashlib.sha256(data).digest()
        bare = m.Contribution(seat.place, len(rows), digest, commitment, bytes(64))
        signature = seat.key.sign(statements.contributed(name, bare))
        signed = m.Contribution(seat.place, len(rows), digest, commitment, signature)
        places = {rows[i].tobytes(): i for i in range(len(rows))}
        return m.Rows(name, data, signed), ShownRows(signed, salt, told, places)

    def _claims(self, labels: Sequence[str], known: Sequence[str]) -> Array:
        """What is said of check rows: colours, or numbers (row, 1) if no labels are known."""
        if known:
            return np.array([known.index(label) for label in labels], dtype=np.int8)
        return np.array([[number_of(label)] for label in labels])
