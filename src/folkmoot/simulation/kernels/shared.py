"""The shared kernel: one query carries the whole batch, so its peers are drawn once and all inputs tallied.

Bit for bit what the explicit kernel does with ``shared``, for every sampling law, protocol and adversary:
it has the schedule's stream and the dice of each input in the same order. Row i of ``said`` holds what node i
answers on each input; a query adds up k rows. Inputs whose talk is over are taken out as the rounds go on.

In a guarded talk (``Setting.least_likeness``) an asker compares each answer with what it holds, over the
whole batch; those that are too different are silence. So no input is played without the others or taken out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from folkmoot.adversaries.interface import Liars
from folkmoot.arrays import Array
from folkmoot.compiling import compiled
from folkmoot.protocols.machine import Machine
from folkmoot.simulation.kernels.arguments import Jobs, Notebook, Results, Talk, filled, notebook
from folkmoot.simulation.kernels.asking import ask_trusted, ask_uniformly, fresh_urn
from folkmoot.simulation.kernels.rounds import (
    DIE,
    NOTHING,
    first_states,
    is_heeded,
    is_over,
    observation,
    reaches,
    wins_ahead,
)
from folkmoot.simulation.kernels.streams import below, mix, stream
from folkmoot.simulation.kernels.urns import Urns
from folkmoot.simulation.play_options import Options
from folkmoot.simulation.results import no_results
from folkmoot.simulation.setting import Setting
from folkmoot.simulation.sharing import LARGEST, Piece

MOST_K = 255  # answers are counted in bytes; larger samples go to the explicit kernel
BLOCK = 2048  # inputs in a block at most: the rows of a query then stay close to the processor
_ONE = np.uint8(1)
_ZERO = np.uint8(0)


def plays(setting: Setting, options: Options) -> bool:
    """Every shared batch that is not recorded, and every guarded one."""
    fits = setting.protocol.k <= MOST_K
    return options.shared and (setting.guarded or not options.record) and fits


def pieces(setting: Setting, options: Options, results: Results) -> list[Piece]:
    """Blocks of inputs, or of repetitions where these are small; each draws the whole schedule."""
    talk, urns, liars, machine = setting.talk, setting.urns, setting.liars, setting.machine
    inputs, repeats = len(talk.votes), options.repeats
    size = min(-(-inputs // (1 if repeats >= options.threads else options.threads)), BLOCK)
    if setting.guarded:
        size = inputs
    unused = notebook(0, 0, 0)
    several = max(1, min(LARGEST // inputs, -(-repeats // (8 * options.threads))))

    def block(repetition: int, times: int, first: int, last: int) -> Piece:
        def some(halt: Array) -> None:
            start = repetition * inputs
            jobs = Jobs(start + first, start + last, halt, options.seed, options.keys)
            play(jobs, times, talk, urns, liars, machine, results, setting.least_likeness, -1, unused)

        return Piece(times * (last - first), some)

    return [
        block(repetition, min(several, repeats - repetition), first, min(first + size, inputs))
        for repetition in range(0, repeats, several)
        for first in range(0, inputs, size)
    ]


def noted(setting: Setting, options: Options, i: int, repetition: int) -> Notebook:
    """What happened to input i in one repetition of a guarded talk; see ``explicit.noted``."""
    results = no_results(setting, replace(options, repeats=repetition + 1, record=False))
    talk, urns, liars, machine = setting.talk, setting.urns, setting.liars, setting.machine
    inputs, halt = len(talk.votes), np.zeros(1, dtype=np.uint8)
    jobs = Jobs(repetition * inputs, (repetition + 1) * inputs, halt, options.seed, options.keys)

    def play_again(notes: Notebook) -> int:
        return play(jobs, 1, talk, urns, liars, machine, results, setting.least_likeness, i, notes)

    return filled(play_again, int(urns.size.max()), setting.classes)


@compiled(nogil=True)
def play(
    jobs: Jobs,  # of one repetition
    times: int,  # in so many repetitions from there on
    talk: Talk,
    urns: Urns,
    liars: Liars,
    machine: Machine,
    results: Results,
    least: float,  # an answer must be so like what the asker holds to count; 0: all do
    watched: int,  # the input whose turns are noted, in a guarded talk; -1: none
    notes: Notebook,  # out: these turns
) -> int:
    """Plays the inputs of the jobs together; returns the number of turns, noted as far as there is room."""
    first_job, last_job, halt, seed, keys = jobs
    votes, closed, lockstep, rounds = talk
    sizes, alpha, starts, peers, trust, keep, pair, weights, asks_itself, nodes = urns
    sees, target, answers, number = liars
    after, colour, asking, start, decides, counts_wins = machine
    decisions, played, asked, settled, history = results
    note, note_asked, note_said, note_counted = notes
    inputs, honest = votes.shape
    classes = closed.shape[1]
    first_repetition, first = divmod(first_job, inputs)
    last = first + last_job - first_job
    rows = len(weights)
    whole = last - first
    state = np.empty((honest, whole), dtype=np.int32)
    fresh = np.empty((honest if lockstep else 0, whole), dtype=np.int32)
    said = np.empty((nodes, whole), dtype=np.int8)
    held = np.empty((whole, classes), dtype=np.int64)
    undecided = np.empty(whole, dtype=np.int64)
    won_so_far = np.empty((honest if counts_wins else 0, whole, classes), dtype=np.int32)
    die = np.empty(whole, dtype=np.uint64)
    die_step = np.empty(whole, dtype=np.uint64)
    item = np.empty(whole, dtype=np.int64)  # the input of each column
    over = np.empty(whole, dtype=np.bool_)
    counts = np.empty(whole, dtype=np.uint8)
    sums = np.empty(whole if rows else 0, dtype=np.float64)
    won = np.empty(whole, dtype=np.int8)
    node = np.empty(honest, dtype=np.int64)
    urn = np.empty(peers.size if starts.size else nodes, dtype=np.int64)
    place = np.empty(nodes, dtype=np.int64)
    who = np.empty(sizes.max(), dtype=np.int64)
    heard = np.empty(sizes.max(), dtype=np.int64)  # those of them whose answers count
    heeds = np.empty(sizes.max(), dtype=np.bool_)
    guarded = least > 0
    record = history.shape[0] > 0
    tally = np.zeros(classes)
    happened = 0
    flat = said.reshape(-1)
    for repetition in range(first_repetition, first_repetition + times):
        word, step = stream(seed, repetition, -1, 1)
        fresh_urn(starts, peers, keep, urn, place)
        won_so_far[:] = 0
        for m in range(whole):
            item[m] = first + m
            die[m], die_step[m] = stream(seed, repetition, keys[first + m], 2)
            undecided[m] = first_states(votes[first + m], start, colour, asking, node, held[m])
            for i in range(honest):
                state[i, m] = node[i]
                said[i, m] = colour[node[i]]
            for b in range(sees.size):
                said[honest + b, m] = answers[b, first + m, 1]
            over[m] = False
        width = whole
        used = 0
        requests = 0
        while True:
            finished = 0
            for m in range(width):
                job = repetition * inputs + item[m]
                if not over[m]:
                    over[m] = is_over(held[m], honest, closed[item[m]], decides, undecided[m])
                    if over[m] or used == rounds or halt[0] != 0:
                        played[job], asked[job], settled[job] = used, requests, over[m]
                        for i in range(honest):
                            decisions[job, i] = said[i, m]
                finished += over[m]
                if record:
                    history[job, used] = held[m]
            if finished == width or used == rounds or halt[0] != 0:
                break
            if 8 * finished > width and not guarded:
                width = take_out(
                    over, width, item, held, undecided, die, die_step, state, said, won_so_far
                )  # fmt: skip
            for turn in range(honest):
                i = turn
                if not lockstep:
                    word += step
                    i = np.int64(below(mix(word), np.uint64(honest))[0])
                size = sizes[i]
                if keep.size > 0:
                    word = ask_trusted(
                        size, word, step, starts[i], starts[i + 1], peers, trust, keep, pair, place, who
                    )
                else:
                    word = ask_uniformly(i, word, step, size, starts, asks_itself, nodes, urn, place, who)
                requests += size
                won[:width] = -1
                total = 0.0
                for j in range(size):
                    b = who[j] - honest
                    if b >= 0 and sees[b] != NOTHING:
                        for m in range(width):
                            if sees[b] == DIE:
                                die[m] += die_step[m]
                            seen = observation(sees[b], mix(die[m]), number[i], held[m], said[target[b], m])
                            said[who[j], m] = answers[b, item[m], seen + 1]
                    if rows:
                        total += weights[min(i, rows - 1), who[j]]
                told = 0
                for j in range(size):
                    heeds[j] = not guarded or is_heeded(said[i], said[who[j]], least)
                    if heeds[j]:
                        heard[told] = who[j]
                        told += 1
                for c in range(classes if size else 0):
                    if rows:
                        sums[:width] = 0.0
                        for j in range(told):
                            add_weighted(
                                sums, flat, heard[j] * whole, c, weights[min(i, rows - 1), heard[j]], width
                            )
                        mark_weighted(won, sums, alpha[i], total, size, c, width)
                    else:
                        counts[:width] = _ZERO
                        j = 0
                        while j + 4 <= told:
                            add_four(
                                counts, flat, heard[j] * whole, heard[j + 1] * whole, heard[j + 2] * whole,
                                heard[j + 3] * whole, c, width,
                            )  # fmt: skip
                            j += 4
                        while j < told:
                            add_one(counts, flat, heard[j] * whole, c, width)
                            j += 1
                        mark(won, counts, alpha[i], c, width)
                for m in range(width):
                    s = state[i, m]
                    if lockstep:
                        fresh[i, m] = s
                    if asking[s] == 0 or size == 0:
                        continue
                    ahead = wins_ahead(won_so_far[i], m, won[m], colour[s]) if counts_wins else 0
                    new = after[s, won[m] + 1, ahead]
                    if m == watched and not over[m]:
                        if happened < len(note):
                            tally[:] = 0.0
                            for j in range(told):
                                if said[heard[j], m] >= 0:
                                    weight = weights[min(i, rows - 1), heard[j]] if rows else 1.0
                                    share = size / total if rows and total > 0 else 1.0
                                    tally[said[heard[j], m]] += weight * share
                            for j in range(size):
                                note_asked[happened, j] = who[j]
                                note_said[happened, j] = said[who[j], m]
                                note_counted[happened, j] = heeds[j]
                            note[happened, 0] = used + 1
                            note[happened, 1] = i
                            note[happened, 2] = won[m]
                            note[happened, 3] = colour[s]
                            note[happened, 4] = colour[new]
                            note[happened, 5:] = tally
                        happened += 1
                    if lockstep:
                        fresh[i, m] = new
                    elif new != s:
                        move(i, m, new, state, said, held, undecided, colour, asking)
            used += 1
            if lockstep:
                for i in range(honest):
                    for m in range(width):
                        if fresh[i, m] != state[i, m]:
                            move(i, m, fresh[i, m], state, said, held, undecided, colour, asking)
        if record:
            for m in range(width):
                for later in range(used + 1, rounds + 1):
                    history[repetition * inputs + item[m], later] = held[m]
    return happened


@compiled(nogil=True)
def move(
    i: int, m: int, new: int, state: Array, said: Array, held: Array, undecided: Array, colour: Array,
    asking: Array,
) -> None:  # fmt: skip
    """Node i takes its new state on input m."""
    s = state[i, m]
    state[i, m] = new
    undecided[m] -= asking[s] - asking[new]
    if colour[s] != colour[new]:
        if colour[s] >= 0:
            held[m, colour[s]] -= 1
        held[m, colour[new]] += 1
        said[i, m] = colour[new]


@compiled(nogil=True)
def take_out(
    over: Array, width: int, item: Array, held: Array, undecided: Array, die: Array, die_step: Array,
    state: Array, said: Array, won_so_far: Array,
) -> int:  # fmt: skip
    """Move the inputs that still talk to the front; returns how many they are."""
    left = np.flatnonzero(~over[:width])
    for m in range(left.size):
        item[m], undecided[m], held[m] = item[left[m]], undecided[left[m]], held[left[m]]
        die[m], die_step[m] = die[left[m]], die_step[left[m]]
        over[m] = False
    for i in range(len(state)):
        for m in range(left.size):
            state[i, m] = state[i, left[m]]
    for i in range(len(said)):
        for m in range(left.size):
            said[i, m] = said[i, left[m]]
    for i in range(len(won_so_far)):
        for m in range(left.size):
            won_so_far[i, m] = won_so_far[i, left[m]]
    return left.size


# As in the bit-sliced kernel, loops over slices of flat arrays are what LLVM turns into vector code.


@compiled(nogil=True)
def add_four(counts: Array, said: Array, a: int, b: int, d: int, e: int, c: int, width: int) -> None:
    """Count who of four nodes names colour c."""
    total, wanted = counts[:width], np.int8(c)
    one, two = said[a : a + width], said[b : b + width]
    three, four = said[d : d + width], said[e : e + width]
    for m in range(width):
        total[m] += (
            (_ONE if one[m] == wanted else _ZERO)
            + (_ONE if two[m] == wanted else _ZERO)
            + (_ONE if three[m] == wanted else _ZERO)
            + (_ONE if four[m] == wanted else _ZERO)
        )


@compiled(nogil=True)
def add_one(counts: Array, said: Array, a: int, c: int, width: int) -> None:
    """Count whether a node names colour c."""
    total, wanted, one = counts[:width], np.int8(c), said[a : a + width]
    for m in range(width):
        total[m] += _ONE if one[m] == wanted else _ZERO


@compiled(nogil=True)
def add_weighted(sums: Array, said: Array, a: int, c: int, weight: float, width: int) -> None:
    """Add a node's weight where it names colour c."""
    total, wanted, one = sums[:width], np.int8(c), said[a : a + width]
    for m in range(width):
        total[m] += weight if one[m] == wanted else 0.0


@compiled(nogil=True)
def mark_weighted(won: Array, sums: Array, alpha: int, total: float, size: int, c: int, width: int) -> None:
    """Colour c wins where what names it reaches alpha."""
    winner, tally, wanted = won[:width], sums[:width], np.int8(c)
    for m in range(width):
        if reaches(tally[m], alpha, total, size):
            winner[m] = wanted


@compiled(nogil=True)
def mark(won: Array, counts: Array, alpha: int, c: int, width: int) -> None:
    """Colour c wins where at least alpha name it: ``reaches`` in bytes, many inputs at once."""
    winner, count, least, wanted = won[:width], counts[:width], np.uint8(alpha), np.int8(c)
    for m in range(width):
        winner[m] = wanted if count[m] >= least else winner[m]
