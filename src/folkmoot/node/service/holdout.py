"""Labelled rows that a node held out: how good its model is; some may be shown as validation rows.

A row that was opened in one motion is known to all who took part in it. Liars could answer it well in the
next. So no row is shown twice: the database remembers how far a node has come, before it says so. Rows are
shown to askers whom the node's policy allows.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from folkmoot.aggregation.rule import LARGEST
from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.files.array_files import read_arrays
from folkmoot.files.tabular import open_table, shortened
from folkmoot.models.labels import as_labels
from folkmoot.node.ballots import on_grid
from folkmoot.node.review import pack_rows, sealed
from folkmoot.node.service.models import Model
from folkmoot.node.session.header import Header
from folkmoot.node.wire.schema import Alignment, Column, MismatchError, Schema

if TYPE_CHECKING:
    from folkmoot.node.service.context import NodeContext

LABEL: Final = "label"  # the column of a table that holds the truth


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows in the order of the model's columns, with their labels."""

    rows: Floats  # the inputs
    labels: Sequence[str]  # their labels, or numbers as text
    # Says how the columns of others' inputs become those of the model; MismatchError if they cannot.
    fit: Callable[[Schema, int], Alignment]
    # Whether the labels are those of a classifier, and no numbers, though they may look like some.
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

    def arranged(self, wanted: Header) -> tuple[Array, Ints]:
        """The rows as an invitation wants them, and which can be sent: exact, within range, known labels."""
        numbers = wanted.terms.answers == "numbers"
        if self.classes and numbers:
            raise MismatchError("its validation rows have labels, not numbers", "")
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
        fine &= self._known(wanted, numbers=numbers)
        return np.ascontiguousarray(cast), np.flatnonzero(fine)

    def _known(self, wanted: Header, *, numbers: bool) -> Bools:
        """(row,): whether its label can be told: it is one of those asked for, or a number."""
        if not numbers:
            return np.isin(np.array(list(self.labels)), wanted.terms.labels)
        return np.array([abs(number_of(label)) <= LARGEST for label in self.labels])


def number_of(label: str) -> float:
    """The number that a label is; NaN if it is none."""
    try:
        return float(label)
    except ValueError:
        return math.nan


