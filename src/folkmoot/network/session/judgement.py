"""What a node makes of first votes: whom it trusts, what it takes into the talk, how sure it is of itself.

The rules are those of ``folkmoot.trust`` and ``folkmoot.thresholds``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.arrays import Array, Colours, Floats, Ints, Singles
from folkmoot.thresholds import StrongConfidence, batch_accuracies
from folkmoot.trust import Anchor, listen, margins, opening

MOST_HEARD: Final = (
    10_000_000  # participants x inputs x labels that are listened to: some 100 MB while it lasts
)


@dataclass(frozen=True, eq=False)
class Judgement:
    """What a node made of the first votes."""

    weights: Floats  # (participant,): trust; not above 0 is not asked
    start: Array  # (input,): what it takes into the talk; numbers are (input, 1)
    sure: Singles  # (input,): how clear that is
    anchored: bool
    why: str
    believed: Floats | None = None  # (participant,): what closes count for in the end; None: by trust

    @property
    def counts(self) -> Floats:
        """(participant,): what each one's close counts for in the end."""
        return self.weights if self.believed is None else self.believed


def judge(place: int, votes: Colours, anchor: Anchor | None, classes: int) -> Judgement:
    """Listen to the first votes (participant, input), and say what to begin the talk with."""
    inputs = votes.shape[1]
    most = most_heard(len(votes), classes)
    heard = heard_inputs(inputs, most)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns of is in ``why``
        trust = listen(place, votes[:, heard].astype(np.int64), anchor, classes=classes)
    if not trust.anchored and trust.weight.any():  # too few inputs to learn from: all alike, the own vote
        return Judgement(trust.weight, votes[place], np.zeros(inputs, np.float32), trust.anchored, trust.why)
    blocks = [votes[:, i : i + most].astype(np.int64) for i in range(0, inputs, most)]
    start = np.concatenate([opening(block, trust) for block in blocks]).astype(np.int8)
    sure = np.concatenate([margins(block, trust) for block in blocks]).astype(np.float32)
    return Judgement(trust.weight, start, sure, trust.anchored, trust.why)


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
            most = most_heard(len(everybody), int(everybody.max()) + 2)
            votes = everybody[:, heard_inputs(own.size, most)].astype(np.int64)
        p = batch_accuracies([self.right], [self.held_out], votes, participants=[0])
        return int(StrongConfidence(p).thresholds(self.k)[0])


def most_heard(participants: int, classes: int) -> int:
    """Inputs that are listened to at a time."""
    return max(MOST_HEARD // (participants * classes), 1000)


def heard_inputs(inputs: int, most: int) -> Ints:
    """Inputs of a large batch, spread evenly, that tell enough of all."""
    return np.unique(np.linspace(0, inputs - 1, min(inputs, most)).astype(np.int64))
