"""Strong confidence in an estimator: holdouts that are not like the inputs, and outcomes that stay open."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from folkmoot import Slush, StrongConfidence, deliberate
from folkmoot.adversaries import ConstantClass, PerfectlyMalicious, handed_in
from folkmoot.comparison import OpenInputsWarning
from folkmoot.old import ConsensusClassifier
from folkmoot.votes import vote_keys
from support.models import Column

N, CLASSES, INPUTS = 41, 10, 600


def others_hand(seed: int = 0) -> tuple[Any, Any]:
    """Inputs on which each is right on 48%: of the others' errors half are one look-alike of the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, CLASSES, INPUTS)
    like = (truth + rng.integers(1, CLASSES, INPUTS)) % CLASSES
    draw = rng.random((N, INPUTS))
    votes = np.where(draw < 0.48, truth, np.where(draw < 0.74, like, rng.integers(0, CLASSES, (N, INPUTS))))
    return votes.T, truth


def measured(**options: Any) -> ConsensusClassifier:
    """Participants that had 27 of 30 rows of their own right."""
    y = np.arange(30) % CLASSES
    rows = np.tile(y[:, None], (1, N))
    rows[:3] = (rows[:3] + 1) % CLASSES
    models = [Column(i, CLASSES) for i in range(N)]
    return ConsensusClassifier(models, prefit=True, random_state=0, **options).fit(rows, y)


@pytest.mark.filterwarnings("error::folkmoot.comparison.OpenInputsWarning")
@pytest.mark.parametrize("seed", range(3))
def test_a_holdout_that_is_not_like_the_inputs_leaves_nearly_nothing_open(seed: int) -> None:
    X, y = others_hand(seed)
    one = measured(protocol=Slush(10, 6))
    own = measured(protocol=Slush(10, StrongConfidence()))
    global_alpha, local = one.deliberate(X), own.deliberate(X)
    assert (local.decision == -1).mean() <= 0.05
    assert abs((local.decision == y).mean() - (global_alpha.decision == y).mean()) <= 0.01
    assert abs(own.score(X, y) - one.score(X, y)) <= 0.01
    assert own.protocol_.thresholds(N).tolist() == [9] * N  # what the holdouts alone would ask for


def test_a_holdout_that_is_like_the_inputs_keeps_its_say() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, CLASSES, INPUTS)
    X = np.where(rng.random((N, INPUTS)) < 0.95, y, rng.integers(0, CLASSES, (N, INPUTS))).T
    own = measured(protocol=Slush(10, StrongConfidence()))
    assert own.protocol_for(X).thresholds(N).tolist() == [9] * N


def test_all_ways_to_ask_talk_with_the_thresholds_of_the_batch() -> None:
    X, y = others_hand()
    moot = measured(protocol=Slush(10, StrongConfidence()))
    votes = moot.votes(X)
    alpha = StrongConfidence.of_holdout([27] * N, [30] * N, votes)
    assert moot.protocol_for(X) == Slush(10, alpha)
    options: Any = {"classes": CLASSES, "keys": vote_keys(votes), "seed": moot.seed_}
    by_hand = deliberate(votes, Slush(10, alpha), **options)
    assert np.array_equal(moot.deliberate(X).decisions, by_hand.decisions)
    assert np.array_equal(moot.predict(X), by_hand.counts.argmax(axis=-1))
    report = moot.report(X, y, repeats=2, stacking=False)
    assert np.array_equal(
        report.outcome.decisions, deliberate(votes, Slush(10, alpha), repeats=2, **options).decisions
    )
    few = np.concatenate([X[:3], X[:3]])
    again = moot.answer_law(few)
    assert np.array_equal(again[:3], again[3:])
    repeated = deliberate(
        moot.votes(few), moot.protocol_for(few), repeats=100,
        **options | {"keys": vote_keys(moot.votes(few))},
    )  # fmt: skip
    best = repeated.counts == repeated.counts.max(axis=-1, keepdims=True)
    assert np.array_equal(again, (best / best.sum(axis=-1, keepdims=True)).mean(axis=0))


def test_what_liars_hand_in_counts_and_a_given_confidence_is_left_alone() -> None:
    X, y = others_hand()
    liars = {i: PerfectlyMalicious() for i in range(10)} | {10: ConstantClass(3)}
    moot = measured(protocol=Slush(10, StrongConfidence()), adversaries=liars)
    seen = handed_in(moot.votes(X), liars, y, CLASSES)
    assert moot.protocol_for(X, y).alpha == StrongConfidence.of_holdout([27] * N, [30] * N, seen)
    with pytest.raises(ValueError, match="must know the truth"):
        moot.protocol_for(X)
    told = Slush(10, StrongConfidence([0.9] * N))
    assert measured(protocol=told).protocol_for(X) == told


@pytest.mark.parametrize("ask", ["predict", "deliberate", "score", "report"])
def test_many_open_inputs_are_told(ask: str) -> None:
    X, y = others_hand()
    moot = measured(protocol=Slush(10, 9))
    what = (X, y) if ask in ("score", "report") else (X,)
    with pytest.warns(OpenInputsWarning, match=r"of 600 inputs stay open: .*alpha=6 \(--alpha 6\)") as caught:
        getattr(moot, ask)(*what)
    if ask != "report":
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", OpenInputsWarning)
        moot.set_params(protocol__alpha=6).predict(X)  # what the line says to do
