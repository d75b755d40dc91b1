"""Simulation against the exact theory: absorption, finite horizon, Byzantine, local thresholds.

About 1.6 million trials in all. Every input of a batch starts from the same b, so the batch is a sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from folkmoot import Slush, deliberate
from folkmoot.adversaries import PerfectlyMalicious, Silent
from folkmoot.adversaries.interface import Adversary
from folkmoot.outcome import Outcome
from folkmoot.theory import LocalSlushChain
from support.statistics_of_agreement import assert_law, assert_mean, assert_rate, counted
from support.strategies import law_of, quiet_chain

KERNELS: dict[str, dict[str, Any]] = {
    "table": {},
    "explicit": {"record": True},
    "shared explicit": {"batch": "shared", "record": True},
    "bit-sliced": {"batch": "shared"},
}


def same_start(n: int, blue: int, inputs: int) -> npt.NDArray[np.int64]:
    """The first ``blue`` participants vote 1, the other honest ones 0, Byzantine ones (last) whatever."""
    column = np.zeros(n, dtype=np.int64)
    column[:blue] = 1
    return np.repeat(column[:, None], inputs, axis=1)


def play(
    kernel: str, n: int, k: int, alpha: Any, blue: int, trials: int, f: int = 0, **options: Any
) -> Outcome:
    """``trials`` games from b = blue with f perfectly malicious participants; blue is right.

    A shared schedule makes the inputs of a batch depend on each other, so there each game is a
    repetition of its own with a single input.
    """
    shared = "batch" in KERNELS[kernel]
    inputs, repeats = (1, trials) if shared else (trials, 1)
    liars: dict[int, Adversary] = {i: PerfectlyMalicious() for i in range(n - f, n)}
    sampling = law_of(options.pop("self_sampling", False))
    return deliberate(
        same_start(n, blue, inputs),
        Slush(k, alpha),
        adversaries=liars,
        truth=np.ones(inputs, dtype=np.int64),
        sampling=sampling,
        repeats=repeats,
        **{"seed": 11, "rounds": 400} | KERNELS[kernel] | options,
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("n", "k", "alpha", "f", "blue", "self_sampling"),
    [
        (31, 10, 6, 0, 16, True),
        (31, 10, 6, 0, 14, False),
        (31, 10, 8, 3, 16, False),
        (31, 10, 7, 6, 19, True),
        (12, 3, 2, 1, 6, False),
        (7, 1, 1, 0, 3, True),
    ],
)
def test_absorption(kernel: str, n: int, k: int, alpha: int, f: int, blue: int, self_sampling: bool) -> None:
    trials = 100_000 if kernel == "table" else 12_000
    outcome = play(kernel, n, k, alpha, blue, trials, f, self_sampling=self_sampling, rounds=3000)
    assert outcome.converged.all()
    assert (outcome.agreement == 1).all()
    chain = quiet_chain(n, k, alpha, byzantine=f, self_sampling=self_sampling)
    assert_rate(int((outcome.decision == 1).sum()), trials, float(chain.blue[blue]))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("n", "k", "alpha", "f", "blue", "rounds", "self_sampling"),
    [
        (31, 10, 6, 0, 15, 2, False),
        (31, 10, 9, 2, 16, 5, True),
        (15, 10, 6, 6, 9, 8, False),  # f >= alpha: all-blue is left again
        (9, 5, 3, 4, 5, 3, True),
    ],
)
def test_law_after_some_rounds(
    kernel: str, n: int, k: int, alpha: int, f: int, blue: int, rounds: int, self_sampling: bool
) -> None:
    trials = 60_000 if kernel == "table" else 15_000
    outcome = play(kernel, n, k, alpha, blue, trials, f, rounds=rounds, self_sampling=self_sampling)
    counts = outcome.counts[..., 1].ravel()
    chain = quiet_chain(n, k, alpha, byzantine=f, self_sampling=self_sampling)
    law = chain.distribution(blue, rounds * chain.honest)
    assert_law(counted(counts), dict(enumerate(law.tolist())))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("f", "self_sampling"), [(0, True), (3, False)])
def test_local_thresholds(kernel: str, f: int, self_sampling: bool) -> None:
    # 50 inputs with votes of all kinds, deliberated many times; the exact chance of each is known.
    alphas = [6] * 8 + [8] * 8 + [10] * 7
    inputs, repeats = 50, 1000 if kernel == "table" else 300
    n = 23 + f
    votes = np.zeros((n, inputs), dtype=np.int64)
    votes[:23] = np.random.default_rng(3).random((23, inputs)) < np.linspace(0.3, 0.8, 23)[:, None]
    outcome = deliberate(
        votes,
        Slush(10, alphas + [6] * f),
        adversaries={i: PerfectlyMalicious() for i in range(23, n)},
        truth=np.ones(inputs, dtype=np.int64),
        sampling=law_of(self_sampling),
        rounds=3000,
        repeats=repeats,
        seed=5,
        **KERNELS[kernel],
    )
    chain = LocalSlushChain(alphas, 10, byzantine=f, sampling=law_of(self_sampling))
    exact = [
        chain.blue([votes[:8, i].sum(), votes[8:16, i].sum(), votes[16:23, i].sum()]) for i in range(inputs)
    ]
    right = (outcome.agreement == 1) & (outcome.decision == 1)
    for i in range(inputs):
        assert_rate(int(right[:, i].sum()), repeats, exact[i])
    assert_mean(right.mean(axis=1), float(np.mean(exact)))


@pytest.mark.parametrize("permute", [True, False])
def test_bit_sliced_marginals_do_not_depend_on_the_seating(permute: bool) -> None:
    inputs, repeats, n = 130, 400, 31  # three words, the last one partly used
    votes = (np.random.default_rng(8).random((n, inputs)) < 0.5).astype(np.int64)
    outcome = deliberate(
        votes, Slush(10, 7), batch="shared", permute=permute, repeats=repeats, rounds=1000, seed=2
    )
    exact = quiet_chain(n, 10, 7, self_sampling=False).blue[votes.sum(axis=0)]
    assert_mean((outcome.decision == 1).mean(axis=1), float(exact.mean()))
    for i in range(inputs):
        assert_rate(int((outcome.decision[:, i] == 1).sum()), repeats, float(exact[i]))


@pytest.mark.parametrize("kernel", KERNELS)
def test_silent_participants_are_asked_and_say_nothing(kernel: str) -> None:
    # Four participants, one silent, k = alpha = 2, two of three blue. The red one draws both blue ones
    # with chance 1/3; a blue one never draws two reds. So in three steps the red one turns unless ...
    trials = 30_000
    shared = "batch" in KERNELS[kernel]
    inputs, repeats = (1, trials) if shared else (trials, 1)
    outcome = deliberate(
        same_start(4, 2, inputs),
        Slush(2, 2),
        adversaries={3: Silent()},
        rounds=1,
        repeats=repeats,
        seed=3,
        **KERNELS[kernel],
    )
    turned = int((outcome.counts[..., 1] == 3).sum())
    assert_rate(turned, trials, 1 - (1 - 1 / 9) ** 3)  # ... it is never both picked and lucky
