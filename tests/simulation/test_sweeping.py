"""Sweeps: coins against thresholds, played and counted as ``deliberate`` plays them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot import Everyone, Neighbours, Others, Slush, Snowball, deliberate
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.protocols.thresholds import StrongConfidence
from folkmoot.simulation.kernels.streams import mix, stream
from folkmoot.simulation.kernels.tossing import SWEEPING, VOTING, planes_of, seeds_of, toss
from folkmoot.simulation.setting import in_units
from folkmoot.simulation.sweeping import sweep
from folkmoot.theory import SlushChain


@pytest.mark.parametrize("many", [1, 63, 64, 65, 101, 128])
def test_a_coin_is_a_uniform_word_below_a_threshold(many: int) -> None:
    rng = np.random.default_rng(many)
    p = rng.random(many)
    p[: many // 3] = rng.choice([0.0, 1.0, 0.5, 2.0**-64], many // 3)
    thresholds = in_units(p)[None]
    votes = np.empty((5, many), dtype=np.int8)
    toss(np.uint64(99), 7, planes_of(thresholds)[0], votes)
    for talk in range(5):
        word, step = (int(each) for each in stream(99, 0, 7 + talk, VOTING))
        for group in range(0, many, 64):
            some = range(group, min(group + 64, many))
            uniform = dict.fromkeys(some, 0)
            bits = 0
            # 64-bit words, a bit at a time from the highest, until it is known of all on which side they are.
            while any(uniform[i] == int(thresholds[0, i]) >> (64 - bits) for i in some) and bits < 64:
                word = (word + step) % 2**64
                drawn = int(mix(np.uint64(word)))
                bits += 1
                for i in some:
                    uniform[i] = 2 * uniform[i] + (drawn >> (i - group) & 1)
            for i in some:
                below = uniform[i] < int(thresholds[0, i]) >> (64 - bits)
                assert votes[talk, i] == below, (talk, i)


def test_coins_are_right_as_often_as_they_should() -> None:
    p = np.array([0.0, 0.03, 0.5, 0.7, 1.0] * 20)
    votes = np.empty((40_000, p.size), dtype=np.int8)
    toss(np.uint64(3), 0, planes_of(in_units(p)[None])[0], votes)
    z = (votes.mean(axis=0) - p) / np.sqrt(np.maximum(p * (1 - p), 1e-12) / len(votes))
    assert np.abs(z).max() < 4.5
    assert np.abs(np.corrcoef(votes[:, 1:4].T) - np.eye(3)).max() < 0.02


@pytest.mark.parametrize("law", [Others(), Everyone()])
@pytest.mark.parametrize("liars", [0, 3, 6])
def test_a_talk_of_a_sweep_is_a_talk_of_deliberate(law: Any, liars: int) -> None:
    rng = np.random.default_rng(liars)
    p = rng.uniform(0.4, 0.8, (3, 25))
    rules = [Slush(7, 5), Slush(7, StrongConfidence(p[1].tolist())), Slush(7, 4)]
    found = sweep(p, rules, byzantine=liars, repeats=150, sampling=law, seed=5, rounds=20, keep="decisions")
    assert found.votes is not None
    assert found.decisions is not None
    seeds = seeds_of(5, 3)
    for which, rule in enumerate(rules):
        assert seeds[which] == stream(5, which, 0, SWEEPING)[0] >> np.uint64(1)
        votes = np.concatenate((found.votes[which], np.zeros((liars, 150), dtype=np.int8)))
        alpha = [*rule.thresholds(25).tolist(), *[7] * liars]
        outcome = deliberate(
            votes,
            Slush(7, alpha),
            adversaries={25 + i: PerfectlyMalicious() for i in range(liars)},
            truth=np.ones(150, dtype=np.int64),
            sampling=law,
            rounds=20,
            seed=int(seeds[which]),
        )
        np.testing.assert_array_equal(outcome.decisions[:25], found.decisions[which])
        assert found.rounds[which] == outcome.rounds.sum()
        assert found.queries[which] == outcome.queries
        assert found.converged[which] == outcome.converged.sum()
        assert found.open[which] == 150 - outcome.converged.sum()
        assert found.right[which] == (outcome.decision == 1).sum()
        assert found.wrong[which] == (outcome.decision == 0).sum()
        assert found.majority[which] == np.mean((np.sign(votes.mean(axis=0) - 0.5) + 1) / 2)


def test_on_any_number_of_threads_and_by_the_exact_law() -> None:
    one = sweep(0.58, Slush(10, 6), n=51, byzantine=4, repeats=20_000, threads=1, sampling=Others())
    two = sweep(0.58, Slush(10, 6), n=51, byzantine=4, repeats=20_000, threads=2, sampling=Others())
    assert one.right[0] == two.right[0]
    assert one.queries[0] == two.queries[0]
    exact = SlushChain(51, 10, 6, byzantine=4, sampling=Others()).accuracy(0.58)
    assert abs(one.accuracy[0] - exact) < 4 * one.standard_error[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"p": 1.2}, "0 <= p <= 1: got p=1.2"),
        ({"p": float("nan")}, "0 <= p <= 1"),
        ({"p": [[[0.5]]], "n": None}, "p must be a number"),
        ({"p": [], "n": None}, "p must be a number"),
        ({"n": None}, "n is missing"),
        ({"p": [0.5] * 9}, "not both"),
        ({"byzantine": 11}, "byzantine"),
        ({"protocol": Snowball(5, 3, 4)}, "Slush without weights"),
        ({"protocol": Slush(5, 3, weights=[1.0] * 11)}, "Slush without weights"),
        ({"protocol": [Slush(5, 3), Slush(6, 4)]}, "one k: got k=5, k=6"),
        ({"protocol": [Slush(5, 3)] * 2, "p": [[0.5] * 11] * 3, "n": None}, "one per setting"),
        ({"protocol": Slush(12, 7)}, "k must satisfy"),
        ({"sampling": Neighbours(1 - np.eye(11))}, "Others"),
        ({"repeats": 0}, "repeats"),
        ({"rounds": -1}, "rounds"),
        ({"seed": 2**63}, "seed"),
        ({"keep": "all"}, "keep must be 'counts' or 'decisions'"),
        ({"device": "tpu"}, "device must be 'cpu', 'cuda' or 'auto': got 'tpu'"),
        ({"device": "cuda", "keep": "decisions"}, "keep='counts'"),
        ({"device": "cuda", "rounds": 10**9}, "2\\^31"),
    ],
)
def test_bad_input(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"p": 0.6, "protocol": Slush(5, 3), "n": 11, "repeats": 5} | change
    with pytest.raises(ValueError, match=words):
        sweep(given.pop("p"), given.pop("protocol"), **given)
