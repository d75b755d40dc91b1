"""Every liar in numbers keeps to what it declares, and answers as its file says, number by number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from folkmoot.adversaries import (
    ATTACKS,
    NUMBER_ATTACKS,
    Adversary,
    ConstantNumber,
    FarAway,
    Knows,
    NumberAdversary,
    Observation,
    RandomNumber,
)

Floats = npt.NDArray[np.float64]
# attack: answer to (low, high, asker, die), one number
ANSWERS: dict[str, Callable[[float, float, float, float], float]] = {
    "constant": lambda _low, _high, _asker, _die: 0.0,
    "random": lambda low, high, _asker, die: (low - (high - low)) + 3 * (high - low) * die,
    "far-away": lambda _low, high, _asker, _die: high + 1_000_000,
    "stalling": lambda low, high, asker, _die: low if asker - low < high - asker else high,
    "silent": lambda _low, _high, _asker, _die: math.nan,
}


def observation(inputs: int = 4, askers: int = 5, outputs: int = 2) -> Observation:
    rng = np.random.default_rng(3)
    asker = rng.normal(size=(inputs, askers, outputs))
    return Observation(
        low=asker.min(axis=1, keepdims=True),
        high=asker.max(axis=1, keepdims=True),
        asker=asker,
        own=rng.normal(size=(inputs, 1, outputs)),
        die=rng.random((1, askers, outputs)),
    )


def said(adversary: NumberAdversary, seen: Observation) -> Floats:
    return np.broadcast_to(np.asarray(adversary.answer_number(seen), dtype=np.float64), seen.asker.shape)


@pytest.mark.parametrize("name", NUMBER_ATTACKS)
def test_answers(name: str) -> None:
    seen = observation()
    answers = said(NUMBER_ATTACKS[name](), seen)
    for i, a, o in np.ndindex(*seen.asker.shape):
        low, high = seen.low[i, 0, o], seen.high[i, 0, o]
        expected = ANSWERS[name](low, high, float(seen.asker[i, a, o]), seen.die[0, a, o])
        assert answers[i, a, o] == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", NUMBER_ATTACKS)
def test_nobody_uses_what_it_does_not_declare(name: str) -> None:
    adversary = NUMBER_ATTACKS[name]()
    seen = observation()
    if Knows.POPULATION not in adversary.knows:
        hidden = replace(seen, low=seen.low - 1, high=seen.high + 2, asker=seen.asker * 3)
        np.testing.assert_array_equal(said(adversary, hidden), said(adversary, seen))
    if Knows.OWN_VOTE not in adversary.knows:
        np.testing.assert_array_equal(said(adversary, replace(seen, own=seen.own + 1)), said(adversary, seen))
    assert Knows.TRUTH not in adversary.knows


def test_two_behaviours_lie_in_colours_and_in_numbers() -> None:
    both = {name for name, kind in NUMBER_ATTACKS.items() if issubclass(kind, Adversary)}
    assert both == {"stalling", "silent"}
    assert all(issubclass(ATTACKS[name], NUMBER_ATTACKS[name]) for name in both)


def test_stalling_equivocates_and_stays_plausible() -> None:
    seen = observation()
    answers = said(NUMBER_ATTACKS["stalling"](), seen)
    assert (seen.low <= answers).all()
    assert (answers <= seen.high).all()
    assert (answers != answers[:, :1]).any()  # not the same to everybody
    # Nobody is drawn to the other side.
    middle = (seen.low + seen.high) / 2
    assert ((seen.asker < middle) == (answers < middle)).all()


def test_random_numbers_fill_the_widened_range() -> None:
    seen = observation()
    for widen in (0.0, 0.5):
        for die, expected in ((0.0, -widen), (0.5, 0.5), (1.0, 1.0 + widen)):
            answers = said(RandomNumber(widen), replace(seen, die=np.array(die)))
            np.testing.assert_allclose((answers - seen.low) / (seen.high - seen.low), expected, atol=1e-12)


def test_far_away_on_either_side() -> None:
    seen = observation()
    assert (said(FarAway(5.0), seen) == seen.high + 5.0).all()
    assert (said(FarAway(-5.0), seen) == seen.low - 5.0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConstantNumber(math.nan), "value must be finite: got value=nan"),
        (lambda: FarAway(math.inf), "distance must be finite: got distance=inf"),
        (lambda: RandomNumber(-0.5), "widen must satisfy widen >= 0: got widen=-0.5"),
    ],
)
def test_bad_parameters(make: Callable[[], NumberAdversary], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_types() -> None:
    with pytest.raises(TypeError, match="value must be a number: got value='a'"):
        ConstantNumber("a")  # type: ignore[arg-type]
