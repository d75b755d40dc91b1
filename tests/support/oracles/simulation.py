"""Slow, plain second implementation of the Snow protocols: exact laws at small n, and a simulator.

Written from the specification alone; it shares no code with the package it tests. The exact part
enumerates every sample of k nodes and carries whole numbers, so that all probabilities are exact
fractions. The simulator plays one input with `random.Random`, one ask after the other.

Participants are 0..n-1: the first c are honest, the rest Byzantine. Colours are 0..C-1, and -1 is
uncoloured (an honest node) or silent (a Byzantine one).
"""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, lcm
from typing import Literal, NamedTuple, TypeVar

Rule = Literal["slush", "snowflake", "snowball"]
Schedule = Literal["one", "lockstep"]
Graph = Sequence[Sequence[int]]  # the neighbours of each node
Answer = Callable[[int, Sequence[int], random.Random], int | Sequence[int]]
"""answer(asker, honest colours now, rng): one colour for all Byzantine nodes, or one for each of them."""

NONE = -1
TOLERANCE = 1e-9  # of weighted tallies; unweighted ones are whole numbers


class Node(NamedTuple):
    """State of an honest node; the fields that its rule does not use keep their defaults."""

    colour: int
    streak: int = 0
    decided: bool = False
    last: int = NONE
    confidence: tuple[int, ...] = ()


Joint = tuple[Node, ...]
Law = dict[Joint, Fraction]
Key = TypeVar("Key", bound=Hashable)


def start(rule: Rule, colours: Sequence[int], num_colours: int) -> Joint:
    """The honest nodes' states before the first ask, from their first colours."""
    if any(not NONE <= colour < num_colours for colour in colours):
        raise ValueError("a first colour is out of range")
    if rule == "snowball":
        return tuple(Node(colour, last=colour, confidence=(0,) * num_colours) for colour in colours)
    return tuple(Node(colour) for colour in colours)


def update(rule: Rule, node: Node, result: int, beta: int) -> Node:
    """The asker's state after an ask with this result: a colour, or -1 if none reached the threshold."""
    if node.decided:
        return node
    if rule == "slush":
        return node if result == NONE else Node(result)
    if result == NONE:
        return node._replace(streak=0)
    if rule == "snowflake":
        streak = node.streak + 1 if result == node.colour else 1
        return Node(result, streak, streak >= beta)
    confidence = list(node.confidence)
    confidence[result] += 1
    colour = node.colour
    if colour == NONE or confidence[result] > confidence[colour]:
        colour = result
    streak = node.streak + 1 if result == node.last else 1
    return Node(colour, streak, streak >= beta, result, tuple(confidence))


def lumped(node: Node) -> Node:
    """The node without what no longer matters to its colour and decision, now and later.

    A decided node is its colour; the last result of a broken streak is never looked at with effect; of the
    confidences only the differences count.
    """
    if node.decided:
        return Node(node.colour, decided=True)
    lowest = min(node.confidence, default=0)
    confidence = tuple(value - lowest for value in node.confidence)
    return node._replace(last=node.last if node.streak else NONE, confidence=confidence)


def candidates(n: int, asker: int, self_sampling: bool, neighbours: Graph | None) -> list[int]:
    """The nodes that an asker draws from: the others, or its neighbours; and itself if self-sampling."""
    others = [node for node in range(n) if node != asker] if neighbours is None else list(neighbours[asker])
    if asker in others or len(set(others)) < len(others) or any(not 0 <= node < n for node in others):
        raise ValueError("neighbours must be different other nodes")
    return sorted([*others, asker]) if self_sampling else sorted(others)


def check(k: int, alphas: Sequence[float], sizes: Sequence[int], weights: Sequence[float] | None) -> None:
    """Refuse settings outside the model."""
    if any(not k / 2 < alpha <= k for alpha in alphas):
        raise ValueError("a threshold must be above k/2 and at most k")
    if any(not 1 <= k <= size for size in sizes):
        raise ValueError("an asker has fewer than k nodes to draw from")
    if weights is not None and any(weight < 0 for weight in weights):
        raise ValueError("a weight is negative")


