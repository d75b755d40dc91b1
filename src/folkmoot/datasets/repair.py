"""The least change to a random division that gives every participant enough rows of enough classes.

One row moves at a time, always to the first participant that lacks something:

1. Who has fewer than ``min_rows`` rows takes one from the participant with the most rows, of the class
   that one has most of.
2. Who has fewer than ``min_classes`` classes takes a row of a class it lacks from the participant with the
   most rows of that class, which must keep enough rows and classes of its own; if nobody can spare one, it
   swaps a row of the class it has most of instead, so that nobody's number of rows changes.

Ties go to the lowest number, so the repair draws nothing and is the same every time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Ints


def repair(
    owner: Ints, column: npt.NDArray[np.integer[Any]], n: int, min_rows: int, min_classes: int
) -> None:
    """Change ``owner`` (the participant of each row) in place; ``column`` is the class of each row."""
    classes = int(column.max()) + 1
    if n * max(min_rows, min_classes) > owner.size:
        name, least = ("min_rows", min_rows) if min_rows >= min_classes else ("min_classes", min_classes)
        raise ValueError(
            f"{name} must satisfy n * {name} <= rows: got n={n}, {name}={least}, rows={owner.size}"
        )
    if min_classes > classes:
        raise ValueError(
            f"min_classes must satisfy min_classes <= classes of y: got min_classes={min_classes}, "
            f"{classes} classes"
        )
    least = max(min_rows, min_classes)
    counts = np.zeros((n, classes), dtype=np.int64)
    np.add.at(counts, (owner, column), 1)

    def move(giver: int, taker: int, c: int) -> None:
        owner[np.flatnonzero((owner == giver) & (column == c))[0]] = taker
        counts[giver, c] -= 1
        counts[taker, c] += 1

    for taker in range(n):
        while counts[taker].sum() < least:
            giver = int(counts.sum(axis=1).argmax())
            move(giver, taker, int(counts[giver].argmax()))
    for taker in range(n):
        while np.count_nonzero(counts[taker]) < min_classes:
            giver, c, swap = _who_can_spare(counts, taker, least, min_classes)
            if swap:
                move(taker, giver, int(counts[taker].argmax()))
            move(giver, taker, c)


def _who_can_spare(counts: Ints, taker: int, least: int, min_classes: int) -> tuple[int, int, bool]:
    """The giver, the class it gives, and whether it must get a row back."""
    variety = np.count_nonzero(counts, axis=1)
    lacking = counts[taker] == 0
    spare = (counts > 1) | ((counts == 1) & (variety > min_classes)[:, None])
    swappable = (counts > 0) & lacking & spare
    givable = swappable & (counts.sum(axis=1) > least)[:, None]
    # A swap hands back a row of the taker's most frequent class: a giver that lacks it loses no variety.
    got = int(counts[taker].argmax())
    gains = (counts[:, got] == 0)[:, None] & (counts > 0) & lacking
    for candidates, swap in ((givable, False), (swappable | gains, True)):
        if candidates.any():
            giver, c = np.unravel_index(int(np.where(candidates, counts, -1).argmax()), counts.shape)
            return int(giver), int(c), swap
    raise ValueError(
        f"min_classes={min_classes} cannot be given to every participant: y has too few rows of its "
        "rarer classes"
    )
