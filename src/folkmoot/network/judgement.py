"""A node learns whom to trust: its own holdout as the anchor, everybody's revealed first votes as what it
hears.

The rules are those of ``folkmoot.trust``; here they meet what a node knows: the answers of its model to
rows that it held out, and the truths it was told of former motions.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from folkmoot.arrays import Colours, Floats, Ints
from folkmoot.network.models import Model, as_labels
from folkmoot.tabular import open_table, shortened
from folkmoot.thresholds import StrongConfidence, batch_accuracies
from folkmoot.trust import Anchor, listen, opening

MOST_HEARD: Final = (
    10_000_000  # participants x inputs x labels that are listened to: some 100 MB while it lasts
)


@dataclass(frozen=True, eq=False)
class Judgement:
    """What a node made of the first votes."""

    weights: Floats  # (participant,): trust; not above 0 is not asked
    start: Colours  # (input,): what it takes into the talk
    anchored: bool
    why: str


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


def judge(place: int, votes: Colours, anchor: Anchor | None, classes: int) -> Judgement:
    """Listen to the first votes (participant, input), and say what to begin the talk with."""
    inputs = votes.shape[1]
    most = _most_heard(len(votes), classes)
    heard = _heard(inputs, most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns of is in ``why``
        trust = listen(place, votes[:, heard].astype(np.int64), anchor, classes=classes)
    if not trust.anchored and trust.weight.any():  # too few inputs to learn from: all alike, the own vote
        start = votes[place]
    else:
        blocks = [votes[:, i : i + most].astype(np.int64) for i in range(0, inputs, most)]
        start = np.concatenate([opening(block, trust) for block in blocks]).astype(np.int8)
    return Judgement(trust.weight, start, trust.anchored, trust.why)


def _most_heard(participants: int, classes: int) -> int:
    return max(MOST_HEARD // (participants * classes), 1000)


def _heard(inputs: int, most: int) -> Ints:
    """Inputs of a large batch, spread evenly, that tell enough of all."""
    return np.unique(np.linspace(0, inputs - 1, min(inputs, most)).astype(np.int64))


@dataclass(frozen=True)
class LocalThreshold:
    """Strong confidence of one node: from its holdout and the truths it was told, and its peers' votes."""

    right: int
    held_out: int
    k: int

    @classmethod
    def of(cls, anchor: Anchor | None, k: int) -> LocalThreshold:
        """By what the node knows of its own model; without that it is the least majority."""
        return cls(0, 0, k) if anchor is None else cls(anchor.right, anchor.held_out, k)

    def alpha(self, own: Colours | None = None, peers: Sequence[Colours] = ()) -> int:
        """The threshold, as far as the votes of some peers on the batch bear it out."""
        votes = None
        if own is not None and len(peers):
            everybody = np.stack([own, *peers])
            most = _most_heard(len(everybody), int(everybody.max()) + 2)
            votes = everybody[:, _heard(own.size, most)].astype(np.int64)
        p = batch_accuracies([self.right], [self.held_out], votes, participants=[0])
        return int(StrongConfidence(p).thresholds(self.k)[0])


def read_holdout(path: Path, model: Model) -> Holdout:
    """What a file says of the own model: labelled rows, which it answers now, or labels and answers.

    Rows are an .npz file with X and y, or a table with a column ``label``. A model that has seen them would
    answer them all too well; so one that was fitted again on all rows is given the answers from before
    instead: an .npz file with y and answers, or a table with the columns ``label`` and ``answer`` alone.
    """
    rows, truths, answers = _read_npz(path) if path.suffix.lower() == ".npz" else _read_table(path)
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
        answers = model.predict(rows)
    elif len(answers) != len(truths) or not truths:
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


def _read_table(path: Path) -> tuple[Floats, list[str], list[str] | None]:
    rows, truths, answers = [], [], []
    with open_table(path) as table:
        if "label" not in table.columns:
            raise ValueError(f"{path} must have a column 'label': it has {shortened(table.columns)}")
        features = [name for name in table.columns if name != "label"]
        told = features == ["answer"]
        for line, cells in table.rows([*features, "label"]):
            if told:
                answers.append(cells[0])
            else:
                rows.append(table.reals(line, cells[:-1]))
            truths.append(cells[-1])
    return np.array(rows, dtype=np.float64), truths, answers if told else None