def each(alpha: float | Sequence[float], c: int) -> tuple[float, ...]:
    """One threshold per honest node."""
    alphas = (alpha,) * c if isinstance(alpha, (int, float)) else tuple(alpha)
    if len(alphas) != c:
        raise ValueError("give one threshold, or one per honest node")
    return alphas


# Exact laws


def query_counts(
    drawn_from: Sequence[int],
    k: int,
    alpha: float,
    colours: Sequence[int],
    weights: Sequence[float] | None = None,
) -> dict[int, int]:
    """How many of the samples of k nodes end in each result; results that no sample has are left out."""
    counts: dict[int, int] = defaultdict(int)
    for sample in combinations(drawn_from, k):
        answers = [colours[node] for node in sample]
        heard = None if weights is None else [weights[node] for node in sample]
        counts[exact_result(answers, alpha, heard)] += 1
    return dict(counts)


def exact_result(answers: Sequence[int], alpha: float, weights: Sequence[float] | None) -> int:
    """The colour that reaches alpha among these answers, or -1."""
    for colour in sorted(set(answers) - {NONE}):
        if weights is None:
            reached = sum(answer == colour for answer in answers) >= alpha
        else:
            # k * mine / total >= alpha - tolerance, without the division; a total of 0 reaches nothing.
            exact = [Fraction(weight) for weight in weights]
            total = sum(exact)
            mine = sum(weight for weight, answer in zip(exact, answers, strict=True) if answer == colour)
            reached = total > 0 and len(answers) * mine >= (Fraction(alpha) - Fraction(TOLERANCE)) * total
        if reached:
            return colour
    return NONE


class Asks:
    """The setting of an exact law: what each honest asker's ask may bring, in whole numbers of one total."""

    def __init__(
        self,
        c: int,
        k: int,
        alpha: float | Sequence[float],
        byzantine: Sequence[int],
        self_sampling: bool,
        neighbours: Graph | None,
        weights: Sequence[float] | None,
        by_node: bool,
        lump: bool,
    ) -> None:
        """Keep the setting; find out whether the honest nodes are exchangeable."""
        self.k, self.byzantine, self.weights, self.lump = k, tuple(byzantine), weights, lump
        self.alphas = each(alpha, c)
        n = c + len(byzantine)
        self.drawn_from = [candidates(n, asker, self_sampling, neighbours) for asker in range(c)]
        check(k, self.alphas, [len(drawn_from) for drawn_from in self.drawn_from], weights)
        self.total = lcm(*(comb(len(drawn_from), k) for drawn_from in self.drawn_from))
        alike = len(set(self.alphas)) == 1 and neighbours is None and weights is None
        self.sort = alike and not by_node
        self.known: dict[tuple[tuple[int, ...], int], dict[int, int]] = {}

    def counts(self, joint: Joint, asker: int) -> dict[int, int]:
        """Result -> its share of `total` for this asker's next ask."""
        key = (tuple(node.colour for node in joint), asker)
        if key not in self.known:
            drawn_from, answers = self.drawn_from[asker], key[0] + self.byzantine
            counts = query_counts(drawn_from, self.k, self.alphas[asker], answers, self.weights)
            scale = self.total // comb(len(drawn_from), self.k)
            self.known[key] = {result: count * scale for result, count in counts.items()}
        return self.known[key]

    def moves(self, rule: Rule, joint: Joint, asker: int, beta: int) -> list[tuple[Node, int]]:
        """The asker's next states with their shares of `total`; a decided asker stays."""
        node = joint[asker]
        if node.decided:
            return [(node, self.total)]
        results = self.counts(joint, asker).items()
        return [(self.kept(update(rule, node, result, beta)), count) for result, count in results]

    def kept(self, node: Node) -> Node:
        """The node as the law keeps it."""
        return lumped(node) if self.lump else node

    def ordered(self, nodes: Joint) -> Joint:
        """The nodes in order of their states if they are exchangeable, else as they are."""
        return tuple(sorted(nodes)) if self.sort else nodes


