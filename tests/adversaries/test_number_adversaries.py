"""Every liar in numbers keeps to what it declares, and answers as its file says, number by number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from folkmoot.adversaries import FarAway
from folkmoot.adversaries.behaviours import ConstantNumber, Edge, RandomNumber
from folkmoot.adversaries.interface import Adversary, Knows, NumberAdversary, NumbersSeen
from folkmoot.adversaries.naming import ATTACKS, NUMBER_ATTACKS

Floats = npt.NDArray[np.float64]
# attack: answer to (low, high, draw), one number
ANSWERS: dict[str, Callable[[float, float, float], float]] = {
    "constant": lambda _low, _high, _draw: 0.0,
    "random": lambda low, high, draw: (low - (high - low)) + 3 * (high - low) * draw,
    "far-away": lambda _low, high, _draw: high + 1_000_000,
    "edge": lambda _low, high, _draw: high,
    "silent": lambda _low, _high, _draw: math.nan,
}


def observation(inputs: int = 4, honest: int = 5, outputs: int = 2) -> NumbersSeen:
    rng = np.random.default_rng(3)
    return NumbersSeen(
        honest=rng.normal(size=(honest, inputs, outputs)),
        own=rng.normal(size=(inputs, outputs)),
        draw=rng.random((inputs, outputs)),
    )


def said(adversary: NumberAdversary, seen: NumbersSeen) -> Floats:
    return np.broadcast_to(np.asarray(adversary.answer_number(seen), dtype=np.float64), seen.own.shape)


@pytest.mark.parametrize("name", NUMBER_ATTACKS)
def test_answers(name: str) -> None:
    seen = observation()
    answers = said(NUMBER_ATTACKS[name](), seen)
    for i, o in np.ndindex(*seen.own.shape):
        numbers = sorted(seen.honest[:, i, o].tolist())
        expected = ANSWERS[name](numbers[0], numbers[-1], float(seen.draw[i, o]))
        assert answers[i, o] == pytest.approx(expected, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("name", NUMBER_ATTACKS)
def test_nobody_uses_what_it_does_not_declare(name: str) -> None:
    adversary = NUMBER_ATTACKS[name]()
    seen = observation()
    if Knows.POPULATION not in adversary.knows:
        np.testing.assert_array_equal(
            said(adversary, replace(seen, honest=seen.honest * 3)), said(adversary, seen)
        )
    if Knows.OWN_VOTE not in adversary.knows:
        np.testing.assert_array_equal(said(adversary, replace(seen, own=seen.own + 1)), said(adversary, seen))
    assert Knows.TRUTH not in adversary.knows


def test_silence_is_one_behaviour_in_classes_and_in_numbers() -> None:
    both = {name for name, kind in NUMBER_ATTACKS.items() if issubclass(kind, Adversary)}
    assert both == {"silent"}
    assert all(issubclass(ATTACKS[name], NUMBER_ATTACKS[name]) for name in both)


def test_the_edge_is_an_honest_number() -> None:
    seen = observation()
    assert (said(Edge(), seen) == seen.honest).any(axis=0).all()
    assert (said(Edge(lowest=True), seen) == seen.honest.min(axis=0)).all()


def test_the_range_leaves_out_who_said_nothing() -> None:
    honest = np.array([[[1.0], [np.nan]], [[np.nan], [np.nan]], [[3.0], [np.nan]]])
    seen = NumbersSeen(honest, own=np.zeros((2, 1)), draw=np.zeros((2, 1)))
    np.testing.assert_array_equal(seen.low, [[1.0], [np.nan]])
    np.testing.assert_array_equal(seen.high, [[3.0], [np.nan]])


def test_random_numbers_fill_the_widened_range() -> None:
    seen = observation()
    for widen in (0.0, 0.5):
        for draw, expected in ((0.0, -widen), (0.5, 0.5), (1.0, 1.0 + widen)):
            answers = said(RandomNumber(widen), replace(seen, draw=np.array(draw)))
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
