"""The bit-sliced kernel: two-class Slush for a whole batch at once, 64 inputs in a machine word.

A real query carries a participant's votes on all inputs, so one schedule serves the batch. Row i of
``state`` holds bit m of the inputs' classes at position i. The k answers of a query are added up by
carry-save adders, bit-plane by bit-plane, and compared with the threshold without leaving the words.

Marginals are exact. Where all ask alike, participants are permuted over the positions anew for each input. So
inputs do not all owe their fate to the same lucky askers. The variance of an ensemble's
accuracy is then nearly that of independent schedules (docs/simulation.md has the figures). The schedule is
drawn as in the explicit kernel with ``shared``.
"""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Array
from folkmoot.machine import compiled
from folkmoot.simulation.kernels.arguments import Deliberation, Jobs, PeerLists, Results
from folkmoot.simulation.kernels.asking import ask_uniformly, ordered
from folkmoot.simulation.kernels.streams import below, mix, stream
from folkmoot.simulation.setting import Options, Setting
from folkmoot.simulation.sharing import Piece
from folkmoot.votes import NO_VOTE

ZERO, ONE, WORD = np.uint64(0), np.uint64(1), np.uint64(64)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
PLANES = 4  # counts up to k = 15; larger samples go to the explicit kernel
MOST_K = 15


def plays(setting: Setting, options: Options) -> bool:
    """Shared batches of two-class Slush where the malicious all answer alike, one participant at a time."""
    if not (options.shared and setting.plain and setting.fixed) or options.record:
        return False
    if setting.weighted or setting.lockstep or setting.protocol.k > MOST_K:
        return False
    unsaid = setting.fixed_answers == NO_VOTE
    silent = unsaid.any(axis=1)
    # A row of the kernel is silent on all inputs or on none, and on none if thresholds change seats.
    local = reseats(setting, options) and bool((setting.honest_alpha != setting.honest_alpha[0]).any())
    return np.array_equal(silent, unsaid.all(axis=1)) and not (local and bool(silent.any()))


def reseats(setting: Setting, options: Options) -> bool:
    """Whether participants are seated anew for each input: only where all ask alike."""
    return options.permute and setting.exchangeable


