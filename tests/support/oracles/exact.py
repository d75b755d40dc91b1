"""Independent truth for the tests: exact integers and fractions, and brute force over all samples.

Nothing here imports folkmoot.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations, product


def tail(urn: int, marked: int, k: int, alpha: int) -> int:
    """C(urn, k) H(urn, marked, k, alpha), an integer."""
    return sum(
        math.comb(marked, j) * math.comb(urn - marked, k - j) for j in range(alpha, min(k, marked) + 1)
    )


def rates(n: int, k: int, alpha: int, f: int, self_sampling: bool) -> tuple[list[int], list[int]]:
    """Birth and death rates over b = 0..n-f, as integers in units of 1 / C(urn, k)."""
    c = n - f
    urn = n if self_sampling else n - 1
    tails = [tail(urn, x, k, alpha) for x in range(urn + 1)] + [0]
    birth = [(c - b) * tails[b] for b in range(c + 1)]
    death = [b * tails[n - b] if b else 0 for b in range(c + 1)]
    return birth, death


def absorption_sums(birth: list[int], death: list[int]) -> tuple[list[int], list[int]]:
    """For each b, integers proportional to B_b and R_b (theorem "exact xi"), ends absorbing.

    Literally the paper's sums of products w_l = mu_1 ... mu_{l-1} lambda_l ... lambda_{c-1}; states where
    both rates vanish come out as (0, 0).
    """
    c = len(birth) - 1
    first = 1 + max((j for j in range(1, c) if birth[j] == 0), default=0)  # before it, all products are 0
    weights = [0] * (first - 1)
    weights.append(math.prod(death[1:first]) * math.prod(birth[first:c]))
    for i in range(first, c):  # the next product has mu_i in the place of lambda_i
        weights.append(weights[-1] * death[i] // birth[i])
    blue = [0] * (c + 1)
    for b in range(1, c + 1):
        blue[b] = blue[b - 1] + weights[b - 1]
    red = [0] * (c + 1)
    for b in range(c - 1, -1, -1):
        red[b] = red[b + 1] + weights[b]
    return blue, red


Moves = dict[tuple[int, ...], dict[tuple[int, ...], Fraction]]  # where to from each state, with what weight


def moves(birth: list[int], death: list[int]) -> Moves:
    """The chain of those rates for ``hitting``, which solves it also where the products above are 0/0."""
    c = len(birth) - 1
    return {
        (b,): {
            (to,): Fraction(rate) for to, rate in ((b + 1, birth[b]), (b - 1, death[b])) if rate and 0 < b < c
        }
        for b in range(c + 1)
    }


def log_ratio(part: int, whole: int) -> float:
    """log(part / whole) to double precision for integers of any size."""
    if part == 0:
        return -math.inf
    if 2 * part > whole:  # near 1: from the difference, which is exact
        shift = 2000
        return math.log1p(-float(Fraction(((whole - part) << shift) // whole, 1 << shift)))
    shift = whole.bit_length() - part.bit_length() + 80
    return math.log((part << shift) // whole) - shift * math.log(2)


def accuracy_gap(n: int, f: int, needed: int, blue: list[int], total: int, p: Fraction) -> Fraction:
    """P_Maj - P_S, exactly, for equal accuracies p and B_b = blue[b] / total.

    A tie of n/2 votes, where a bare majority is needed, is half right.
    """
    c = n - f
    right, cases = p.as_integer_ratio()
    gap, all_wrong = 0, 1  # whole numbers by Horner's rule, in units of 1 / (2 total cases^c)
    for b in range(c, -1, -1):
        tied = 2 * b == n and needed == b + 1
        coefficient = (2 * total if b >= needed else total if tied else 0) - 2 * blue[b]
        gap = gap * right + math.comb(c, b) * coefficient * all_wrong
        all_wrong *= cases - right
    return Fraction(gap, 2 * total * cases**c)


def poisson_binomial(p: list[Fraction]) -> list[Fraction]:
    """The law of the number of successes, by multiplying out the generating function."""
    law = [Fraction(1)]
    for chance in p:
        law = [
            (law[b] if b < len(law) else 0) * (1 - chance) + (law[b - 1] if b else 0) * chance
            for b in range(len(law) + 1)
        ]
    return law


@cache
def turn_chance(
    n: int, k: int, alpha: int, asker: int, colours: tuple[int, ...], self_sampling: bool
) -> Fraction:
    """The chance that a query turns this node, by asking every possible sample of k nodes."""
    others = [i for i in range(n) if self_sampling or i != asker]
    samples = list(combinations(others, k))
    turned = sum(sum(colours[i] != colours[asker] for i in sample) >= alpha for sample in samples)
    return Fraction(turned, len(samples))


def brute_force_blue(
    alphas: list[int], k: int, f: int, self_sampling: bool
) -> dict[tuple[int, ...], tuple[Fraction, Fraction]]:
    """All-blue and all-red probabilities of every colouring of the honest nodes, nothing lumped together.

    States are whole colourings (2^c of them); the last f nodes are Byzantine and red. The equations
    are solved by elimination over the fractions, restricted to what can reach the target.
    """
    c = len(alphas)
    n = c + f
    states = list(product((0, 1), repeat=c))
    moves: Moves = {}
    for state in states:
        moves[state] = {}
        if len(set(state)) == 1:
            continue
        for i in range(c):
            chance = turn_chance(n, k, alphas[i], i, state + (0,) * f, self_sampling)
            if chance:
                after = (*state[:i], 1 - state[i], *state[i + 1 :])
                moves[state][after] = chance
    ends = (1,) * c, (0,) * c
    solved = [hitting(moves, end) for end in ends]
    return {state: (solved[0][state], solved[1][state]) for state in states}


def hitting(moves: Moves, target: tuple[int, ...]) -> dict[tuple[int, ...], Fraction]:
    """The chance to ever reach the target, by Gaussian elimination."""
    reach = {target}
    grown = True
    while grown:
        more = {s for s, to in moves.items() if s not in reach and any(t in reach for t in to)}
        grown = bool(more)
        reach |= more
    unknown = [s for s in moves if s in reach and s != target]
    index = {s: i for i, s in enumerate(unknown)}
    rows = []
    for s in unknown:
        row = [Fraction(0)] * (len(unknown) + 1)
        row[index[s]] = sum(moves[s].values(), Fraction(0))
        for t, chance in moves[s].items():
            if t == target:
                row[-1] += chance
            elif t in index:
                row[index[t]] -= chance
        rows.append(row)
    for i in range(len(rows)):
        pivot = next(r for r in range(i, len(rows)) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for r in range(len(rows)):
            if r != i and rows[r][i]:
                factor = rows[r][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    result = {s: Fraction(0) for s in moves} | {s: rows[index[s]][-1] for s in unknown}
    result[target] = Fraction(1)
    return result
