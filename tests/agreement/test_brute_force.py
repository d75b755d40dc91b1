"""Simulation against brute force at small n: Snowflake, Snowball, more colours, lockstep, graphs, weights.

``support.oracles.simulation`` is a second implementation, written from the papers without sight of the first.
It propagates the exact law of all nodes' states, every sample of k enumerated.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import networkx
import numpy as np
import pytest
from scipy.stats import chi2_contingency

import folkmoot
from folkmoot import Everyone, Neighbours, Others, Slush, Snowball, Snowflake
from folkmoot.adversaries import ConstantClass, Silent
from folkmoot.adversaries.behaviours import Copycat, Equivocating, PerfectlyFaulty, RandomClass, Stalling
from folkmoot.adversaries.interface import Adversary
from folkmoot.outcome import Schedule
from folkmoot.protocols.snow import SnowProtocol
from support.oracles import simulation as oracle
from support.statistics_of_agreement import P_BOUND, assert_law, assert_rate, counted

# Participants without a vote ask and are asked, as in the paper.
deliberate = partial(folkmoot.deliberate, missing="present")

TRIALS = 40_000


def protocol(rule: oracle.Rule, k: int, alpha: Any, beta: int) -> SnowProtocol[Any]:
    if rule == "slush":
        return Slush(k, alpha)
    return Snowflake(k, alpha, beta) if rule == "snowflake" else Snowball(k, alpha, beta)


def liars(answers: list[int], first: int) -> dict[int, Adversary]:
    return {first + j: Silent() if x < 0 else ConstantClass(x) for j, x in enumerate(answers)}


CASES: list[tuple[oracle.Rule, int, Any, int, list[int], list[int], int, int, bool]] = [
    # rule, k, alpha, beta, honest votes, Byzantine answers, colours, rounds, self-sampling
    ("slush", 3, 2, 0, [0, 1, 2, 1, 0], [], 3, 2, False),
    ("slush", 3, 3, 0, [0, 1, -1, 1], [0], 2, 3, True),
    ("slush", 2, 2, 0, [0, 1, 2, -1], [2], 3, 3, False),
    ("slush", 3, [2, 3, 3, 2, 2], 0, [0, 1, 1, 0, 1], [], 2, 2, True),
    ("snowflake", 3, 3, 2, [0, 1, 0, 1, 1], [0], 2, 3, False),
    ("snowflake", 2, 2, 2, [0, 1, 2, 0], [], 3, 3, True),
    ("snowflake", 3, 2, 3, [0, 1, -1, 1], [-1], 2, 3, False),
    ("snowball", 3, 3, 2, [0, 1, 0, 1, 1], [], 2, 3, False),
    ("snowball", 2, 2, 2, [0, 1, 2, 0], [], 3, 3, True),
    ("snowball", 3, 2, 2, [0, 1, 1, -1], [-1], 2, 3, False),
    ("snowball", 3, [2, 3, 3, 3], 2, [0, 1, 1, 0], [0], 2, 3, False),
]


@pytest.mark.parametrize("explicit", [False, True], ids=["table", "explicit"])
@pytest.mark.parametrize("schedule", ["one", "lockstep"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[4]}-{case[5]}")
def test_law_of_colours_and_decisions(case: Any, schedule: Schedule, explicit: bool) -> None:
    rule, k, alpha, beta, honest, byzantine, colours, rounds, self_sampling = case
    c = len(honest)
    start = oracle.start(rule, honest, colours)
    options: dict[str, Any] = {
        "k": k, "alpha": alpha, "self_sampling": self_sampling, "beta": beta, "byzantine": byzantine,
        "lump": True,
    }  # fmt: skip
    if schedule == "one":
        law = oracle.one_law(rule, start, c, rounds * c, **options)
    else:
        law = oracle.lockstep_law(rule, start, c, rounds, **options)
    alphas = alpha if isinstance(alpha, int) else [*alpha, *[alpha[0]] * len(byzantine)]
    outcome = deliberate(
        np.repeat(np.array([*honest, *[0] * len(byzantine)])[:, None], TRIALS, axis=1),
        protocol(rule, k, alphas, beta),
        adversaries=liars(byzantine, c),
        rounds=rounds,
        sampling=Everyone() if self_sampling else Others(),
        schedule=schedule,
        classes=colours,
        record=explicit,
        seed=7,
    )
    expected = {key: float(x) for key, x in oracle.colour_counts_law(law, colours).items()}
    assert_law(counted(outcome.counts), expected)
    if rule != "slush":
        all_decided = float(oracle.decided_law(law).get(c, 0))
        assert_rate(int(outcome.converged.sum()), TRIALS, all_decided)


@pytest.mark.parametrize("schedule", ["one", "lockstep"])
def test_neighbours_on_a_graph(schedule: Schedule) -> None:
    graph = networkx.Graph([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 2), (0, 4)])
    votes = [0, 1, 1, 0, 1]
    lists = [sorted(graph.adj[i]) for i in range(5)]
    run = oracle.one_law if schedule == "one" else oracle.lockstep_law
    steps = 10 if schedule == "one" else 2
    law = run(
        "slush", oracle.start("slush", votes, 2), 5, steps,
        k=2, alpha=2, self_sampling=False, neighbours=lists, by_node=True,
    )  # fmt: skip
    for given in (graph, networkx.to_numpy_array(graph, nodelist=range(5))):
        outcome = deliberate(
            np.repeat(np.array(votes)[:, None], TRIALS, axis=1),
            Slush(2, 2),
            sampling=Neighbours(given),
            schedule=schedule,
            rounds=2,
            seed=3,
        )
        expected = oracle.reduced(law, lambda joint: tuple(node.colour for node in joint))
        assert_law(counted(outcome.decisions.T), {key: float(x) for key, x in expected.items()})


def test_weighted_tallies() -> None:
    weights = [3.0, 1.0, 0.5, 2.0, 1.0]
    votes = [0, 1, 1, 0, 1]
    law = oracle.one_law(
        "slush", oracle.start("slush", votes, 2), 5, 10, k=3, alpha=2, self_sampling=False, weights=weights,
        by_node=True,
    )  # fmt: skip
    outcome = deliberate(
        np.repeat(np.array(votes)[:, None], TRIALS, axis=1), Slush(3, 2, weights=weights), rounds=2, seed=4
    )
    expected = oracle.reduced(law, lambda joint: tuple(node.colour for node in joint))
    assert_law(counted(outcome.decisions.T), {key: float(x) for key, x in expected.items()})


def test_the_size_of_equal_weights_is_nothing() -> None:
    votes = np.random.default_rng(0).integers(0, 3, (15, 200))
    plain = deliberate(votes, Slush(7, 4, weights=[1.0] * 15))
    weighted = deliberate(votes, Slush(7, 4, weights=[0.3] * 15))
    assert np.array_equal(plain.decisions, weighted.decisions)


def runner_up(colours: list[int]) -> int:
    (_, first), *rest = [*Counter(x for x in colours if x >= 0).most_common(), (-1, 0)]
    second, count = rest[0]
    if second < 0:  # one colour only: the other one has no holder
        return 1 - colours[0]
    return -1 if count == first else second


@pytest.mark.parametrize(
    ("adversary", "answer"),
    [
        (RandomClass(), lambda _asker, _colours, rng: [rng.randrange(2) for _ in range(2)]),
        (Equivocating(), lambda asker, _colours, _rng: asker % 2),
        (Stalling(), lambda _asker, colours, _rng: runner_up(list(colours))),
        (Copycat(target=1), lambda _asker, colours, _rng: colours[1]),
    ],
    ids=["random", "equivocating", "stalling", "copycat"],
)
def test_adversaries_that_look_at_the_query(adversary: Adversary, answer: oracle.Answer) -> None:
    votes = [0, 1, 1, 0, 1]
    rng = random.Random(17)
    theirs: Counter[tuple[int, ...]] = Counter()
    for _ in range(6000):
        run = oracle.simulate(
            "slush", [*votes, 0, 0], c=5, k=3, alpha=2, num_colours=2, steps=10, schedule="one",
            self_sampling=False, rng=rng, answer=answer,
        )  # fmt: skip
        theirs[oracle.colour_counts(run.nodes, 2)] += 1
    outcome = deliberate(
        np.repeat(np.array([*votes, 0, 0])[:, None], TRIALS, axis=1),
        Slush(3, 2),
        adversaries={5: adversary, 6: adversary},
        rounds=2,
        seed=6,
    )
    ours = counted(outcome.counts)
    cells = sorted(set(ours) | set(theirs))
    table = [[theirs.get(cell, 0) for cell in cells], [ours.get(cell, 0) for cell in cells]]
    assert chi2_contingency(table).pvalue > P_BOUND


def test_perfectly_faulty_participants_hurt_the_vote_and_not_the_talk() -> None:
    votes = np.ones((9, 1), dtype=np.int64)
    liars = {i: PerfectlyFaulty() for i in range(5, 9)}
    outcome = deliberate(votes, Slush(3, 2), adversaries=liars, truth=[1])
    assert outcome.decision.tolist() == [1]
    assert all(x.first_vote(0, vote=1, truth=1, classes=2) == 0 for x in liars.values())
