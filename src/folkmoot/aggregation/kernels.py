"""Counts over all votes, which holdout trust needs thousands of times, in one compiled pass each."""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Array, Floats, Ints
from folkmoot.machine import compiled


@compiled(nogil=True)
def tally(votes: Ints, weight: Floats, classes: int) -> Floats:
    """(class, input): the weight of those who name it, of (participant, input) votes with -1 for none."""
    score = np.zeros((classes, votes.shape[1]))
    for j in range(len(votes)):
        if weight[j] != 0:
            for i in range(votes.shape[1]):
                if votes[j, i] >= 0:
                    score[votes[j, i], i] += weight[j]
    return score


@compiled(nogil=True)
def testimony(votes: Ints, order: Ints, starts: Ints, classes: int, levels: int) -> Array:
    """(group, input): the class that most of a group name, times ``levels``, and how unanimous it is.

    The members of group g are ``order[starts[g] : starts[g + 1]]``.
    """
    inputs = votes.shape[1]
    code = np.empty((len(starts) - 1, inputs), dtype=np.int32)
    count = np.zeros((classes, inputs), dtype=np.int32)
    for g in range(len(starts) - 1):
        size = starts[g + 1] - starts[g]
        if size == 1:
            for i in range(inputs):
                vote = votes[order[starts[g]], i]
                code[g, i] = 0 if vote < 0 else vote * levels + levels - 1
            continue
        count[:] = 0
        for member in order[starts[g] : starts[g + 1]]:
            for i in range(inputs):
                if votes[member, i] >= 0:
                    count[votes[member, i], i] += 1
        for i in range(inputs):
            ahead = 0
            for label in range(1, classes):
                if count[label, i] > count[ahead, i]:
                    ahead = label
            over = (classes * count[ahead, i] - size) * levels // ((classes - 1) * size)
            code[g, i] = ahead * levels + min(max(over, 0), levels - 1)
    return code


@compiled(nogil=True)
def believed(answer: Floats, code: Ints, levels: int) -> Floats:
    """(group, code): the chances of the named classes, added up over the inputs of each code."""
    found = np.zeros((len(code), len(answer) * levels))
    label = np.arange(len(answer) * levels) // levels  # looking up is quicker than dividing
    for g in range(len(code)):
        for i in range(code.shape[1]):
            found[g, code[g, i]] += answer[label[code[g, i]], i]
    return found


@compiled(nogil=True)
def spoken(said: Floats, code: Ints, classes: int, levels: int) -> Floats:
    """(class, input): what all groups say for it, by what each code of each group is worth."""
    score = np.zeros((classes, code.shape[1]))
    label = np.arange(classes * levels) // levels
    for g in range(len(code)):
        for i in range(code.shape[1]):
            score[label[code[g, i]], i] += said[g, code[g, i]]
    return score
