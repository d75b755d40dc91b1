"""The table kernel: deliberation on the complete graph, one table look-up and one random word a query.

When k peers are drawn from an urn in which x of N hold colour c, the chance that c wins the query is a
number that depends on x and alpha only. So the k draws need not be made: a uniform word is compared with
the tabulated chances, exactly in law. Byzantine participants with fixed answers are part of the counts.

Both functions run jobs (repetition, input) ``first_job`` to ``last_job``; every job has a stream of its
own. ``play`` interprets any machine; ``flip`` is the same walk for machines in which a state has one move
only (two-colour Slush), where it is twice as fast. Indices are unsigned: numba then need not look out for
negative ones.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from folkmoot.arrays import Array
from folkmoot.simulation.kernels.rounds import first_states, is_over, take_effect, wins_ahead
from folkmoot.simulation.kernels.streams import below, mix, stream

ZERO, ONE = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def flip(
    first_job: int,
    last_job: int,
    halt: Array,  # (1,): stop soon when it is not 0
    seed: int,
    keys: Array,  # (input,) int64: what the randomness of an input hangs on
    votes: Array,  # (input, honest) int8: first votes, 0 or 1
    fixed: Array,  # (input, 2) int64: Byzantine participants that always answer it
    closed: Array,  # (input, 2) bool: once all honest hold it, no query can change that
    offset: Array,  # (honest,) uint64: where the row of its threshold starts in ``chance``
    chance: Array,  # flat uint64: chance that a colour held by x of the urn wins, in units of 2^-64
    want: Array,  # machine: the colour whose win moves state s
    after: Array,  # machine: the state it moves to
    rounds: int,
    decisions: Array,  # out (job, honest) int8
    played: Array,  # out (job,) int64: rounds
    asked: Array,  # out (job,) int64: queries
    settled: Array,  # out (job,) bool
) -> None:
    inputs, honest = votes.shape
    node = np.empty(honest, dtype=np.uint8)  # state and colour are one
    counts = np.empty(2, dtype=np.uint64)
    size = np.uint64(honest)
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
                if uniform < chance[offset[i] + counts[wanted]]:
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
        settled[job] = over


@njit(cache=True, nogil=True)
def play(
    first_job: int,
    last_job: int,
    halt: Array,
    seed: int,
    keys: Array,
    votes: Array,  # (input, honest) int8: first votes
    fixed: Array,  # (input, colour) int64
    closed: Array,  # (input, colour) bool
    offset: Array,  # (honest,) uint64
    chance: Array,  # flat uint64
    own: np.uint64,  # 1 if the asker is not in its own urn
    after: Array,  # machine: state by state, winner + 1, and whether the winner is ahead
    colour: Array,  # machine: colour of a state
    asking: Array,  # machine: 1, or 0 once a node has decided and stopped asking
    start: Array,  # machine: first state by vote + 1
    decides: bool,
    counts_wins: bool,
    lockstep: bool,
    rounds: int,
    decisions: Array,  # out (job, honest) int8
    played: Array,  # out (job,) int64: rounds
    asked: Array,  # out (job,) int64: queries
    settled: Array,  # out (job,) bool
) -> None:
    inputs, honest = votes.shape
    colours = fixed.shape[1]
    node = np.empty(honest, dtype=np.int64)
    fresh = np.empty(honest, dtype=np.int64)
    counts = np.empty(colours, dtype=np.uint64)
    held = np.empty(colours, dtype=np.int64)
    wins = np.zeros((honest if counts_wins else 0, colours), dtype=np.int32)
    size = np.uint64(honest)
    for job in range(first_job, last_job):
        repetition, item = divmod(job, inputs)
        word, step = stream(seed, repetition, keys[item], 0)
        undecided = first_states(votes[item], start, colour, asking, node, held)
        for c in range(colours):
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
                for c in range(colours):
                    # Not a running sum of chances: it could pass 2^64 by a rounding error and start at 0.
                    likely = chance[offset[i] + counts[c] - (own if colour[s] == c else ZERO)]
                    if uniform < likely:
                        won = c
                        break
                    uniform -= likely
                ahead = wins_ahead(wins, i, won, colour[s]) if counts_wins else 0
                new = after[s, won + 1, ahead]
                if lockstep:
                    fresh[i] = new
                elif new != s:
                    node[i] = new
                    undecided -= asking[s] - asking[new]
                    before, now = colour[s], colour[new]
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
                undecided -= take_effect(node, fresh, colour, asking, held)
                for c in range(colours):
                    counts[c] = held[c] + fixed[item, c]
                over = is_over(held, honest, closed[item], decides, undecided)
        for i in range(honest):
            decisions[job, i] = colour[node[i]]
        played[job] = used
        asked[job] = asks
        settled[job] = over
