"""What a session shows to others in its process: a copy of what one node knows, with nothing to change.

A node sees no more of a motion than its own questions and what is sent to it: who has committed and closed,
who was caught, and what those whom it asked in its latest round hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from folkmoot.arrays import Colours


class View(msgspec.Struct, frozen=True):
    """One motion at one moment, as one node sees it; participants by place."""

    motion: str  # its name, in hexadecimal
    asker: int
    phase: str
    inputs: int
    round: int  # rounds that this node has asked
    rounds: int  # at the most
    end: float  # the deadline, by the clock that the session was told
    committed: tuple[int, ...]
    closed: tuple[int, ...]
    accused: tuple[int, ...]
    late: tuple[int, ...]  # who committed when it may have heard others
    refused: dict[int, str]
    asked: tuple[int, ...]  # in the latest round
    heard: int  # how many of them answered
    shares: dict[str, float]  # of their votes on all inputs, by label; without those that have none
    held: dict[str, float]  # the same, of what this node holds
    apart: float | None = None  # of numbers: how far those answers are apart, on the worst input
    protocol: str = ""


def shares_of(votes: Sequence[Colours], labels: Sequence[str]) -> dict[str, float]:
    """The share of each label among votes on inputs, uncoloured ones left out; nothing if there is no vote.

    Parameters
    ----------
    votes : sequence of array of int8
        Colours, one array a participant.
    labels : sequence of str
        What the colours are called.

    Returns
    -------
    dict
        By label; those that nobody holds are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from folkmoot.network.session.view import shares_of
    >>> shares_of([np.array([0, 1], dtype=np.int8), np.array([1, -1], dtype=np.int8)], ["no", "yes"])
    {'no': 0.333333, 'yes': 0.666667}
    """
    counts = np.zeros(len(labels), dtype=np.int64)
    for each in votes:
        counts += np.bincount(each[each >= 0], minlength=len(labels))
    whole = int(counts.sum())
    return {label: round(int(n) / whole, 6) for label, n in zip(labels, counts, strict=True) if n}
