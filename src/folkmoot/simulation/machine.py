"""A protocol as a finite-state machine: its rule applied once to every state and winner, then only looked up.

The kernels interpret this table and contain no rule of their own. Counters that grow without bound
(the wins of Snowball) are tabulated as deep as asked; a kernel that walks off the table says so,
and the table is made deeper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.protocols import Query
from folkmoot.votes import UNCOLOURED

OFF_TABLE = -1


@dataclass(frozen=True)
class Machine:
    """States are numbered; ``after[s, w + 1]`` follows state s when colour w wins (w = -1: none does)."""

    after: npt.NDArray[np.int32]
    colour: npt.NDArray[np.int8]
    decided: npt.NDArray[np.bool_]
    start: npt.NDArray[np.int32]  # start[v + 1]: the state of a node whose first vote is v

    @property
    def decides(self) -> bool:
        """Whether nodes stop by themselves."""
        return bool(self.decided.any())

    @property
    def complete(self) -> bool:
        """Whether no path leads off the table."""
        return not bool((self.after == OFF_TABLE).any())


def tabulate(protocol: Query[Any], colours: int, *, depth: int, most_states: int = 400_000) -> Machine:
    """The machine of a protocol, with every state that ``depth`` queries can lead to."""
    winners = range(UNCOLOURED, colours)
    firsts = [protocol.canonical(protocol.start(vote), colours) for vote in winners]
    number: dict[Any, int] = {}
    for state in firsts:
        number.setdefault(state, len(number))
    after: list[list[int]] = []
    frontier = list(number)
    level = 0
    while frontier:
        reached = []
        for state in frontier:
            row = []
            for won in winners:
                new = protocol.canonical(protocol.react(state, won), colours)
                if new not in number:
                    if level == depth:
                        row.append(OFF_TABLE)
                        continue
                    number[new] = len(number)
                    reached.append(new)
                row.append(number[new])
            after.append(row)
        if len(number) > most_states:
            raise ValueError(
                f"{type(protocol).__name__} with {colours} colours has too many states to tabulate "
                f"(more than {most_states:,}): use a smaller beta, Snowflake or Slush"
            )
        frontier = reached
        level += 1
    states = list(number)
    return Machine(
        after=np.array(after, dtype=np.int32),
        colour=np.array([protocol.colour(state) for state in states], dtype=np.int8),
        decided=np.array([protocol.decided(state) for state in states], dtype=np.bool_),
        start=np.array([number[state] for state in firsts], dtype=np.int32),
    )