def pieces(setting: Setting, options: Options, results: Results) -> list[Piece]:
    """Blocks of whole words; the schedule is the same in each, so blocks can be of any size."""
    deliberation, peer_lists, fixed, permute = (
        setting.deliberation,
        setting.peer_lists,
        setting.fixed_answers,
        reseats(setting, options),
    )
    inputs = len(deliberation.votes)
    words = -(-inputs // 64)
    size = 64 * -(-words // (1 if options.repeats >= options.threads else options.threads))

    def block(first: int, last: int) -> Piece:
        def some(halt: Array) -> None:
            jobs = Jobs(first, last, halt, options.seed, options.keys)
            play(jobs, deliberation, peer_lists, fixed, permute, True, results)

        return Piece(last - first, some)

    return [
        block(start + first, start + min(first + size, inputs))
        for start in range(0, options.repeats * inputs, inputs)
        for first in range(0, inputs, size)
    ]


@compiled(nogil=True)
def play(
    jobs: Jobs,  # of one repetition; the first input is a multiple of 64
    deliberation: Deliberation,
    peer_lists: PeerLists,
    fixed: Array,  # (byzantine, input) int8: 0, 1, or -1 for silence (then on every input)
    permute: bool,  # only if all ask the same peers
    stop: bool,  # end early when every input is converged
    results: Results,
) -> None:
    """Plays the inputs of the jobs together."""
    first_job, last_job, halt, seed, keys = jobs
    votes, closed, _, rounds = deliberation
    sizes, alpha, starts, peers, _, asks_itself, nodes = peer_lists
    decisions, played, asked, converged, _ = results
    inputs, honest = votes.shape
    byzantine = fixed.shape[0]
    repetition, first = divmod(first_job, inputs)
    last = first + last_job - first_job
    k = sizes.max()
    width = (last - first + 63) // 64
    local = False
    for i in range(honest):
        local = local or (permute and alpha[i] != alpha[0])
    state = np.zeros((nodes, width), dtype=np.uint64)
    # If thresholds change seats: bit-planes of alpha, and of k - alpha, of whoever sits at each position.
    up = np.zeros(honest * PLANES * width if local else 0, dtype=np.uint64)
    down = np.zeros(honest * PLANES * width if local else 0, dtype=np.uint64)
    planes = np.empty(PLANES * width, dtype=np.uint64)
    flat = state.reshape(-1)
    least = alpha.min()
    may_close = np.zeros((2, width), dtype=np.uint64)
    valid = np.zeros(width, dtype=np.uint64)
    order = np.empty(honest, dtype=np.int64)
    silent = np.zeros(nodes, dtype=np.bool_)
    for b in range(byzantine):
        silent[honest + b] = fixed[b, first] < 0
    for item in range(first, last):
        w = (item - first) >> 6
        lane = np.uint64(item - first) % WORD
        bit = ONE << lane
        permutation(seed, repetition, keys[item], permute, order)
        for i in range(honest):
            state[i, w] |= np.uint64(votes[item, order[i]]) << lane  # no branch: votes are unpredictable
            if local:
                threshold = alpha[order[i]]
                for plane in range(PLANES):
                    at = (i * PLANES + plane) * width + w
                    if (threshold >> plane) & 1:
                        up[at] |= bit
                    if ((k - threshold) >> plane) & 1:
                        down[at] |= bit
        for b in range(byzantine):
            if fixed[b, item] == 1:
                state[honest + b, w] |= bit
        valid[w] |= bit
        for c in range(2):
            if closed[item, c]:
                may_close[c, w] |= bit

    word, step = stream(seed, repetition, -1, 1)
    shuffled = np.empty(peers.size if starts.size else nodes, dtype=np.int64)
    place = np.empty(nodes, dtype=np.int64)
    ordered(starts, peers, shuffled, place)
    who = np.empty(k, dtype=np.int64)
    rows = np.empty(k, dtype=np.int64)
    requests = 0
    done = np.zeros(width, dtype=np.uint64)
    for item in range(first, last):
        played[repetition * inputs + item] = rounds
    used = 0
    finished = settle(state, honest, may_close, valid, done, 0, first, repetition * inputs, played)
    while used < rounds and not (stop and finished) and halt[0] == 0:
        for _ in range(honest):
            word += step
            i = np.int64(below(mix(word), np.uint64(honest))[0])
            size = sizes[i]
            word = ask_uniformly(i, word, step, size, starts, asks_itself, nodes, shuffled, place, who)
            requests += size
            answers = 0
            for j in range(size):
                if not silent[who[j]]:
                    rows[answers] = who[j] * width
                    answers += 1
            threshold = least if local else alpha[i]
            if answers < threshold:
                continue
            planes[:] = ZERO
            j = 0
            while j + 4 <= answers:
                add_four(planes, flat, rows[j], rows[j + 1], rows[j + 2], rows[j + 3], width)
                j += 4
            while j < answers:
                add_one(planes, flat, rows[j], width)
                j += 1
            if local:
                decide_locally(flat, i * width, planes, up, down, i * PLANES * width, width)
            else:
                decide(flat, i * width, planes, threshold, answers - threshold, width)
        used += 1
        if not finished:
            finished = settle(state, honest, may_close, valid, done, used, first, repetition * inputs, played)
    for item in range(first, last):
        w = (item - first) >> 6
        lane = np.uint64(item - first) % WORD
        job = repetition * inputs + item
        asked[job] = requests
        converged[job] = (done[w] >> lane) & ONE != ZERO
        permutation(seed, repetition, keys[item], permute and not converged[job], order)
        for i in range(honest):
            decisions[job, order[i]] = (state[i, w] >> lane) & ONE


@compiled(nogil=True)
def permutation(seed: int, repetition: int, key: int, permute: bool, order: Array) -> None:
    """order[position] = participant, for this input."""
    for i in range(order.size):
        order[i] = i
    if permute:
        word, step = stream(seed, repetition, key, 3)
        for i in range(order.size - 1, 0, -1):
            word += step
            j = np.int64(below(mix(word), np.uint64(i + 1))[0])
            order[i], order[j] = order[j], order[i]


# The loops below run over slices of two flat arrays, which is the form that LLVM turns into vector code;
# handed rows of a matrix, it does not (measured: ten times slower).


@compiled(nogil=True)
def add_one(planes: Array, state: Array, a: int, width: int) -> None:
    """Add the answers of row a to the counts: a ripple of half adders."""
    c0, c1 = planes[:width], planes[width : 2 * width]
    c2, c3 = planes[2 * width : 3 * width], planes[3 * width : 4 * width]
    one = state[a : a + width]
    for w in range(width):
        carry = c0[w] & one[w]
        c0[w] ^= one[w]
        next_carry = c1[w] & carry
        c1[w] ^= carry
        carry = c2[w] & next_carry
        c2[w] ^= next_carry
        c3[w] ^= carry


@compiled(nogil=True)
def add_four(planes: Array, state: Array, a: int, b: int, c: int, d: int, width: int) -> None:
    """Add the answers of four rows: three full adders, then half adders for what is carried."""
    c0, c1 = planes[:width], planes[width : 2 * width]
    c2, c3 = planes[2 * width : 3 * width], planes[3 * width : 4 * width]
    one, two, three, four = (
        state[a : a + width],
        state[b : b + width],
        state[c : c + width],
        state[d : d + width],
    )
    for w in range(width):
        half = c0[w] ^ one[w]
        pair = (c0[w] & one[w]) | (half & two[w])
        ones = half ^ two[w]
        half = ones ^ three[w]
        other = (ones & three[w]) | (half & four[w])
        c0[w] = half ^ four[w]
        half = c1[w] ^ pair
        carry = (c1[w] & pair) | (half & other)
        c1[w] = half ^ other
        next_carry = c2[w] & carry
        c2[w] ^= carry
        c3[w] ^= next_carry


@compiled(nogil=True)
def decide(state: Array, mine: int, planes: Array, up: int, down: int, width: int) -> None:
    """Lanes with at least ``up`` blue answers turn blue, lanes with at most ``down`` turn red.

    That is the rule of who wins a query (``protocols.snow.reaches``) in bits, for 64 inputs at once.
    ``down`` is the number of answers minus alpha; as up > down, no lane does both.
    """
    c0, c1 = planes[:width], planes[width : 2 * width]
    c2, c3 = planes[2 * width : 3 * width], planes[3 * width : 4 * width]
    row = state[mine : mine + width]
    u0, u1 = ALL if up & 1 else ZERO, ALL if up & 2 else ZERO
    u2, u3 = ALL if up & 4 else ZERO, ALL if up & 8 else ZERO
    d0, d1 = ALL if down & 1 else ZERO, ALL if down & 2 else ZERO
    d2, d3 = ALL if down & 4 else ZERO, ALL if down & 8 else ZERO
    for w in range(width):
        more = c3[w] & ~u3
        equal = ~(c3[w] ^ u3)
        more |= equal & c2[w] & ~u2
        equal &= ~(c2[w] ^ u2)
        more |= equal & c1[w] & ~u1
        equal &= ~(c1[w] ^ u1)
        more |= equal & c0[w] & ~u0
        equal &= ~(c0[w] ^ u0)
        blue = more | equal
        more = c3[w] & ~d3
        equal = ~(c3[w] ^ d3)
        more |= equal & c2[w] & ~d2
        equal &= ~(c2[w] ^ d2)
        more |= equal & c1[w] & ~d1
        equal &= ~(c1[w] ^ d1)
        more |= equal & c0[w] & ~d0
        row[w] = (row[w] & more) | blue


@compiled(nogil=True)
def decide_locally(
    state: Array, mine: int, planes: Array, up: Array, down: Array, at: int, width: int
) -> None:
    """The same with a threshold per lane: bit-planes of alpha and of k - alpha, from ``at`` on."""
    for w in range(width):
        more, equal = ZERO, ALL
        for plane in range(PLANES - 1, -1, -1):
            count, bound = planes[plane * width + w], up[at + plane * width + w]
            more |= equal & count & ~bound
            equal &= ~(count ^ bound)
        blue = more | equal
        more, equal = ZERO, ALL
        for plane in range(PLANES - 1, -1, -1):
            count, bound = planes[plane * width + w], down[at + plane * width + w]
            more |= equal & count & ~bound
            equal &= ~(count ^ bound)
        state[mine + w] = (state[mine + w] & more) | blue


@compiled(nogil=True)
def settle(
    state: Array, honest: int, may_close: Array, valid: Array, done: Array, used: int, first: int,
    base: int, played: Array,
) -> bool:  # fmt: skip
    """Note which inputs are converged for good, and since which round; are all of them?"""
    everything = True
    for w in range(valid.size):
        every, some = ALL, ZERO
        for i in range(honest):
            every &= state[i, w]
            some |= state[i, w]
        now = valid[w] & ((every & may_close[1, w]) | (~some & may_close[0, w]))
        new = now & ~done[w]
        while new != ZERO:
            lane = 0
            while (new >> np.uint64(lane)) & ONE == ZERO:
                lane += 1
            played[base + first + w * 64 + lane] = used
            new &= new - ONE
        done[w] |= now
        everything = everything and done[w] == valid[w]
    return everything
