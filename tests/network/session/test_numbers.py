"""One node's part in a motion about numbers: when it combines what it hears, and what it never does."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot.adversaries import FarAway, PerfectlyMalicious, Silent, Stalling
from folkmoot.aggregation import TrimmedMean
from folkmoot.network.session.numbers import combined
from folkmoot.network.storage.account import account, find
from folkmoot.network.wire.forms import ChanceForm, NumberForm
from folkmoot.network.wire.number_verdict import NumberVerdict
from folkmoot.node.transports.memory import Weather
from folkmoot.testing.number_liars import NumberLies
from support.network.number_moot import NumberMoot


def test_numbers_are_combined_by_the_rule_and_only_where_there_are_enough() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(7, 200, 2))
    values[rng.random((7, 200)) < 0.4] = np.nan
    found = combined(TrimmedMean(), values, least=4)
    counts = set()
    for i in range(200):
        there = values[~np.isnan(values[:, i]).any(axis=1), i]
        counts.add(len(there))
        if len(there) < 4:
            np.testing.assert_array_equal(found[i], values[0, i])
        else:
            kept = np.sort(there, axis=0)[(len(there) - 1) // 3 : len(there) - (len(there) - 1) // 3]
            np.testing.assert_allclose(found[i], kept.mean(axis=0))
    assert {3, 4, 7} <= counts


def test_one_liar_and_two_others_do_not_move_a_node_that_hears_no_more() -> None:
    """Seven of whom one may lie: with three numbers none would be trimmed for it at either end."""
    values = np.array([[[1.0]], [[1e9]], [[np.nan]], [[np.nan]]])
    np.testing.assert_array_equal(combined(TrimmedMean(), values, least=4), [[1.0]])


def test_a_node_without_a_number_takes_one_from_the_others_and_signs_it() -> None:
    values = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [np.nan]])
    moot = NumberMoot(values, 1)
    moot.put(0, tol=0.5, rounds=20)
    moot.network.run(until=40.0)
    ((session, _),) = moot.over.values()
    held = session.motion.form.unpack(session.closes[6].decisions)
    assert 1.0 <= held[0, 0] <= 6.0
    assert np.isnan(session.motion.form.unpack_first(session.closes[6].first)).all()
    verdict = session.verdict()
    assert isinstance(verdict, NumberVerdict)
    assert verdict.claimed.all()
    assert verdict.voters.tolist() == [6]


def test_a_first_number_that_nobody_was_asked_about_is_not_signed() -> None:
    values = np.arange(7.0)[:, None]
    moot = NumberMoot(values, 1)
    for place in range(2, 7):
        moot.crash(place)
    moot.put(0, tol=100.0, rounds=5, seconds=8.0)
    moot.network.run(until=40.0)
    ((session, _),) = moot.over.values()
    assert {0, 1} <= session.closes.keys()
    for close in session.closes.values():
        assert np.isnan(session.motion.form.unpack(close.decisions)).all()
    assert session.verdict().undecided == 1


@pytest.mark.parametrize("liar", [FarAway(), Stalling(), Silent()])
def test_a_lying_node_changes_nothing_beyond_the_honest_range(liar: FarAway | Stalling | Silent) -> None:
    values = np.random.default_rng(4).normal(0, 1, (7, 6))
    moot = NumberMoot(
        values, 2, adversaries={3: PerfectlyMalicious()}, number_adversaries={3: liar},
        weather=Weather(delay=0.005),
    )  # fmt: skip
    moot.put(0, tol=0.05, rounds=30)
    moot.network.run(until=40.0)
    ((session, _),) = moot.over.values()
    verdict = session.verdict()
    assert isinstance(verdict, NumberVerdict)
    honest = np.delete(values, 3, axis=0)
    assert verdict.claimed.all()
    assert (verdict.claims[:, 0] >= honest.min(axis=0)).all()
    assert (verdict.claims[:, 0] <= honest.max(axis=0)).all()
    assert not session.cheats, "it changes its version with every lie"


def test_a_liar_tells_what_can_be_told_in_the_form_of_the_motion() -> None:
    import random

    own = np.array([[0.25, 0.75], [np.nan, np.nan]])
    told = NumberLies(FarAway(), ChanceForm(2, 2), random.Random(1)).answer(1, own)
    assert told is not None
    np.testing.assert_array_equal(told, [[1.0, 1.0], [np.nan, np.nan]])
    assert NumberLies(Silent(), NumberForm(2), random.Random(1)).answer(1, own[:, :1]) is None
    heard = NumberLies(Stalling(), NumberForm(1), random.Random(1))
    heard.heard = {1: np.array([[0.0]]), 2: np.array([[9.0]])}
    assert heard.answer(1, np.array([[4.0]])) == 0.0
    assert heard.answer(2, np.array([[4.0]])) == 9.0


def test_the_account_of_numbers_and_of_probabilities() -> None:
    moot = NumberMoot(np.array([[1.0, np.nan], [2.0, 5.0], [3.0, 6.0], [2.0, 7.0], [2.0, 6.0]]), 3)
    moot.put(0, tol=0.5, rounds=20)
    moot.network.run(until=40.0)
    found = account(moot.storages[1], find(moot.storages[1], "last"))
    assert (found.answers, found.tol, found.labels, found.undecided) == ("numbers", 0.5, [], 0)
    assert found.first_numbers == [[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]
    assert [float(each or "nan") for each in found.decisions] == found.claims
    assert found.claims[0] == pytest.approx(2.0, abs=0.3)
    levels = np.tile(np.array([[230, 25], [100, 155]], dtype=np.int16), (5, 1, 1))
    moot = NumberMoot(levels, 3)
    moot.put(0, tol=0.02, rounds=5)
    moot.network.run(until=40.0)
    found = account(moot.storages[1], find(moot.storages[1], "last"))
    assert (found.answers, found.decisions, found.majority) == ("probabilities", ["a", "b"], ["a", "b"])
    assert found.first_votes == [{"a": 5}, {"b": 5}]
    assert found.claims[0] == pytest.approx([230.5 / 256, 25.5 / 256])