def one_law(
    rule: Rule,
    start_states: Joint,
    c: int,
    steps: int,
    *,
    k: int,
    alpha: float | Sequence[float],
    self_sampling: bool,
    beta: int = 0,
    byzantine: Sequence[int] = (),
    neighbours: Graph | None = None,
    weights: Sequence[float] | None = None,
    by_node: bool = False,
    lump: bool = False,
) -> Law:
    """The exact law of the honest nodes' joint state after `steps` steps of one uniform honest asker each.

    The joint states are sorted (multisets) if the nodes are exchangeable: equal thresholds, no graph, no
    weights; `by_node` keeps them by node nevertheless. `lump` joins states that are alike in colours and
    decisions for ever (see `lumped`).
    """
    check_law(rule, start_states, c, beta)
    asks = Asks(c, k, alpha, byzantine, self_sampling, neighbours, weights, by_node, lump)
    law: dict[Joint, int] = {asks.ordered(tuple(asks.kept(node) for node in start_states)): 1}
    for _ in range(steps):
        after: dict[Joint, int] = defaultdict(int)
        for joint, share in law.items():
            for asker in range(c):
                for node, count in asks.moves(rule, joint, asker, beta):
                    after[asks.ordered((*joint[:asker], node, *joint[asker + 1 :]))] += share * count
        law = after
    whole = (c * asks.total) ** steps
    return {joint: Fraction(share, whole) for joint, share in law.items()}


def lockstep_law(
    rule: Rule,
    start_states: Joint,
    c: int,
    rounds: int,
    *,
    k: int,
    alpha: float | Sequence[float],
    self_sampling: bool,
    beta: int = 0,
    byzantine: Sequence[int] = (),
    neighbours: Graph | None = None,
    weights: Sequence[float] | None = None,
    by_node: bool = False,
    lump: bool = False,
) -> Law:
    """The exact law of the honest nodes' joint state after `rounds` rounds in which all ask at once.

    Given the state before the round the nodes' results are independent. Options as in `one_law`.
    """
    check_law(rule, start_states, c, beta)
    asks = Asks(c, k, alpha, byzantine, self_sampling, neighbours, weights, by_node, lump)
    law: dict[Joint, int] = {asks.ordered(tuple(asks.kept(node) for node in start_states)): 1}
    for _ in range(rounds):
        after: dict[Joint, int] = defaultdict(int)
        for joint, share in law.items():
            partial: dict[Joint, int] = {(): share}
            for asker in range(c):
                longer: dict[Joint, int] = defaultdict(int)
                for node, count in asks.moves(rule, joint, asker, beta):
                    for nodes, part in partial.items():
                        longer[asks.ordered((*nodes, node))] += part * count
                partial = longer
            for nodes, part in partial.items():
                after[nodes] += part
        law = after
    whole = asks.total ** (c * rounds)
    return {joint: Fraction(share, whole) for joint, share in law.items()}


def check_law(rule: Rule, start_states: Joint, c: int, beta: int) -> None:
    """Refuse a start of another size, and a missing beta."""
    if len(start_states) != c or c < 1:
        raise ValueError("give the state of each of the c >= 1 honest nodes")
    if rule != "slush" and beta < 1:
        raise ValueError("beta must be at least 1")


def reduced(law: Law, of: Callable[[Joint], Key]) -> dict[Key, Fraction]:
    """The law of a function of the joint state."""
    result: dict[Key, Fraction] = defaultdict(Fraction)
    for joint, probability in law.items():
        result[of(joint)] += probability
    return dict(result)


def colour_counts(joint: Joint, num_colours: int) -> tuple[int, ...]:
    """How many honest nodes hold each colour 0..C-1; the rest of them are uncoloured."""
    return tuple(sum(node.colour == colour for node in joint) for colour in range(num_colours))


def colour_counts_law(law: Law, num_colours: int) -> dict[tuple[int, ...], Fraction]:
    """The law of the vector of colour counts."""
    return reduced(law, lambda joint: colour_counts(joint, num_colours))


def decided_law(law: Law) -> dict[int, Fraction]:
    """The law of the number of decided nodes."""
    return reduced(law, lambda joint: sum(node.decided for node in joint))


