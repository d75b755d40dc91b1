"""The explicit kernel: every query really draws its k peers and counts their answers.

The oracle of the other kernels, and the one that serves graphs, trust, weights and Byzantine participants
whose answer depends on the query. Nodes are numbered with the honest ones first. With ``shared``, the
schedule (who asks, whom) is one stream for all inputs, as in a network where a query carries the whole
batch.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from folkmoot.arrays import Array
from folkmoot.simulation.kernels.asking import ask_trusted, ask_uniformly, fresh_urn
from folkmoot.simulation.kernels.rounds import (
    DIE,
    first_states,
    is_over,
    observation,
    take_effect,
    wins,
    wins_ahead,
)
from folkmoot.simulation.kernels.streams import below, mix, stream
from folkmoot.simulation.kernels.urns import Urns


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
    urns: Urns,
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
    asked: Array,  # out (job,) int64: requests to single peers; with ``shared``, of the batch while it talks
    settled: Array,
    history: Array,  # out (job, round, colour) int32, or empty
    events: Array,  # out (event, 4 + colour) float64: round, node, before, after, tally; or empty
) -> int:
    """Returns the number of events."""
    inputs, honest = votes.shape
    colours = closed.shape[1]
    record = history.shape[0] > 0
    sizes, alpha, starts, peers, trust, keep, pair, weights, self_sampling, nodes = urns
    rows = len(weights)
    node = np.empty(honest, dtype=np.int64)
    fresh = np.empty(honest, dtype=np.int64)
    held = np.empty(colours, dtype=np.int64)
    tally = np.empty(colours, dtype=np.float64)
    won_so_far = np.zeros((honest if counts_wins else 0, colours), dtype=np.int32)
    urn = np.empty(peers.size if starts.size else nodes, dtype=np.int64)
    place = np.empty(nodes, dtype=np.int64)
    who = np.empty(sizes.max(), dtype=np.int64)
    happened = 0
    for job in range(first_job, last_job):
        repetition, item = divmod(job, inputs)
        word, step = stream(seed, repetition, -1 if shared else keys[item], 1)
        die, die_step = stream(seed, repetition, keys[item], 2)
        fresh_urn(starts, peers, keep, urn, place)
        undecided = first_states(votes[item], start, colour, asking, node, held)
        won_so_far[:] = 0
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
                size = sizes[i]
                if keep.size > 0:
                    word = ask_trusted(
                        size, word, step, starts[i], starts[i + 1], peers, trust, keep, pair, place, who
                    )
                else:
                    word = ask_uniformly(i, word, step, size, starts, self_sampling, nodes, urn, place, who)
                tally[:] = 0.0
                total = 0.0
                for j in range(size):
                    peer = who[j]
                    if peer < honest:
                        said = colour[node[peer]]
                    else:
                        b = peer - honest
                        if sees[b] == DIE:
                            die += die_step
                        seen = observation(sees[b], mix(die), number[i], held, colour[node[target[b]]])
                        said = answers[b, item, seen + 1]
                    weight = weights[min(i, rows - 1), peer] if rows else 1.0
                    total += weight
                    if said >= 0:
                        tally[said] += weight
                fresh[i] = s
                if shared or asking[s] != 0:
                    asks += size
                if asking[s] == 0 or size == 0:
                    continue
                won = -1
                for c in range(colours):
                    if wins(tally[c], total, size, alpha[i]):
                        won = c
                ahead = wins_ahead(won_so_far, i, won, colour[s]) if counts_wins else 0
                new = after[s, won + 1, ahead]
                if events.shape[0] > 0 and colour[new] != colour[s]:
                    if happened < events.shape[0]:
                        events[happened, 0] = used + 1
                        events[happened, 1] = i
                        events[happened, 2] = colour[s]
                        events[happened, 3] = colour[new]
                        for c in range(colours):
                            events[happened, 4 + c] = tally[c] * size / total
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
                        if not shared:  # in a shared batch others may have to hear the round to its end
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
