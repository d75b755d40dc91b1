"""Simulation against brute force when participants ask whom they trust (``trusting_oracle``), n <= 5.

And against the other laws: equal trust is ``Others()``, trust of 0 and 1 is ``Neighbours``. Bounds are those
of ``statistics_of_agreement``: 4.5 standard errors, or p > 1e-5.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from typing import Any, get_args

import numpy as np
import pytest

import folkmoot
from folkmoot import Neighbours, Others, Outcome, Slush, Snowball, Snowflake, Trusting
from folkmoot.adversaries import Adversary, ConstantClass, Copycat, Silent
from folkmoot.outcome import Batch, Schedule
from folkmoot.protocols import SnowProtocol
from support.oracles import simulation as oracle
from support.oracles import trusting as trusting_oracle
from support.oracles.trusting import Talk, Trust
from support.statistics_of_agreement import assert_law, assert_rate, counted
from support.strategies import quiet_chain

# Participants without a vote ask and are asked, as in the paper.
deliberate = partial(folkmoot.deliberate, missing="uncoloured")

TRIALS = 20_000
NAN = float("nan")

UNEVEN: Trust = [[NAN, 4, 1, 2, 1], [3, 9, 1, 1, 2], [1, 1, -9, 5, 1], [2, 1, 1, 0, 8], [1, 2, 3, 4, 0]]
# Participant 0 trusts two, 1 one, 2 nobody, 4 three; negative trust is none.
FEW: Trust = [[0, 3, 0, -1, 2], [-2, 0, 0, 5, 0], [0, 0, 7, 0, -1], [1, 2, 3, 0, 4], [4, 1, 1, -3, 0]]
# Nearly all trust is in one peer: the kernel draws the others in another way.
HEAVY: Trust = [
    [0, 1e9, 1, 2, 3],
    [1e12, 0, 3, 1, 1],
    [1, 1e6, 0, 1, 2],
    [5, 1, 1e15, 0, 1],
    [1, 1, 1, 1e4, 0],
]

TALKS: dict[str, tuple[Talk, list[int], int, int]] = {
    # the talk, the honest first votes, colours, rounds
    "uneven": (Talk("slush", 3, [2] * 5, UNEVEN), [0, 1, 1, 0, 1], 2, 2),
    "three colours": (Talk("slush", 2, [2] * 5, UNEVEN), [0, 1, 2, -1, 2], 3, 2),
    "own thresholds": (Talk("slush", 3, [2, 3, 3, 2, 2], UNEVEN), [0, 1, 1, 0, 1], 2, 2),
    "fewer than k": (Talk("slush", 3, [2, 3, 2, 3, 3], FEW), [0, 1, 1, 0, 1], 2, 3),
    "fewer than k, scaled": (Talk("slush", 4, [4, 3, 3, 4, 3], FEW), [0, 1, 1, 0, 0], 2, 3),
    "heavy": (Talk("slush", 3, [2] * 5, HEAVY), [0, 1, 1, 0, 1], 2, 2),
    "weighted": (Talk("slush", 3, [2] * 5, UNEVEN, weighted=True), [0, 1, 1, 0, 1], 2, 2),
    "weighted, fewer than k": (Talk("slush", 3, [2] * 5, FEW, weighted=True), [0, 1, 1, 0, 1], 2, 3),
    "liars": (Talk("slush", 3, [2] * 3, UNEVEN, [0, -1]), [0, 1, 1], 2, 3),
    "a liar that some trust": (Talk("slush", 3, [3, 2, 2, 2], FEW, [0]), [0, 1, 1, 0], 2, 3),
    "snowflake": (Talk("snowflake", 3, [2] * 3, UNEVEN, [0, 1], beta=2), [0, 1, 1], 2, 2),
    "snowflake, fewer than k": (Talk("snowflake", 3, [2] * 5, FEW, beta=2), [0, 1, -1, 1, 0], 2, 2),
    "snowball": (Talk("snowball", 3, [2] * 3, UNEVEN, [-1, 1], beta=2), [0, 1, 0], 2, 2),
    "snowball, heavy": (Talk("snowball", 3, [3] * 3, HEAVY, [1, 1], beta=2), [0, 1, 0], 2, 2),
}


def protocol(talk: Talk) -> SnowProtocol[Any]:
    alpha = [*talk.alpha, *[talk.k] * len(talk.byzantine)]
    if talk.rule == "slush":
        return Slush(talk.k, alpha)
    return (Snowflake if talk.rule == "snowflake" else Snowball)(talk.k, alpha, talk.beta)


def play(talk: Talk, votes: list[int], batch: Batch, trials: int = TRIALS, **options: Any) -> Outcome:
    """Many games of one input; as inputs of a shared batch hang together, there they are repetitions."""
    inputs, repeats = (trials, 1) if batch == "independent" else (1, trials)
    c = len(votes)
    liars: dict[int, Adversary] = {
        c + j: Silent() if x < 0 else ConstantClass(x) for j, x in enumerate(talk.byzantine)
    }
    return deliberate(
        np.repeat(np.array([*votes, *[0] * len(liars)])[:, None], inputs, axis=1),
        protocol(talk),
        sampling=Trusting(talk.trust, weighted=talk.weighted),
        adversaries=liars,
        batch=batch,
        repeats=repeats,
        **{"seed": 5} | options,
    )


def held(outcome: Outcome) -> dict[Any, int]:
    rows = np.moveaxis(outcome.decisions[..., outcome.honest, :], -2, -1)
    return counted(rows.reshape(-1, rows.shape[-1]))


@cache
def exact(name: str, schedule: Schedule) -> oracle.Law:
    talk, votes, colours, rounds = TALKS[name]
    return trusting_oracle.law_after(talk, votes, colours, rounds, schedule)


@pytest.mark.parametrize("batch", ["independent", "shared"])
@pytest.mark.parametrize("schedule", ["one", "lockstep"])
@pytest.mark.parametrize("name", TALKS)
def test_law_of_colours_and_decisions(name: str, schedule: Schedule, batch: Batch) -> None:
    talk, votes, colours, rounds = TALKS[name]
    law = exact(name, schedule)
    outcome = play(talk, votes, batch, schedule=schedule, rounds=rounds, classes=colours)
    assert_law(held(outcome), trusting_oracle.colours_law(law))
    if talk.rule != "slush":
        decided = oracle.decided_law(law).get(len(votes), Fraction(0))
        assert_rate(int(outcome.settled.sum()), TRIALS, float(decided))


def test_the_oracle_knows_equal_trust_and_graphs() -> None:
    """In exact fractions: equal trust is the law of all others, trust of 0 and 1 that of a graph."""
    votes, alpha = [0, 1, 1, 0, 1], [2, 3, 2, 2, 3]
    graph = [[0, 1, 1, 1, 0], [1, 0, 1, 1, 1], [1, 1, 0, 0, 1], [1, 1, 1, 0, 1], [1, 1, 0, 1, 0]]
    for trust in ([[7] * 5] * 5, graph):
        talk = Talk("slush", 3, alpha, trust)
        neighbours = [[j for j in range(5) if j != i and trust[i][j]] for i in range(5)]
        other = oracle.one_law(
            "slush", oracle.start("slush", votes, 2), 5, 10, k=3, alpha=alpha, self_sampling=False,
            neighbours=neighbours, by_node=True,
        )  # fmt: skip
        assert trusting_oracle.law_after(talk, votes, 2, 2, "one") == other


@pytest.mark.parametrize("batch", ["independent", "shared"])
def test_equal_trust_is_the_law_of_all_others(batch: Batch) -> None:
    n, k, alpha, blue, trials = 31, 10, 7, 16, 20_000
    talk = Talk("slush", k, [alpha] * n, [[0.3] * n] * n)
    outcome = play(talk, [1] * blue + [0] * (n - blue), batch, trials, rounds=5)
    law = quiet_chain(n, k, alpha, self_sampling=False).distribution(blue, 5 * n)
    assert_law(counted(outcome.counts[..., 1].ravel()), dict(enumerate(law.tolist())))


def test_trust_of_zero_and_one_is_a_graph() -> None:
    rng = np.random.default_rng(3)
    graph = (rng.random((12, 12)) < 0.6) & ~np.eye(12, dtype=np.bool_)
    graph[:, :4] = ~np.eye(12, dtype=np.bool_)[:, :4]  # nobody has fewer than three neighbours
    votes = np.repeat((rng.random(12) < 0.5).astype(np.int64)[:, None], 40_000, axis=1)
    by_trust, by_graph = (
        deliberate(votes, Slush(3, 2), sampling=law, rounds=2, seed=1)
        for law in (Trusting(graph), Neighbours(graph))
    )
    blue = np.array([(x.decisions == 1).mean(axis=1) for x in (by_trust, by_graph)])
    error = np.sqrt(blue.mean(axis=0) * (1 - blue.mean(axis=0)) * 2 / votes.shape[1])
    assert (np.abs(blue[0] - blue[1]) < 4.5 * np.maximum(error, 1e-9)).all()
    everybody = deliberate(votes, Slush(3, 2), sampling=Others(), rounds=2, seed=1)
    assert (np.abs((everybody.decisions == 1).mean(axis=1) - blue[1]) > 4.5 * error).any()  # it could tell


def test_an_adversary_that_looks_at_the_query_is_asked_by_those_who_trust_it() -> None:
    # Participant 0 trusts only the copycat, which says what 1 holds; nobody else trusts it.
    trust = [[0, 0, 0, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
    votes = np.repeat(np.array([0, 1, 1, 0])[:, None], 300, axis=1)
    for batch in get_args(Batch):
        outcome = deliberate(
            votes,
            Slush(2, 2),
            sampling=Trusting(trust),
            adversaries={3: Copycat(target=1)},
            batch=batch,
            rounds=100,
        )
        assert (outcome.decisions[:3] == 1).all()
        assert outcome.settled.all()