# Simulator


@dataclass(frozen=True)
class Run:
    """The honest nodes at the end of a run, and the steps (or lockstep rounds) that were played."""

    nodes: Joint
    steps: int


def simulate(
    rule: Rule,
    votes: Sequence[int],
    *,
    c: int,
    k: int,
    alpha: float | Sequence[float],
    num_colours: int,
    steps: int,
    schedule: Schedule,
    self_sampling: bool,
    rng: random.Random,
    beta: int = 0,
    neighbours: Graph | None = None,
    weights: Sequence[float] | None = None,
    answer: Answer | None = None,
    stop: bool = False,
) -> Run:
    """Play one input: votes[:c] are the honest first colours, votes[c:] the Byzantine fixed answers.

    `steps` counts single asks in schedule "one" and rounds in "lockstep". `answer`, if given, replaces the
    fixed answers: it is called once per ask of an undecided node. `stop` ends the run as soon as no honest
    colour can change any more, because all are one colour and no Byzantine answers of another reach alpha.
    """
    n, alphas = len(votes), each(alpha, c)
    nodes = list(start(rule, votes[:c], num_colours))
    check_law(rule, tuple(nodes), c, beta)
    if any(not NONE <= vote < num_colours for vote in votes):
        raise ValueError("a Byzantine answer is out of range")
    drawn_from = [candidates(n, asker, self_sampling, neighbours) for asker in range(c)]
    check(k, alphas, [len(reachable) for reachable in drawn_from], weights)

    def ask(asker: int, honest: tuple[int, ...]) -> int:
        """Draw k nodes, count their answers, return the colour that reaches the asker's threshold."""
        if answer is None:
            byzantine = list(votes[c:])
        else:
            given = answer(asker, honest, rng)
            byzantine = [given] * (n - c) if isinstance(given, int) else list(given)
            if len(byzantine) != n - c or any(not NONE <= given < num_colours for given in byzantine):
                raise ValueError("give one colour or silence, or one per Byzantine node")
        answers = [*honest, *byzantine]
        sample = rng.sample(drawn_from[asker], k)
        tally = [0.0] * num_colours
        for node in sample:
            if answers[node] != NONE:
                tally[answers[node]] += 1 if weights is None else weights[node]
        if weights is not None:
            total = sum(weights[node] for node in sample)
            tally = [k * value / total if total > 0 else 0.0 for value in tally]
        slack = 0.0 if weights is None else TOLERANCE
        for colour, value in enumerate(tally):
            if value >= alphas[asker] - slack:
                return colour
        return NONE

    def settled() -> bool:
        """Whether all honest nodes hold one colour which no asker can be made to leave."""
        colour = nodes[0].colour
        if colour == NONE or any(node.colour != colour for node in nodes):
            return False
        for other in set(range(num_colours)) - {colour}:
            # A callable may answer anything: count every Byzantine node as one that answers `other`.
            against = {node for node in range(c, n) if answer is not None or votes[node] == other}
            for asker in range(c):
                if worst_tally(drawn_from[asker], against, k, weights) >= alphas[asker] - TOLERANCE:
                    return False
        return True

    for step in range(steps):
        if stop and settled():
            return Run(tuple(nodes), step)
        honest = tuple(node.colour for node in nodes)
        for asker in [rng.randrange(c)] if schedule == "one" else range(c):
            if not nodes[asker].decided:
                nodes[asker] = update(rule, nodes[asker], ask(asker, honest), beta)
    return Run(tuple(nodes), steps)


def worst_tally(
    drawn_from: Sequence[int], against: set[int], k: int, weights: Sequence[float] | None
) -> float:
    """The largest tally that these answerers of one colour can have: their heaviest, the lightest others."""

    def weight(node: int) -> float:
        return 1.0 if weights is None else weights[node]

    heaviest = sorted((weight(node) for node in drawn_from if node in against), reverse=True)[:k]
    lightest = sorted(weight(node) for node in drawn_from if node not in against)[: k - len(heaviest)]
    total = sum(heaviest) + sum(lightest)
    return k * sum(heaviest) / total if total > 0 else 0.0