class Holdout:
    """The node's answers with their truth, and the rows, if they are known."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = (), rows: LabelledRows | None = None) -> None:
        """``pairs`` are (truth, answer)."""
        self.pairs = list(pairs)
        self.rows = rows  # of which some may be shown; None if only answers are known

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def right(self) -> int:
        """How often the model was right."""
        return sum(truth == said for truth, said in self.pairs)


def read_holdout(path: Path, model: Model) -> Holdout:
    """The held-out rows in a file: labelled rows, which the model answers now, or labels and answers.

    Rows are an .npz file with X and y, or a table with a column ``label``. A model that has seen them would
    answer them all too well. So one that was fitted again on all rows is given the answers from before: an
    .npz file with y and answers, or a table with the columns ``label`` and ``answer`` alone.
    """
    names: list[str] = []
    if path.suffix.lower() == ".npz":
        rows, truths, answers = _read_npz(path)
    else:
        rows, truths, answers, names = _read_table(path)
    if answers is None:
        if len(rows) != len(truths) or not len(rows):
            raise ValueError(
                f"{path} must hold a label for every row: got {len(rows)} rows, {len(truths)} labels"
            )
        if model.columns is not None and rows.shape[1] != model.columns:
            raise ValueError(
                f"{path} must have the {model.columns} columns of the model, and the label: "
                f"got {rows.shape[1]}"
            )
        try:
            fit = model.fit(tuple(Column(name) for name in names), rows.shape[1])
        except MismatchError as error:
            raise ValueError(f"{path} must have the columns of the model, and the label: {error}") from None
        arranged = fit.arranged(rows)
        shown = LabelledRows(arranged.astype(np.float64), truths, model.fit, model.labels is not None)
        said = ["" if each is None else each for each in model.predict(arranged)]  # no label is ""
        return Holdout(zip(truths, said, strict=True), shown)
    if len(answers) != len(truths) or not truths:
        raise ValueError(
            f"{path} must hold an answer for every label: got {len(answers)} answers, {len(truths)} labels"
        )
    return Holdout(zip(truths, answers, strict=True))


def _read_npz(path: Path) -> tuple[Floats, list[str], list[str] | None]:
    arrays = read_arrays(path)
    has_answers = "answers" in arrays
    truths, rows = arrays.get("y"), arrays.get("answers" if has_answers else "X")
    if truths is None or rows is None:
        raise ValueError(
            f"{path} must hold the arrays X and y, or y and answers: it has {shortened([*arrays])}"
        )
    if has_answers:
        if rows.ndim != 1 or truths.ndim != 1:
            raise ValueError(
                f"{path} must hold y and answers of one axis: got {truths.shape} and {rows.shape}"
            )
        return np.empty((0, 0)), as_labels(truths), as_labels(rows)
    if rows.ndim != 2 or truths.ndim != 1:
        raise ValueError(f"{path} must hold X of two axes and y of one: got {rows.shape} and {truths.shape}")
    return rows, as_labels(truths), None


def _read_table(path: Path) -> tuple[Floats, list[str], list[str] | None, list[str]]:
    rows, truths, answers = [], [], []
    with open_table(path) as table:
        if LABEL not in table.columns:
            raise ValueError(f"{path} must have a column {LABEL!r}: it has {shortened(table.columns)}")
        features = [name for name in table.columns if name != LABEL]
        has_answers = features == ["answer"]
        for line, cells in table.rows([*features, LABEL]):
            if has_answers:
                answers.append(cells[0])
            else:
                rows.append(table.reals(line, cells[:-1]))
            truths.append(cells[-1])
    return np.array(rows, dtype=np.float64), truths, answers if has_answers else None, features


LEAST: Final = 2  # rows: with fewer nobody can begin to learn
NONE_SHOWN: Final = "it shows no validation rows ([policy] validation_rows is 0)"
NO_ROWS: Final = "it has no labelled rows to show: its holdout must be rows with labels"
ALL_SHOWN: Final = "it has no validation rows left that it has not shown before: it needs a new holdout"


def rows_to_show(context: NodeContext, name: bytes, header: Header, place: int) -> tuple[bytes, str]:
    """The ballot of this node in answer to an invitation: rows sealed for its asker, or none, and why."""
    try:
        rows, which = _chosen(context, name, header)
    except MismatchError as error:
        return b"", error.why
    cast, _ = rows.some(which).arranged(header)
    drawn = context.settings.randbytes(32)
    return sealed(pack_rows(header, cast), header.seal, name, place, drawn), ""


def rows_shown(context: NodeContext, name: bytes, header: Header) -> tuple[Array, Ints] | None:
    """The rows that it has shown for a motion, as its inputs have them, and their truths.

    They are for the first motion that names the invitation, and for no other.
    """
    storage, rows = context.storage, context.own.holdout.rows
    if rows is None or not header.shown or not storage.knows(header.shown):
        return None
    part = storage.motion(header.shown).part
    if not part.shown or part.shown_of != rows.digest or part.shown_for not in ("", name.hex()):
        return None
    some = rows.some(np.array(part.shown, dtype=np.int64))
    try:
        cast, _ = some.arranged(header)
    except MismatchError:
        return None
    terms = header.terms
    number = {label: place for place, label in enumerate(terms.labels)}
    if terms.answers == "numbers":
        truths = on_grid(np.array([number_of(label) for label in some.labels]), terms.step)
    elif set(some.labels) <= number.keys():
        truths = np.array([number[label] for label in some.labels], dtype=np.int64)
    else:
        return None
    storage.amend(header.shown, shown_for=name.hex())
    return cast, truths


def _chosen(context: NodeContext, name: bytes, header: Header) -> tuple[LabelledRows, Ints]:
    """The rows for an invitation: those that were chosen before, or the next ones; noted as shown."""
    storage, rows = context.storage, context.own.holdout.rows
    most = min(context.settings.policy.validation_rows, header.inputs)
    if not most:
        raise MismatchError(NONE_SHOWN, "")
    if rows is None:
        raise MismatchError(NO_ROWS, "")
    part = storage.motion(name).part
    if part.shown:
        if part.shown_of != rows.digest:
            raise MismatchError(NO_ROWS, "")
        return rows, np.array(part.shown, dtype=np.int64)
    begun = storage.shown(rows.digest)
    order = rows.in_turn()
    cast, fine = rows.arranged(header)
    able = set(fine.tolist())
    taken, picked = begun, dict[bytes, int]()
    while len(picked) < most and taken < len(order):
        which = int(order[taken])
        taken += 1
        if which in able:
            picked.setdefault(cast[which].tobytes(), which)
    if len(picked) < LEAST:
        raise MismatchError(ALL_SHOWN if begun else NO_ROWS, "")
    found = list(picked.values())
    storage.show(name, rows.digest, taken, found, context.transport.clock())
    context.counts["validation_rows_shown"] += len(found)
    return rows, np.array(found, dtype=np.int64)
