"""The shared kernel gives the explicit kernel's bits, whatever is asked of it and however it is cut up."""

from __future__ import annotations

from functools import partial
from typing import Any

import networkx
import numpy as np
import pytest

import folkmoot
from folkmoot import Everyone, Neighbours, Slush, Snowball, Snowflake, Trusting
from folkmoot.adversaries import (
    ConstantClass,
    Copycat,
    Equivocating,
    PerfectlyMalicious,
    RandomClass,
    Silent,
    Stalling,
)
from folkmoot.outcome import Schedule
from folkmoot.protocols import SnowProtocol
from folkmoot.simulation.kernels import shared
from support.outcomes import same

# Participants without a vote ask and are asked, as in the paper.
deliberate = partial(folkmoot.deliberate, missing="uncoloured")

N = 13
RNG = np.random.default_rng(6)
TRUST = RNG.normal(1, 1.5, (N, N))
TRUST[2] = -1  # trusts nobody
TRUST[5, 3:] = 0  # trusts three at most
TRUST[7, 4] = 1e9
WEIGHTS = RNG.random(N).tolist()
LAWS: dict[str, Any] = {
    "others": None,
    "everyone": Everyone(),
    "graph": Neighbours(networkx.circulant_graph(N, [1, 2, 4])),
    "trust": Trusting(TRUST),
    "weighted trust": Trusting(TRUST, weighted=True),
}
ALL_KINDS: dict[int, Any] = {
    0: Stalling(),
    3: RandomClass(),
    4: Copycat(target=8),
    9: Equivocating(),
    10: RandomClass(),
}
LIARS: dict[str, dict[int, Any]] = {
    "nobody": {},
    "fixed": {1: ConstantClass(1), 6: Silent(), 12: PerfectlyMalicious()},
    "by the query": ALL_KINDS,
}
SIX = [3, 4, 3, 5, 3, 3, 3, 4, 3, 3, 3, 5, 3]


@pytest.mark.parametrize("schedule", ["one", "lockstep"])
@pytest.mark.parametrize("liars", LIARS)
@pytest.mark.parametrize("law", LAWS)
def test_it_is_the_explicit_kernel_bit_for_bit(law: str, liars: str, schedule: Schedule) -> None:
    votes = np.random.default_rng(1).integers(-1, 3, (N, 90))
    options: dict[str, Any] = {
        "adversaries": LIARS[liars], "truth": np.zeros(90, dtype=np.int64), "sampling": LAWS[law],
        "schedule": schedule, "batch": "shared", "rounds": 12, "repeats": 2, "seed": 8, "classes": 3,
    }  # fmt: skip
    weights = WEIGHTS if law == "graph" else None
    rules: list[SnowProtocol[Any]] = [
        Slush(5, 3, weights=weights),
        Slush(5, SIX, weights=weights),
        Snowflake(5, 3, 3, weights=weights),
        Snowball(5, 3, 3, weights=weights),
    ]
    for protocol in rules:
        slow = deliberate(votes, protocol, record=True, **options)
        assert same(slow, deliberate(votes, protocol, threads=1, **options))
        assert same(slow, deliberate(votes, protocol, threads=5, **options))


def test_blocks_of_any_size_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = np.random.default_rng(2).integers(0, 2, (N, 100))
    outcomes = []
    for block in (2048, 33, 1):
        monkeypatch.setattr(shared, "BLOCK", block)
        outcomes.append(
            deliberate(
                votes,
                Snowball(5, 3, 4),
                sampling=Trusting(TRUST),
                adversaries=ALL_KINDS,
                batch="shared",
                repeats=3,
            )
        )
    assert same(outcomes[0], outcomes[1])
    assert same(outcomes[0], outcomes[2])


def test_a_sample_that_does_not_fit_a_byte() -> None:
    votes = np.zeros((302, 2), dtype=np.int64)
    votes[:10] = 1
    for k in (255, 256, 300):
        outcome = deliberate(
            votes, Slush(k, k // 2 + 1), sampling=Trusting(np.ones((302, 302))), batch="shared", rounds=20
        )
        assert (outcome.decision == 0).all()
        assert outcome.settled.all()


def test_progress_counts_every_input_once() -> None:
    done: list[tuple[int, int]] = []
    votes = np.zeros((N, 70), dtype=np.int64)
    deliberate(
        votes, Slush(5, 3), sampling=Trusting(TRUST), batch="shared", repeats=5, threads=2,
        progress=lambda now, whole: done.append((now, whole)),
    )  # fmt: skip
    assert done[-1] == (350, 350)
    assert sorted(done) == done
