"""Claims by hand and in rationals: the window of a quorum's numbers, and what two nodes can claim."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from folkmoot.arrays import Floats
from folkmoot.network.wire.messages import Close
from folkmoot.network.wire.number_verdict import NumberVerdict, most_within, narrowest, number_verdict
from folkmoot.network.wire.verdict import verdict
from folkmoot.node.membership.roster import faults, quorum
from support.network.number_moot import NumberMoot


def closes_of(moot: NumberMoot, held: Any, first: Any, **changes: Any) -> tuple[Any, dict[int, Close]]:
    """A close of each participant with these numbers, NaN for none."""
    motion, _ = moot.motion(**changes)
    form, name = motion.form, bytes(32)
    return motion, {
        place: Close(
            name, place, form.pack(held[place]), bytes(32), form.pack_first(first[place]), "", bytes(64)
        )
        for place in range(moot.n)
    }


def judged(held: list[list[float]], cheats: tuple[int, ...] = (), **changes: Any) -> NumberVerdict:
    """The verdict on numbers by participant and input."""
    numbers = np.array(held)[:, :, None]
    moot = NumberMoot(numbers[:, :, 0], 0)
    motion, closes = closes_of(moot, numbers, numbers, **changes)
    found = verdict(motion, moot.n, closes, cheats)
    assert isinstance(found, NumberVerdict)
    return found


def by_hand(numbers: list[float], tol: float, needed: int) -> tuple[Fraction, Fraction] | None:
    """The claim and the width of its window, in rationals, from every set of a quorum: the narrowest, and
    the lowest among equals.
    """
    best: tuple[Fraction, Fraction] | None = None
    for some in itertools.combinations(sorted(map(Fraction, numbers)), needed):
        width = some[-1] - some[0]
        if width <= Fraction(tol) and (best is None or (width, some[0]) < best):
            best = (width, some[0])
    return None if best is None else (best[1] + best[0] / 2, best[0])


def test_a_claim_is_the_middle_of_the_narrowest_window_of_a_quorum() -> None:
    rng = np.random.default_rng(2)
    for n in (5, 6, 7, 11):
        held = rng.choice(16, (n, 60)) / 8.0  # equal numbers, and widths that are exact
        held[rng.random(held.shape) < 0.1] = np.nan
        found = judged(held.tolist(), tol=0.5)
        assert found.quorum == quorum(n)
        for i in range(60):
            there = held[~np.isnan(held[:, i]), i].tolist()
            expected = by_hand(there, 0.5, quorum(n))
            assert found.claimed[i] == (expected is not None)
            if expected is not None:
                claim, width = (Fraction(float(each[i, 0])) for each in (found.claims, found.widths))
                assert (claim, width) == expected
            most = max((sum(low <= x <= low + 0.5 for x in there) for low in there), default=0)
            assert found.signed[i] == most
        assert found.undecided == int((~found.claimed).sum())
        assert 0 < found.undecided < 60


def test_numbers_exactly_tol_apart_are_claimed_and_others_not() -> None:
    wide = [[0.0], [0.5], [0.5], [0.5], [0.5]]
    assert judged(wide, tol=0.5).claims[0, 0] == 0.5  # four of five are a narrower window
    ends = [[0.0], [0.0], [0.5], [0.5]]
    assert judged(ends, tol=0.5).claims[0, 0] == 0.25
    found = judged(ends, tol=0.49)
    assert not found.claimed.any()
    assert found.why_undecided() == ["fewer than 3 signed numbers within 0.49 of each other"]


def test_cheats_and_those_without_an_answer_do_not_count() -> None:
    held = [[1.0]] * 5 + [[np.nan]] * 2
    assert judged(held, tol=0.1).claimed.tolist() == [True]
    assert not judged(held, cheats=(0,), tol=0.1).claimed.any()
    moot = NumberMoot(np.zeros((7, 1)), 0)
    numbers = np.ones((7, 1, 1))
    nobody = np.full((7, 1, 1), np.nan)
    motion, closes = closes_of(moot, numbers, nobody, tol=0.1)
    found = number_verdict(motion, 7, closes)
    assert found.why_undecided() == ["0 of 7 had an answer at first, and 2 must"]


def test_any_two_nodes_with_any_closes_claim_numbers_within_tol() -> None:
    """Liars sign something else for each of two nodes, which hold any closes of the others; in rationals."""
    rng = np.random.default_rng(5)
    both = 0
    for _ in range(400):
        n = int(rng.choice([6, 7, 11]))
        tol = float(rng.choice([0.25, 1.0]))
        honest = rng.normal(0, rng.choice([0.1, 0.4, 1.0]), n) + rng.choice([0.0, 1e6])
        claims = []
        for _ in range(2):
            held = honest.copy()
            held[: faults(n)] = rng.choice(honest[faults(n) :]) + rng.choice([-tol, 0.0, tol, 5.0])
            held[rng.permutation(n)[: rng.integers(0, n - quorum(n) + 1)]] = np.nan
            middle, width = narrowest(held[:, None, None], quorum(n))
            if width[0, 0] <= tol:
                claims.append(Fraction(float(middle[0, 0])))
        if len(claims) == 2:
            both += 1
            rounding = Fraction(2, 2**52) * int(abs(honest).max() + 2)
            assert abs(claims[0] - claims[1]) <= Fraction(tol) + rounding
    assert both > 50


def test_labels_lead_by_more_than_tol_or_there_is_none() -> None:
    levels = np.zeros((5, 3, 2), dtype=np.int16)
    levels[:] = [[200, 55], [129, 126], [128, 127]]
    moot = NumberMoot(levels, 0)
    motion, _ = moot.motion(tol=0.01)
    held = np.stack([motion.form.opening(each) for each in levels])
    _, closes = closes_of(moot, held, levels, tol=0.01)
    found = number_verdict(motion, 5, closes)
    assert found.decisions.tolist() == [0, 0, -1]
    close = "the likeliest labels are within 0.01 of each other"
    assert found.why_undecided() == [None, None, close]
    assert found.undecided == 1
    np.testing.assert_allclose(found.claims.sum(axis=1), 1.0)


def test_no_two_nodes_claim_different_labels() -> None:
    """Any claims that are within tol of each other, class by class."""
    from folkmoot.network.wire.number_verdict import _labels

    rng = np.random.default_rng(6)
    claims = rng.dirichlet(np.full(3, 8.0), 20_000)
    other = np.clip(claims + rng.uniform(-0.05, 0.05, claims.shape), 0, 1)
    one, two = _labels(claims, 0.05), _labels(other, 0.05)
    assert (one >= 0).mean() > 0.3
    assert ((one == two) | (one < 0) | (two < 0)).all()
    assert (claims.argmax(axis=1) != other.argmax(axis=1)).any(), "without the lead some would differ"


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_the_most_within_a_window_are_counted(n: int) -> None:
    rng = np.random.default_rng(n)
    held: Floats = rng.choice(12, (n, 40, 2)) / 4.0
    held[rng.random((n, 40)) < 0.2] = np.nan
    for i, count in enumerate(most_within(held, 0.5).tolist()):
        fits = [
            max((int(((c >= low) & (c <= low + 0.5)).sum()) for low in c[~np.isnan(c)]), default=0)
            for c in held[:, i].T
        ]
        assert count == min(fits)
