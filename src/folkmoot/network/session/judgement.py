"""What a node makes of everybody's revealed first votes: whom it trusts, and what it takes into the talk.

The rules are those of ``folkmoot.trust``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Final

import numpy as np

from folkmoot.arrays import Colours, Floats
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


def judge(place: int, votes: Colours, anchor: Anchor | None, classes: int) -> Judgement:
    """Listen to the first votes (participant, input), and say what to begin the talk with."""
    n, inputs = votes.shape
    most = max(MOST_HEARD // (n * classes), 1000)
    heard = np.unique(np.linspace(0, inputs - 1, min(inputs, most)).astype(np.int64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns of is in ``why``
        trust = listen(place, votes[:, heard].astype(np.int64), anchor, classes=classes)
    if not trust.anchored and trust.weight.any():  # too few inputs to learn from: all alike, the own vote
        start = votes[place]
    else:
        blocks = [votes[:, i : i + most].astype(np.int64) for i in range(0, inputs, most)]
        start = np.concatenate([opening(block, trust) for block in blocks]).astype(np.int8)
    return Judgement(trust.weight, start, trust.anchored, trust.why)
