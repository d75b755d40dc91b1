"""Answers to a batch of inputs: the colour that is ahead on each, or the colours that are level.

This is the one place where it is decided whether there is a tie. A tie is not broken: the decision is -1, and
the level colours share in the accuracy (``folkmoot.accuracy.share_right``). Where no colour has what it takes
to win there is no answer, which is not a tie: the decision is -1 and no colours are level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from folkmoot.arrays import Array, Bools, Ints
from folkmoot.votes import UNCOLOURED


class Answer(NamedTuple):
    """An answer to each input; ``level`` may be left out by rules that cannot tie."""

    decision: Ints
    """(..., input): the colour that is ahead of all others; -1 if there is none."""
    level: Bools | None = None
    """(..., input, colour): the colours that are level, where there are several; none elsewhere."""


def most(scores: Array, possible: Bools, within: float = 0) -> Answer:
    """The colour with the largest of the scores (..., input, colour), or those ``within`` of the largest.

    ``possible`` says for which inputs there is an answer at all.
    """
    best = (scores >= scores.max(axis=-1, keepdims=True) - within) & possible[..., None]
    many = best.sum(axis=-1)
    return Answer(np.where(many == 1, scores.argmax(axis=-1), UNCOLOURED), best & (many > 1)[..., None])


def held_by_most(counts: Ints, participants: Ints) -> Answer:
    """The colour that more than half of the participants hold, or the most common ones if these are level.

    Level colours are a tie if together they have more than half: 5 to 5 of ten, or 3, 3 and 2 of eight. Two
    colours held by one each of ten, where the others hold none, are not: that is undecided.

    ``counts`` (..., input, colour): how many hold each colour; ``participants`` (input,): of how many.
    """
    largest = counts.max(axis=-1)
    together = largest * (counts == largest[..., None]).sum(axis=-1)
    return most(counts, 2 * together > participants)
