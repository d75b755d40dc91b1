"""Exact laws of talks among participants who ask whom they trust: every order of draws, in whole fractions.

Written from the definition alone (successive draws without replacement, each in proportion to trust among
those not drawn yet). Participants are 0..n-1: the first c honest, the rest Byzantine with a fixed answer, -1
for silence. The rules of the protocols are ``support.oracles.simulation.update``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Literal, NamedTuple

from support.oracles import simulation as oracle

Trust = Sequence[Sequence[float]]


class Talk(NamedTuple):
    """A setting; ``alpha`` holds a threshold for each honest participant."""

    rule: oracle.Rule
    k: int
    alpha: Sequence[int]
    trust: Trust
    byzantine: Sequence[int] = ()
    weighted: bool = False
    beta: int = 0


def peers_law(trust: Sequence[float], asker: int, k: int) -> dict[tuple[int, ...], Fraction]:
    """The chance of each sequence of peers, in the order in which they are drawn."""
    liked = {peer: Fraction(x) for peer, x in enumerate(trust) if peer != asker and x > 0}
    law = {}
    for order in permutations(liked, min(k, len(liked))):
        chance, left = Fraction(1), sum(liked.values(), Fraction(0))
        for peer in order:
            chance *= liked[peer] / left
            left -= liked[peer]
        law[order] = chance
    return law


def scaled(alpha: int, k: int, size: int) -> int:
    """The threshold of a smaller query, at the same place between the least majority and unanimity."""
    if size >= k:
        return alpha
    least, small = k // 2 + 1, size // 2 + 1
    place = Fraction(0) if k == least else Fraction(alpha - least, k - least)
    exact = small + place * (size - small)
    return int(exact + Fraction(1, 2))


def results(talk: Talk, colours: Sequence[int], asker: int) -> dict[int, Fraction]:
    """The law of who wins the asker's query; nobody is asked: nobody wins."""
    law: dict[int, Fraction] = defaultdict(Fraction)
    for peers, chance in peers_law(talk.trust[asker], asker, talk.k).items():
        need = scaled(talk.alpha[asker], talk.k, len(peers))
        weights = [Fraction(talk.trust[asker][peer]) if talk.weighted else Fraction(1) for peer in peers]
        won = oracle.NONE
        for colour in {colours[peer] for peer in peers} - {oracle.NONE}:
            mine = sum(w for w, peer in zip(weights, peers, strict=True) if colours[peer] == colour)
            if mine * len(peers) >= need * sum(weights):
                won = colour
        law[won] += chance
    return dict(law)


def law_after(
    talk: Talk, votes: Sequence[int], colours: int, rounds: int, schedule: Literal["one", "lockstep"]
) -> oracle.Law:
    """The exact law of the honest participants' states after so many rounds for each."""
    c = len(votes)
    known: dict[tuple[tuple[int, ...], int], dict[int, Fraction]] = {}

    def moves(joint: oracle.Joint, asker: int) -> list[tuple[oracle.Node, Fraction]]:
        node = joint[asker]
        if node.decided or not peers_law(talk.trust[asker], asker, talk.k).keys() - {()}:
            return [(node, Fraction(1))]
        key = tuple(other.colour for other in joint), asker
        if key not in known:
            known[key] = results(talk, [*key[0], *talk.byzantine], asker)
        return [
            (oracle.lumped(oracle.update(talk.rule, node, won, talk.beta)), chance)
            for won, chance in known[key].items()
        ]

    first = tuple(oracle.lumped(node) for node in oracle.start(talk.rule, votes, colours))
    law: oracle.Law = {first: Fraction(1)}
    for _ in range(rounds * c if schedule == "one" else rounds):
        after: dict[oracle.Joint, Fraction] = defaultdict(Fraction)
        for joint, share in law.items():
            if schedule == "one":
                for asker in range(c):
                    for node, chance in moves(joint, asker):
                        after[(*joint[:asker], node, *joint[asker + 1 :])] += share * chance / c
                continue
            partial: dict[oracle.Joint, Fraction] = {(): share}
            for asker in range(c):
                longer: dict[oracle.Joint, Fraction] = defaultdict(Fraction)
                for node, chance in moves(joint, asker):
                    for nodes, part in partial.items():
                        longer[(*nodes, node)] += part * chance
                partial = longer
            for nodes, part in partial.items():
                after[nodes] += part
        law = dict(after)
    return law


def colours_law(law: oracle.Law) -> dict[tuple[int, ...], float]:
    """The law of who holds which colour."""
    held = oracle.reduced(law, lambda joint: tuple(node.colour for node in joint))
    return {key: float(chance) for key, chance in held.items()}
