"""Numbers over the network against ``agree``: real nodes on the memory transport, where frames take no time.

With Poisson clocks and no delays one node asks at a time, and is answered at once. Its next number must then
be, to the last bit, what a round of ``agree`` among the present numbers gives it.
"""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot import agree
from folkmoot.adversaries import Steadfast
from folkmoot.aggregation import TrimmedMean
from folkmoot.network.session.numbers import NumberTalking
from folkmoot.network.wire.number_verdict import NumberVerdict
from support.network.number_moot import NumberMoot


@pytest.mark.parametrize("liar", [None, 6])
def test_every_step_of_every_node_is_a_round_of_agree(
    liar: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0, 10, (7, 5))
    if liar is not None:
        values[liar] = 1e6  # it says so to the end, whatever it hears
    board, steps = values[:, :, None].copy(), 0
    adversaries = {} if liar is None else {liar: Steadfast()}
    react = NumberTalking._react

    def watched(talking: NumberTalking) -> int:
        nonlocal steps
        place = talking._minutes.seat.place
        if place == liar:
            return 0
        assert len(talking._answers) == 6
        expected = agree(board, TrimmedMean(), adversaries=adversaries, rounds=1, tolerance=0.0)
        changed = react(talking)
        held = talking._stance.held
        np.testing.assert_array_equal(held, expected.numbers[place], strict=True)
        board[place] = held
        steps += 1
        return changed

    monkeypatch.setattr(NumberTalking, "_react", watched)
    moot = NumberMoot(values, seed=4)
    moot.put(0, answers="numbers", tol=1e-6, rounds=20, seconds=60.0)
    moot.network.run(until=100.0)
    assert steps > 7 * 10
    ((session, _),) = moot.over.values()
    verdict = session.verdict()
    assert isinstance(verdict, NumberVerdict)
    whole = agree(values, TrimmedMean(), adversaries=adversaries, rounds=20, tolerance=0.0)
    honest = np.delete(values, [] if liar is None else [liar], axis=0)
    assert verdict.undecided == 0
    assert whole.spread.max() < 1e-6
    for claim, low, high in zip(verdict.claims[:, 0], honest.min(axis=0), honest.max(axis=0), strict=True):
        assert low <= claim <= high
