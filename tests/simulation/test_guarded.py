"""Guarded talks: answers that are too different over the whole batch are silence; nothing else changes."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import folkmoot
from folkmoot import Outcome, Slush, Snowball, Trusting
from folkmoot.adversaries import Adversary, ConstantClass, Copycat, Equivocating, RandomClass, Silent
from folkmoot.outcome import Schedule
from folkmoot.simulation.kernels import shared
from support.outcomes import same

# Participants without a vote ask and are asked, as in the paper.
deliberate = partial(folkmoot.deliberate, missing="uncoloured")

N, INPUTS = 12, 90
RNG = np.random.default_rng(3)
TRUTH = RNG.integers(0, 3, INPUTS)
VOTES = np.where(RNG.random((N, INPUTS)) < 0.8, TRUTH, RNG.integers(-1, 3, (N, INPUTS)))
TRUST = RNG.random((N, N)) + 0.1
KINDS: dict[int, Adversary] = {1: Copycat(target=5), 4: RandomClass(), 9: Equivocating(), 10: Silent()}
EVERYTHING = 1e-12  # so like is every answer: one input of 90 is always the same


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("schedule", ["one", "lockstep"])
@pytest.mark.parametrize("protocol", [Slush(5, 3), Snowball(5, 3, 3)])
def test_a_guard_that_lets_all_through_changes_no_bit(
    protocol: Any, schedule: Schedule, weighted: bool
) -> None:
    """Not of the outcome, the history or the explanation, which another kernel writes without a guard."""

    def play(least: float) -> Outcome:
        return deliberate(
            VOTES, protocol, adversaries=KINDS, truth=TRUTH, sampling=Trusting(TRUST, weighted=weighted),
            schedule=schedule, batch="shared", rounds=12, repeats=2, seed=4, record=True, classes=3,
            least_likeness=least,
        )  # fmt: skip

    free, guarded = play(0.0), play(EVERYTHING)
    assert same(free, guarded)
    np.testing.assert_array_equal(free.history, guarded.history)
    changes = 0
    for i in range(0, INPUTS, 9):
        assert guarded.turns(i).changes == free.turns(i).changes
        changes += len(free.turns(i).changes)
    assert changes > 5


def by_hand(votes: Any, rounds: int, alpha: int, liars: dict[int, Any], least: float) -> Any:
    """Everybody asks everybody at once, in plain loops."""
    held = [list(map(int, row)) for row in votes]
    for _ in range(rounds):
        fresh = [list(row) for row in held]
        for i in range(len(held)):
            said = {j: list(liars.get(j, held[j])) for j in range(len(held)) if j != i}
            for j, answer in said.items():
                both = [(a, b) for a, b in zip(held[i], answer, strict=True) if a >= 0 and b >= 0]
                if sum(a == b for a, b in both) < least * len(both):
                    said[j] = [-1] * len(answer)
            for m in range(len(held[i])):
                for colour in range(3):
                    if sum(answer[m] == colour for answer in said.values()) >= alpha:
                        fresh[i][m] = colour
        held = [row if i in liars else fresh[i] for i, row in enumerate(held)]
    return np.array([[-1] * votes.shape[1] if i in liars else row for i, row in enumerate(held)])


@pytest.mark.parametrize("least", [0.3, 0.6, 0.7, 0.8])
def test_what_counts_is_what_is_alike_over_the_batch(least: float) -> None:
    liars = {2: [1] * INPUTS, 7: [0] * INPUTS}
    for rounds in (1, 2, 5):
        outcome = deliberate(
            VOTES, Slush(N - 1, 6), adversaries={2: ConstantClass(1), 7: ConstantClass(0)}, rounds=rounds,
            sampling=Trusting(np.ones((N, N))), schedule="lockstep", batch="shared", least_likeness=least,
        )  # fmt: skip
        np.testing.assert_array_equal(outcome.decisions, by_hand(VOTES, rounds, 6, liars, least))


def test_a_guarded_talk_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {
        "adversaries": KINDS, "sampling": Trusting(TRUST), "batch": "shared", "least_likeness": 0.7,
        "repeats": 3,
    }  # fmt: skip
    whole = deliberate(VOTES, Slush(5, 3), threads=1, **options)
    monkeypatch.setattr(shared, "BLOCK", 7)
    assert same(whole, deliberate(VOTES, Slush(5, 3), threads=5, **options))
    assert not same(whole, deliberate(VOTES, Slush(5, 3), **options | {"least_likeness": 0.0}))


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="needs batch='shared': got 'independent'"):
        deliberate(VOTES, Slush(5, 3), least_likeness=0.8)
    with pytest.raises(ValueError, match="least_likeness must satisfy"):
        deliberate(VOTES, Slush(5, 3), batch="shared", least_likeness=1.2)
    many = np.zeros((302, 2), dtype=np.int64)
    with pytest.raises(ValueError, match="must satisfy k <= 255: got k=256"):
        deliberate(many, Slush(256, 200), batch="shared", least_likeness=0.8)
