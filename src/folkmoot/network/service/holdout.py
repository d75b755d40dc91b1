"""What anchors a node's trust: the answers of its model to rows that it held out, and the truths it was told
of former motions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.files.tabular import open_table, shortened
from folkmoot.network.service.check_rows import LabelledRows
from folkmoot.node.service.models import Model, as_labels
from folkmoot.node.wire.schema import Column, MismatchError
from folkmoot.trust import Anchor

LABEL: Final = "label"  # the column of a table that holds the truth


class Holdout:
    """How often this node's model answered what to which truth."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = (), rows: LabelledRows | None = None) -> None:
        self._pairs = Counter(pairs)  # (truth, answer)
        self.rows = rows  # to be shown as check rows; none if only answers are known

    def __len__(self) -> int:
        return self._pairs.total()

    def with_more(self, pairs: Iterable[tuple[str, str]]) -> Holdout:
        """The same and some more."""
        return Holdout([*self._pairs.elements(), *pairs])

    def anchor(self, labels: Sequence[str]) -> Anchor | None:
        """What it says about this node's model, for these labels; None if it says nothing."""
        colour = {label: number for number, label in enumerate(labels)}
        table = np.zeros((len(labels), len(labels)), dtype=np.int64)
        for (true, said), count in self._pairs.items():
            if true in colour and said in colour:
                table[colour[true], colour[said]] += count
        return Anchor.of_confusion(table) if table.any() else None


def read_holdout(path: Path, model: Model) -> Holdout:
    """What a file says of this node's model: labelled rows, which it answers now, or labels and answers.

    Rows are an .npz file with X and y, or a table with a column ``label``. A model that has seen them would
    answer them all too well; so one that was fitted again on all rows is given the answers from before
    instead: an .npz file with y and answers, or a table with the columns ``label`` and ``answer`` alone.
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
        return Holdout(zip(truths, model.predict(arranged), strict=True), shown)
    if len(answers) != len(truths) or not truths:
        raise ValueError(
            f"{path} must hold an answer for every label: got {len(answers)} answers, {len(truths)} labels"
        )
    return Holdout(zip(truths, answers, strict=True))


def _read_npz(path: Path) -> tuple[Floats, list[str], list[str] | None]:
    try:
        with np.load(path, allow_pickle=False) as file:
            truths, told = file["y"], "answers" in file
            rows = file["answers" if told else "X"]
    except (KeyError, ValueError, EOFError):
        raise ValueError(f"{path} must be a .npz file with the arrays X and y, or y and answers") from None
    if told:
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
        told = features == ["answer"]
        for line, cells in table.rows([*features, LABEL]):
            if told:
                answers.append(cells[0])
            else:
                rows.append(table.reals(line, cells[:-1]))
            truths.append(cells[-1])
    return np.array(rows, dtype=np.float64), truths, answers if told else None, features
