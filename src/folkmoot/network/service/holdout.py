"""What anchors a node's trust: the answers of its model to rows that it held out, and the truths it was told
of former motions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.network.service.models import Model, as_labels
from folkmoot.tabular import open_table, shortened
from folkmoot.trust import Anchor


class Holdout:
    """How often the own model answered what to which truth."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._pairs = Counter(pairs)  # (truth, answer)

    def __len__(self) -> int:
        return self._pairs.total()

    def with_more(self, pairs: Iterable[tuple[str, str]]) -> Holdout:
        """The same and some more."""
        return Holdout([*self._pairs.elements(), *pairs])

    def anchor(self, labels: Sequence[str]) -> Anchor | None:
        """What it says about the own model, for these labels; None if it says nothing."""
        colour = {label: number for number, label in enumerate(labels)}
        table = np.zeros((len(labels), len(labels)), dtype=np.int64)
        for (true, said), count in self._pairs.items():
            if true in colour and said in colour:
                table[colour[true], colour[said]] += count
        return Anchor.of_confusion(table) if table.any() else None


def read_holdout(path: Path, model: Model) -> Holdout:
    """Rows with their labels (.npz with X and y, or a table with a column ``label``), and the model's
    answers.
    """
    rows, truths = _read_npz(path) if path.suffix.lower() == ".npz" else _read_table(path)
    if len(rows) != len(truths) or not len(rows):
        raise ValueError(
            f"{path} must hold a label for every row: got {len(rows)} rows, {len(truths)} labels"
        )
    if model.columns is not None and rows.shape[1] != model.columns:
        raise ValueError(
            f"{path} must have the {model.columns} columns of the model, and the label: got {rows.shape[1]}"
        )
    return Holdout(zip(truths, model.predict(rows), strict=True))


def _read_npz(path: Path) -> tuple[Floats, list[str]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            rows, truths = file["X"], file["y"]
    except (KeyError, ValueError, EOFError):
        raise ValueError(f"{path} must be a .npz file with the arrays X and y") from None
    if rows.ndim != 2 or truths.ndim != 1:
        raise ValueError(f"{path} must hold X of two axes and y of one: got {rows.shape} and {truths.shape}")
    return rows, as_labels(truths)


def _read_table(path: Path) -> tuple[Floats, list[str]]:
    rows, truths = [], []
    with open_table(path) as table:
        if "label" not in table.columns:
            raise ValueError(f"{path} must have a column 'label': it has {shortened(table.columns)}")
        features = [name for name in table.columns if name != "label"]
        for line, cells in table.rows([*features, "label"]):
            rows.append(table.reals(line, cells[:-1]))
            truths.append(cells[-1])
    return np.array(rows, dtype=np.float64), truths
