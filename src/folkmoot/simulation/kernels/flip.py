"""The flip kernel: the table kernel for two-class Slush, a machine in which a state has one move only.

The state of a node is its class, and a query either changes it or not: the same walk, twice as fast. Indices
are unsigned: numba then need not check for negative ones.
"""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Array
from folkmoot.machine import compiled
from folkmoot.simulation.kernels import table
from folkmoot.simulation.kernels.arguments import Chances, Deliberation, Jobs, Results
from folkmoot.simulation.kernels.rounds import which_rows
from folkmoot.simulation.kernels.streams import below, mix, stream
from folkmoot.simulation.setting import Options, Setting
from folkmoot.simulation.sharing import Piece, by_jobs

ONE = np.uint64(1)


def plays(setting: Setting, options: Options) -> bool:
    """Runs of the table kernel by two-class Slush with every vote cast, one participant at a time."""
    return table.plays(setting, options) and setting.plain and not setting.lockstep


def pieces(setting: Setting, options: Options, results: Results) -> list[Piece]:
    """Pieces of independent jobs."""
    deliberation, chances = setting.deliberation, setting.chances
    want, after = moves(setting)

    def some(first: int, last: int, halt: Array) -> None:
        play(Jobs(first, last, halt, options.seed, options.keys), deliberation, chances, want, after, results)
        results.asked[first:last] *= setting.protocol.k

    return by_jobs(some, len(results.played), options.threads)


def moves(setting: Setting) -> tuple[Array, Array]:
    """The class whose win moves a node of either class, and the class it then has."""
    # State 1 + c of the machine is class c; its one move is the win of the other class.
    want = np.array([1, 0], dtype=np.uint8)
    return want, (setting.machine.after[[1, 2], [2, 1], 0] - 1).astype(np.uint8)


@compiled(nogil=True)
def play(
    jobs: Jobs,
    deliberation: Deliberation,
    chances: Chances,
    want: Array,  # (class,) uint8: the class whose win moves a node of this one
    after: Array,  # (class,) uint8: the class it then has
    results: Results,
) -> None:
    """Plays the jobs; ``asked`` counts queries."""
    first_job, last_job, halt, seed, keys = jobs
    votes, closed, _, rounds = deliberation
    chance, offset, fixed, _ = chances
    decisions, played, asked, converged, _ = results
    inputs, honest = votes.shape
    node = np.empty(honest, dtype=np.uint8)  # state and class are one
    counts = np.empty(2, dtype=np.uint64)
    size = np.uint64(honest)
    rows = which_rows(offset)
    for job in range(first_job, last_job):
        repetition, item = divmod(job, inputs)
        word, step = stream(seed, repetition, keys[item], 0)
        blue = 0
        for i in range(honest):
            node[i] = votes[item, i]
            blue += votes[item, i]
        counts[0] = honest - blue + fixed[item, 0]
        counts[1] = blue + fixed[item, 1]
        never = np.uint64(1) << np.uint64(62)
        goal_red = np.uint64(honest + fixed[item, 0]) if closed[item, 0] else never
        goal_blue = np.uint64(honest + fixed[item, 1]) if closed[item, 1] else never
        over = counts[0] == goal_red or counts[1] == goal_blue
        used = 0
        asks = 0
        while used < rounds and not over and halt[0] == 0:
            turn = 0
            while turn < honest:
                turn += 1
                word += step
                i, uniform = below(mix(word), size)
                s = node[i]
                wanted = want[s]
                if uniform < chance[offset[i & rows] + counts[wanted]]:
                    node[i] = after[s]
                    counts[s] -= ONE
                    counts[wanted] += ONE
                    if counts[wanted] == (goal_blue if wanted else goal_red):
                        over = True
                        break
            used += 1
            asks += turn
        for i in range(honest):
            decisions[job, i] = node[i]
        played[job] = used
        asked[job] = asks
        converged[job] = over
