"""The explicit kernel: every query really draws its k peers and counts their answers.

The oracle of the other kernels, and the one that serves graphs, weights and Byzantine participants
whose answer depends on the query. Nodes are numbered with the honest ones first. With ``shared``, the
schedule (who asks, whom) is one stream for all inputs, as in a network where a query carries the whole
batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from folkmoot.simulation.rounds import first_states, is_over, take_effect, wins_ahead
from folkmoot.simulation.streams import below, mix, stream

Array = npt.NDArray[Any]

# What a Byzantine participant is shown (``folkmoot.adversaries.Sees``).
NOTHING, DIE, ASKER, RUNNER_UP, TARGET = range(5)
_SLACK = 1.0 - 1e-12  # a weighted tally that reaches alpha but for rounding has reached it


@njit(cache=True, nogil=True)
def runner_up(held: Array) -> int:
    """The second most common honest colour, or -1 if the first two are level."""
    first, second = -1, -1
    for c in range(held.size):
        if first < 0 or held[c] > held[first]:
            first, second = c, first
        elif second < 0 or held[c] > held[second]:
            second = c
    return -1 if held[first] == held[second] else second


@njit(cache=True, nogil=True)
def play(
    first_job: int,
    last_job: int,
    halt: Array,  # (1,): stop soon when it is not 0
    seed: int,
    keys: Array,  # (input,) int64: what the randomness of an input hangs on
    shared: bool,
    votes: Array,  # (input, honest) int8: first votes
    closed: Array,  # (input, colour) bool
    alpha: Array,  # (honest,) int64
    k: int,
    weights: Array,  # (node,) float64, or empty
    starts: Array,  # graph: peers of i are peers[starts[i]:starts[i+1]]; empty for the complete graph
    peers: Array,
    self_sampling: bool,
    sees: Array,  # (byzantine,) int64: what it is shown
    target: Array,  # (byzantine,) int64: whom it follows
    answers: Array,  # (byzantine, input, observation + 1) int8
    number: Array,  # (honest,) int64: the participant's number in the caller's order
    after: Array,  # machine, as in the table kernel
    colour: Array,
    asking: Array,
    start: Array,
    decides: bool,
    counts_wins: bool,
    lockstep: bool,
    rounds: int,
    decisions: Array,
    played: Array,
    asked: Array,
    settled: Array,
    history: Array,  # out (job, round, colour) int32, or empty
    events: Array,  # out (event, 4 + colour) float64: round, node, before, after, tally; or empty
) -> int:
    """Returns the number of events."""
    inputs, honest = votes.shape
    colours = closed.shape[1]
    nodes = honest + sees.size
    record = history.shape[0] > 0
    graph = starts.size > 0
    weighted = weights.size > 0
    node = np.empty(honest, dtype=np.int64)
    fresh = np.empty(honest, dtype=np.int64)
    held = np.empty(colours, dtype=np.int64)
    tally = np.empty(colours, dtype=np.float64)
    wins = np.zeros((honest if counts_wins else 0, colours), dtype=np.int32)
    urn = np.arange(nodes) if not graph else peers.copy()
    place = np.arange(nodes)
    happened = 0
    for job in range(first_job, last_job):
        repetition, item = divmod(job, inputs)
        word, step = stream(seed, repetition, -1 if shared else keys[item], 1)
        die, die_step = stream(seed, repetition, keys[item], 2)
        # The urn starts afresh, so that a job's draws depend on its stream alone.
        if graph:
            urn[:] = peers
        else:
            for i in range(nodes):
                urn[i] = i
                place[i] = i
        undecided = first_states(votes[item], start, colour, asking, node, held)
        wins[:] = 0
        if record:
            history[job, 0] = held
        over = is_over(held, honest, closed[item], decides, undecided)
        used = 0
        asks = 0
        while used < rounds and not over and halt[0] == 0:
            for turn in range(honest):
                i = turn
                if not lockstep:
                    word += step
                    i = np.int64(below(mix(word), np.uint64(honest))[0])
                s = node[i]
                if graph:
                    low, high = starts[i], starts[i + 1]
                else:
                    low, high = 0, nodes
                    if not self_sampling:  # move the asker out of reach
                        high = nodes - 1
                        other = urn[high]
                        urn[place[i]], place[other] = other, place[i]
                        urn[high], place[i] = i, high
                tally[:] = 0.0
                total = 0.0
                for j in range(k):
                    word += step
                    pick = low + j + np.int64(below(mix(word), np.uint64(high - low - j))[0])
                    peer = urn[pick]
                    urn[pick] = urn[low + j]
                    urn[low + j] = peer
                    if not graph:
                        place[urn[pick]], place[peer] = pick, low + j
                    if peer < honest:
                        said = colour[node[peer]]
                    else:
                        b = peer - honest
                        seen = 0
                        if sees[b] == DIE:
                            die += die_step
                            seen = np.int64(below(mix(die), np.uint64(colours))[0])
                        elif sees[b] == ASKER:
                            seen = number[i]
                        elif sees[b] == RUNNER_UP:
                            seen = runner_up(held)
                        elif sees[b] == TARGET:
                            seen = colour[node[target[b]]]
                        said = answers[b, item, seen + 1]
                    weight = weights[peer] if weighted else 1.0
                    total += weight
                    if said >= 0:
                        tally[said] += weight
                fresh[i] = s
                if asking[s] == 0:
                    continue
                asks += 1
                won = -1
                for c in range(colours):
                    if total > 0.0 and tally[c] * k >= alpha[i] * total * _SLACK:
                        won = c
                ahead = wins_ahead(wins, i, won, colour[s]) if counts_wins else 0
                new = after[s, won + 1, ahead]
                if events.shape[0] > 0 and colour[new] != colour[s]:
                    if happened < events.shape[0]:
                        events[happened, 0] = used + 1
                        events[happened, 1] = i
                        events[happened, 2] = colour[s]
                        events[happened, 3] = colour[new]
                        for c in range(colours):
                            events[happened, 4 + c] = tally[c] * k / total
                    happened += 1
                if lockstep:
                    fresh[i] = new
                elif new != s:
                    node[i] = new
                    undecided -= asking[s] - asking[new]
                    before, now = colour[s], colour[new]
                    if before != now:
                        if before >= 0:
                            held[before] -= 1
                        held[now] += 1
                    if (undecided == 0) if decides else (held[now] == honest and closed[item, now]):
                        over = True
                        break
            used += 1
            if lockstep:
                undecided -= take_effect(node, fresh, colour, asking, held)
                over = is_over(held, honest, closed[item], decides, undecided)
            if record:
                history[job, used] = held
        if record:
            for later in range(used + 1, rounds + 1):
                history[job, later] = held
        for i in range(honest):
            decisions[job, i] = colour[node[i]]
        played[job] = used
        asked[job] = asks
        settled[job] = over
    return happened
