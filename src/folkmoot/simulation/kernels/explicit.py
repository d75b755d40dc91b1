"""The explicit kernel: every query really draws its k peers and counts their answers.

The oracle of the other kernels, and the one that serves graphs, weights and malicious participants
whose answer depends on the query. Nodes are numbered with the honest ones first. With ``shared``, the
schedule (who asks, whom) is one stream for all inputs, as in a network where a query carries the whole
batch.

It also records what the faster kernels play, with the same result. They draw only who asks and which class
wins. Here the peers of such a query are drawn again until their answers have that winner. This is the law
of the peers given the winner. In the mean that takes as many draws as there are outcomes of a query.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from folkmoot.adversaries.interface import MaliciousAnswers
from folkmoot.arrays import Array
from folkmoot.machine import compiled
from folkmoot.protocols.machine import Machine
from folkmoot.simulation.kernels import bitsliced, flip, table
from folkmoot.simulation.kernels.arguments import (
    Chances,
    Deliberation,
    Jobs,
    Notebook,
    PeerLists,
    Recorded,
    Results,
    filled,
    notebook,
)
from folkmoot.simulation.kernels.asking import ask_uniformly, ordered
from folkmoot.simulation.kernels.rounds import (
    DIE,
    first_states,
    is_over,
    observation,
    reaches,
    take_effect,
    wins_ahead,
)
from folkmoot.simulation.kernels.streams import below, mix, stream
from folkmoot.simulation.setting import Options, Setting, no_results
from folkmoot.simulation.sharing import Piece, by_jobs

ZERO = np.uint64(0)


def plays(setting: Setting, options: Options) -> bool:  # noqa: ARG001
    """Everything."""
    return True


def pieces(setting: Setting, options: Options, results: Results) -> list[Piece]:
    """Pieces of independent jobs."""
    deliberation, peer_lists, malicious, machine = (
        setting.deliberation,
        setting.peer_lists,
        setting.malicious,
        setting.machine,
    )
    known, unused = as_played(setting, options), notebook(0, 0, 0)

    def some(first: int, last: int, halt: Array) -> None:
        jobs = Jobs(first, last, halt, options.seed, options.keys)
        play(jobs, options.shared, deliberation, peer_lists, malicious, machine, known, results, unused)

    return by_jobs(some, len(results.played), options.threads)


def as_played(setting: Setting, options: Options) -> Recorded:
    """The draws of the kernel that plays this without a record."""
    plain = replace(options, record=False)
    seated = bitsliced.plays(setting, plain) and bitsliced.reseats(setting, plain)
    if table.plays(setting, plain):
        return Recorded(setting.chances, flip.plays(setting, plain), seated)
    none = np.zeros(0, dtype=np.uint64)
    return Recorded(Chances(none, none, np.zeros((0, 0), dtype=np.int64), np.uint64(0)), False, seated)


def noted(setting: Setting, options: Options, i: int, repetition: int) -> Notebook:
    """The turns of input i in one repetition, played once more."""
    results = no_results(setting, replace(options, repeats=repetition + 1, record=False))
    job = repetition * len(setting.honest_votes) + i
    jobs = Jobs(job, job + 1, np.zeros(1, dtype=np.uint8), options.seed, options.keys)
    deliberation, peer_lists, malicious, machine = (
        setting.deliberation,
        setting.peer_lists,
        setting.malicious,
        setting.machine,
    )
    known = as_played(setting, options)

    def play_again(notes: Notebook) -> int:
        return play(jobs, options.shared, deliberation, peer_lists, malicious, machine, known, results, notes)

    return filled(play_again, int(peer_lists.size.max()), setting.classes)


@compiled(nogil=True)
def play(
    jobs: Jobs,
    shared: bool,
    deliberation: Deliberation,
    peer_lists: PeerLists,
    malicious: MaliciousAnswers,
    machine: Machine,
    known: Recorded,
    results: Results,
    notes: Notebook,  # out: the turns, with room for none or for some
) -> int:
    """Plays the jobs; returns the number of turns, noted as far as there is room."""
    first_job, last_job, halt, seed, keys = jobs
    votes, closed, lockstep, rounds = deliberation
    sizes, alpha, starts, peers, weights, asks_itself, nodes = peer_lists
    sees, target, answers, number = malicious
    after, class_of, asking, start, decides, counts_wins = machine
    chances, one_move, seated = known
    chance, offset, fixed, own = chances
    decisions, played, asked, converged, history = results
    note, note_asked, note_answers = notes
    inputs, honest = votes.shape
    classes = closed.shape[1]
    record = history.shape[0] > 0
    node = np.empty(honest, dtype=np.int64)
    fresh = np.empty(honest, dtype=np.int64)
    held = np.empty(classes, dtype=np.int64)
    tally = np.empty(classes, dtype=np.float64)
    won_so_far = np.zeros((honest if counts_wins else 0, classes), dtype=np.int32)
    shuffle = np.empty(peers.size if starts.size else nodes, dtype=np.int64)
    place = np.empty(nodes, dtype=np.int64)
    who = np.empty(sizes.max(), dtype=np.int64)
    answer_of = np.empty(sizes.max(), dtype=np.int8)
    order = np.empty(honest, dtype=np.int64)
    cast = np.empty(honest, dtype=votes.dtype)
    by_chance = chance.size > 0
    uniform = np.uint64(0)
    happened = 0
    for job in range(first_job, last_job):
        repetition, item = divmod(job, inputs)
        word, step = stream(seed, repetition, -1 if shared else keys[item], 1)
        die, die_step = stream(seed, repetition, keys[item], 2)
        turns, turn_step = stream(seed, repetition, keys[item], 0)
        ordered(starts, peers, shuffle, place)
        bitsliced.permutation(seed, repetition, keys[item], seated, order)
        for i in range(honest):
            cast[i] = votes[item, order[i]]
        undecided = first_states(cast, start, class_of, asking, node, held)
        won_so_far[:] = 0
        if record:
            history[job, 0] = held
        over = is_over(held, honest, closed[item], decides, undecided)
        used = 0
        asks = 0
        while used < rounds and not over and halt[0] == 0:
            for turn in range(honest):
                i = turn
                if by_chance:
                    turns += turn_step
                    uniform = mix(turns)
                    if not lockstep:
                        drawn, uniform = below(uniform, np.uint64(honest))
                        i = np.int64(drawn)
                elif not lockstep:
                    word += step
                    i = np.int64(below(mix(word), np.uint64(honest))[0])
                s = node[i]
                size = sizes[i]
                wanted, other = -1, -1
                if by_chance:
                    fresh[i] = s
                    if asking[s] == 0:
                        continue
                    if one_move:  # only whether the other class wins is drawn
                        other = 1 - class_of[s]
                        if uniform < chance[offset[i] + np.uint64(held[other] + fixed[item, other])]:
                            wanted = other
                    else:
                        for c in range(classes):
                            counted = np.uint64(held[c] + fixed[item, c])
                            likely = chance[offset[i] + counted - (own if class_of[s] == c else ZERO)]
                            if uniform < likely:
                                wanted = c
                                break
                            uniform -= likely
                total = 0.0
                won = -1
                fits = False
                while not fits and halt[0] == 0:
                    word = ask_uniformly(i, word, step, size, starts, asks_itself, nodes, shuffle, place, who)
                    tally[:] = 0.0
                    total = 0.0
                    for j in range(size):
                        peer = who[j]
                        if peer < honest:
                            said = class_of[node[peer]]
                        else:
                            b = peer - honest
                            if sees[b] == DIE:
                                die += die_step
                            shown = observation(sees[b], mix(die), number[i], held, class_of[node[target[b]]])
                            said = answers[b, item, shown + 1]
                        answer_of[j] = said
                        weight = weights[peer] if weights.size else 1.0
                        total += weight
                        if said >= 0:
                            tally[said] += weight
                    won = -1
                    for c in range(classes):
                        if reaches(tally[c], alpha[order[i]], total, size):
                            won = c
                    same_result = (won == other) == (wanted == other) if one_move else won == wanted
                    fits = not by_chance or same_result
                fresh[i] = s
                if shared or asking[s] != 0:
                    asks += size
                if asking[s] == 0 or size == 0:
                    continue
                ahead = wins_ahead(won_so_far, i, won, class_of[s]) if counts_wins else 0
                new = after[s, won + 1, ahead]
                if note.shape[0] > 0:
                    if happened < note.shape[0]:
                        note[happened, 0] = used + 1
                        note[happened, 1] = order[i]
                        note[happened, 2] = won
                        note[happened, 3] = class_of[s]
                        note[happened, 4] = class_of[new]
                        for c in range(classes):
                            note[happened, 5 + c] = tally[c] * size / total if total > 0 else 0.0
                        for j in range(size):
                            note_asked[happened, j] = order[who[j]] if who[j] < honest else who[j]
                        note_answers[happened, :size] = answer_of[:size]
                    happened += 1
                if lockstep:
                    fresh[i] = new
                elif new != s:
                    node[i] = new
                    undecided -= asking[s] - asking[new]
                    before, now = class_of[s], class_of[new]
                    if before != now:
                        if before >= 0:
                            held[before] -= 1
                        held[now] += 1
                    if (undecided == 0) if decides else (held[now] == honest and closed[item, now]):
                        over = True
                        if not shared:  # in a shared batch other inputs may need the whole round
                            break
            used += 1
            if lockstep:
                undecided -= take_effect(node, fresh, class_of, asking, held)
                over = is_over(held, honest, closed[item], decides, undecided)
            if record:
                history[job, used] = held
        if record:
            for later in range(used + 1, rounds + 1):
                history[job, later] = held
        for i in range(honest):
            decisions[job, order[i]] = class_of[node[i]]
        played[job] = used
        asked[job] = asks
        converged[job] = over
    return happened
