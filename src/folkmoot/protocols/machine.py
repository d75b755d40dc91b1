"""A protocol as a finite-state machine: its rule applied once to every state and winner, then only looked up.

The kernels interpret this table and contain no rule of their own. For a protocol that compares numbers of
wins (Snowball) they keep the counts, and the table says what follows from the comparison.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from folkmoot.arrays import Ints
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.votes import NO_VOTE


class Machine(NamedTuple):
    """States are numbered. ``after[s, w + 1, a]`` follows s when class w wins (w = -1: none does).

    ``a`` is 1 if the winner then has more wins than the class held in s; it matters only with
    ``counts_wins``.
    """

    after: Ints
    class_of: Ints  # what a node in this state answers
    asking: Ints  # 1, or 0 once a node in this state has decided
    start: Ints  # start[v + 1]: the state of a node whose first vote is v
    decides: bool
    counts_wins: bool


def machine_of(protocol: SnowProtocol[Any], classes: int) -> Machine:
    """The machine of a protocol. It knows of winners only: k, alpha and weights are all one to it."""
    return _tabulated(replace(protocol, k=1, alpha=1, weights=None), classes)


@lru_cache(maxsize=32)
def _tabulated(protocol: SnowProtocol[Any], classes: int) -> Machine:
    return tabulate(protocol, classes)


def tabulate(protocol: SnowProtocol[Any], classes: int, *, most_states: int = 100_000) -> Machine:
    """The machine of a protocol: every state that any sequence of winners can lead to."""
    winners = range(NO_VOTE, classes)
    firsts = [protocol.start(vote) for vote in winners]
    number: dict[Any, int] = {}
    for state in firsts:
        number.setdefault(state, len(number))
    after = array("q")  # flat: a list for every step would keep the garbage collector busy for a second
    queue = list(number)
    for state in queue:  # grows while it is read
        for won in winners:
            for ahead in (False, won != NO_VOTE):
                new = protocol.finite(state, won, ahead)
                if new not in number:
                    number[new] = len(number)
                    queue.append(new)
                after.append(number[new])
        if len(number) > most_states:
            raise ValueError(
                f"{type(protocol).__name__} with {classes} classes has more than {most_states:,} states: "
                "use a smaller beta, or Slush"
            )
    return Machine(
        after=np.array(after, dtype=np.int64).reshape(len(queue), len(winners), 2),
        class_of=np.array([protocol.class_of(state) for state in queue], dtype=np.int64),
        asking=np.array([not protocol.decided(state) for state in queue], dtype=np.int64),
        start=np.array([number[state] for state in firsts], dtype=np.int64),
        decides=protocol.decides,
        counts_wins=protocol.counts_wins,
    )
