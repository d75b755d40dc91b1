"""The table kernel: deliberation on the complete graph, one table look-up and one random word per query.

Let x of the N peers that can be asked hold class c. Then the chance that c wins a query of k depends on x
and alpha only. So the k draws need not be made: a uniform word is compared with
the tabulated chances, exactly in law. Byzantine participants with fixed answers are part of the counts.

It interprets any machine; ``flip.py`` is faster where a state has one move only. Every job has its own
stream. Indices are unsigned: numba then need not check for negative ones.
"""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Array
from folkmoot.machine import compiled
from folkmoot.protocols.machine import Machine
from folkmoot.simulation.kernels.arguments import Chances, Deliberation, Jobs, Results
from folkmoot.simulation.kernels.rounds import first_states, is_over, take_effect, which_rows, wins_ahead
from folkmoot.simulation.kernels.streams import below, mix, stream
from folkmoot.simulation.setting import Options, Setting
from folkmoot.simulation.sharing import Piece, by_jobs

ZERO, ONE = np.uint64(0), np.uint64(1)


def plays(setting: Setting, options: Options) -> bool:
    """Independent inputs, where only the number of peers of each class matters to a query."""
    return setting.exchangeable and not (options.shared or options.record)


def pieces(setting: Setting, options: Options, results: Results) -> list[Piece]:
    """Pieces of independent jobs."""
    deliberation, chances, machine = setting.deliberation, setting.chances, setting.machine

    def some(first: int, last: int, halt: Array) -> None:
        play(Jobs(first, last, halt, options.seed, options.keys), deliberation, chances, machine, results)
        results.asked[first:last] *= setting.protocol.k

    return by_jobs(some, len(results.played), options.threads)


@compiled(nogil=True)
def play(
    jobs: Jobs, deliberation: Deliberation, chances: Chances, machine: Machine, results: Results
) -> None:
    """Plays the jobs; ``asked`` counts queries."""
    first_job, last_job, halt, seed, keys = jobs
    votes, closed, lockstep, rounds = deliberation
    chance, offset, fixed, own = chances
    after, class_of, asking, start, decides, counts_wins = machine
    decisions, played, asked, converged, _ = results
    inputs, honest = votes.shape
    classes = fixed.shape[1]
    node = np.empty(honest, dtype=np.int64)
    fresh = np.empty(honest, dtype=np.int64)
    counts = np.empty(classes, dtype=np.uint64)
    held = np.empty(classes, dtype=np.int64)
    wins = np.zeros((honest if counts_wins else 0, classes), dtype=np.int32)
    size = np.uint64(honest)
    rows = which_rows(offset)
    for job in range(first_job, last_job):
        repetition, item = divmod(job, inputs)
        word, step = stream(seed, repetition, keys[item], 0)
        undecided = first_states(votes[item], start, class_of, asking, node, held)
        for c in range(classes):
            counts[c] = held[c] + fixed[item, c]
        wins[:] = 0
        over = is_over(held, honest, closed[item], decides, undecided)
        used = 0
        asks = 0
        while used < rounds and not over and halt[0] == 0:
            for turn in range(honest):
                word += step
                if lockstep:
                    i = np.uint64(turn)
                    uniform = mix(word)
                else:
                    i, uniform = below(mix(word), size)
                s = node[i]
                fresh[i] = s
                if asking[s] == 0:
                    continue
                asks += 1
                won = -1
                for c in range(classes):
                    # Not a running sum of chances: it could pass 2^64 by a rounding error and start at 0.
                    likely = chance[offset[i & rows] + counts[c] - (own if class_of[s] == c else ZERO)]
                    if uniform < likely:
                        won = c
                        break
                    uniform -= likely
                ahead = wins_ahead(wins, i, won, class_of[s]) if counts_wins else 0
                new = after[s, won + 1, ahead]
                if lockstep:
                    fresh[i] = new
                elif new != s:
                    node[i] = new
                    undecided -= asking[s] - asking[new]
                    before, now = class_of[s], class_of[new]
                    if before != now:
                        if before >= 0:
                            held[before] -= 1
                            counts[before] -= ONE
                        held[now] += 1
                        counts[now] += ONE
                    if (undecided == 0) if decides else (held[now] == honest and closed[item, now]):
                        over = True
                        break
            used += 1
            if lockstep:
                undecided -= take_effect(node, fresh, class_of, asking, held)
                for c in range(classes):
                    counts[c] = held[c] + fixed[item, c]
                over = is_over(held, honest, closed[item], decides, undecided)
        for i in range(honest):
            decisions[job, i] = class_of[node[i]]
        played[job] = used
        asked[job] = asks
        converged[job] = over
