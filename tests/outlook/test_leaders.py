"""Leaders: who leads and whom it asks follow from salts; what it shows changes opinions by the rule."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from folkmoot import Everyone, Neighbours, Others, Slush, deliberate, explain
from folkmoot.adversaries import ConstantClass, Silent
from folkmoot.adversaries.interface import Adversary
from folkmoot.outcome import Schedule
from folkmoot.outlook import Leaders
from folkmoot.outlook.leaders import leader_order, leader_sample, simulated_salts
from folkmoot.outlook.rounds import led
from support.oracles import simulation
from support.oracles.leaders import law_of_leaders
from support.statistics_of_agreement import assert_law, counted


def salts(number: int, n: int) -> list[bytes]:
    return [f"{number}-{i}".encode() for i in range(n)]


class TestOrder:
    def test_each_leads_once_before_anybody_leads_again(self) -> None:
        for number in range(200):
            for weights in (None, [1.0, 0.0, 5.0, 2.0, 0.0, 1.0]):
                assert sorted(leader_order(salts(number, 6), weights)) == list(range(6))

    @pytest.mark.parametrize("weights", [None, [1.0, 9.0, 1.0, 3.0, 9.0]])
    @pytest.mark.parametrize("f", [1, 2])
    def test_grinding_buys_at_most_f_rounds(self, f: int, weights: list[float] | None) -> None:
        # The last f see all other salts and try 400 of their own: their rounds may come first, no more come.
        liars = set(range(5 - f, 5))
        bought = []
        for attempt in range(400):
            known = [*salts(0, 5 - f), *(f"ground {attempt} {i}".encode() for i in sorted(liars))]
            order = leader_order(known, weights)
            rounds = [order[number % 5] in liars for number in range(5)]
            assert sum(rounds) == f
            bought.append(rounds.index(False))  # rounds before the first honest leader
        assert max(bought) == f

    def test_every_order_is_as_likely(self) -> None:
        seen = Counter(leader_order(salts(number, 3)) for number in range(6000))
        assert_law(seen, dict.fromkeys(permutations(range(3)), 1 / 6))

    def test_with_weights_the_next_is_drawn_in_proportion(self) -> None:
        weights = [1.0, 3.0, 6.0]
        expected = {}
        for order in permutations(range(3)):
            left, chance = sum(weights), 1.0
            for i in order:
                chance, left = chance * weights[i] / left, left - weights[i]
            expected[order] = chance
        seen = Counter(leader_order(salts(number, 3), weights) for number in range(6000))
        assert_law(seen, expected)

    def test_no_weight_leads_last(self) -> None:
        assert all(leader_order(salts(i, 4), [0, 1, 0, 2])[:2] in ((1, 3), (3, 1)) for i in range(50))

    def test_salts_that_run_into_each_other_are_others(self) -> None:
        pairs = [([b"%d" % i, b"xy", b"z"], [b"%dx" % i, b"y", b"z"]) for i in range(30)]
        assert any(leader_order(one) != leader_order(other) for one, other in pairs)

    def test_refused(self) -> None:
        with pytest.raises(ValueError, match="salts must hold one per participant: got none"):
            leader_order([])
        with pytest.raises(ValueError, match=r"weights must hold one weight per participant \(2\): got 1"):
            leader_order([b"a", b"b"], [1.0])
        with pytest.raises(ValueError, match="1 <= k <= 1, the peers that a leader can ask: got k=2"):
            leader_sample([b"a", b"b"], 0, 2)


def test_every_sample_is_as_likely() -> None:
    seen = Counter(leader_sample(salts(number, 5), 1, 2) for number in range(6000))
    assert_law(seen, dict.fromkeys(permutations([0, 2, 3, 4], 2), 1 / 12))
    drawn = {i for number in range(40) for i in leader_sample(salts(number, 4), 1, 2, itself=True)}
    assert drawn == set(range(4))


@pytest.mark.parametrize(
    ("won", "shown", "goes_by"), [(1, 0, 1), (1, 1, 1), (1, -1, 1), (-1, 0, 0), (-1, 2, 2), (-1, -1, -1)]
)
def test_the_rule(won: int, shown: int, goes_by: int) -> None:
    assert led(won, shown) == goes_by


def test_follow() -> None:
    rule = Leaders(k=5, alpha=4)
    assert rule.follow(0, [2, 3], [1, 4]) == 1  # nothing won, four behind the leader's label
    assert rule.follow(0, [2, 3], [2, 3]) == 0  # nor behind it
    assert rule.follow(0, [2, 3], []) == 0  # a silent leader
    assert rule.follow(1, [4, 1], [0, 5]) == 0  # another label has alpha in its own sample
    with pytest.raises(ValueError, match="follow needs one alpha"):
        Leaders(k=5, alpha=[3, 4]).follow(0, [2, 3], [])


CASES: list[tuple[list[int], dict[int, int], int, list[int], int, list[float] | None]] = [
    # first votes, liars and what they say, k, alphas, rounds, weights
    ([0, 1, 1, 0, 1], {}, 3, [3, 3, 3, 3, 3], 2, None),
    ([0, 1, 1, 0, 1, 0], {0: 0, 3: 1}, 4, [3, 3, 4, 3, 4, 4], 3, None),  # liars are not the last, nor alike
    ([0, 1, 2, -1, 1], {4: -1}, 2, [2, 2, 2, 2, 2], 3, None),
    ([0, 1, 1, 0, 1], {2: 0}, 3, [3, 2, 3, 2, 3], 3, [1.0, 2.0, 0.5, 1.0, 4.0]),
]


@pytest.mark.parametrize("schedule", ["one", "lockstep"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_law_of_colours(case: Any, schedule: Schedule) -> None:
    votes, says, k, alpha, rounds, weights = case
    n, trials, seed = len(votes), 20_000, 5
    known = simulated_salts(seed, 0, n)
    # Weights are rescaled to at most 1, which changes no ratio.
    law = law_of_leaders(
        votes,
        leader_order(known, weights),
        [leader_sample(known, i, k) for i in range(n)],
        rounds,
        k=k,
        alpha=alpha,
        liars=says,
        schedule=schedule,
        weights=None if weights is None else [Fraction(w) for w in weights],
    )
    liars: dict[int, Adversary] = {i: Silent() if x < 0 else ConstantClass(x) for i, x in says.items()}
    outcome = deliberate(
        np.repeat(np.array(votes)[:, None], trials, axis=1),
        Leaders(k, alpha, weights=weights),
        missing="present",
        adversaries=liars,
        rounds=rounds,
        schedule=schedule,
        seed=seed,
        classes=max(votes) + 1,
    )
    honest = [i for i in range(n) if i not in says]
    expected: dict[Any, float] = {}
    for held, chance in law.items():
        key = tuple(held[i] for i in honest)
        expected[key] = expected.get(key, 0.0) + float(chance)
    assert_law(counted(outcome.decisions[honest].T), expected)


def test_repetitions_have_leaders_of_their_own() -> None:
    votes = np.array([[0, 1, 1, 0, 1]]).T
    law: dict[int, float] = dict.fromkeys(range(6), 0.0)
    for repetition in range(40):
        known = simulated_salts(3, repetition, 5)
        order, samples = leader_order(known), [leader_sample(known, i, 3) for i in range(5)]
        exact = law_of_leaders(
            [0, 1, 1, 0, 1], order, samples, 1, k=3, alpha=[3] * 5, liars={}, schedule="lockstep"
        )
        for held, chance in exact.items():
            law[sum(held)] += float(chance) / 40
    outcome = deliberate(
        np.repeat(votes, 500, axis=1), Leaders(3, 3), rounds=1, schedule="lockstep", repeats=40, seed=3
    )
    assert_law(counted(outcome.counts[..., 1].ravel()), law)


class TestWhatALiarCosts:
    def test_it_cannot_move_those_who_agree(self) -> None:
        votes = np.ones((9, 4), dtype=int)
        liars: dict[int, Adversary] = {i: ConstantClass(0) for i in range(3)}
        outcome = deliberate(votes, Leaders(6, 4), adversaries=liars, rounds=30)
        assert outcome.converged.all()
        assert (outcome.rounds == 0).all()

    def test_a_silent_leader_costs_its_round(self) -> None:
        # The round of a leader that shows nothing is a round of Slush, whose law is known.
        seed = next(s for s in range(99) if leader_order(simulated_salts(s, 0, 5))[0] == 4)
        start = simulation.start("slush", [0, 1, 1, 0], 2)
        law = simulation.lockstep_law("slush", start, 4, 1, k=3, alpha=3, self_sampling=False, byzantine=[-1])
        votes = np.repeat(np.array([0, 1, 1, 0, 0])[:, None], 20_000, axis=1)
        outcome = deliberate(
            votes, Leaders(3, 3), adversaries={4: Silent()}, rounds=1, schedule="lockstep", seed=seed
        )
        expected = {key: float(x) for key, x in simulation.colour_counts_law(law, 2).items()}
        assert_law(counted(outcome.counts), expected)


def test_messages_are_counted() -> None:
    votes = np.array([[0, 1], [1, 0], [0, 1], [1, 0], [1, 1], [0, 0]])
    rule = Leaders(3, 3)
    outcome = deliberate(
        votes, rule, adversaries={5: Silent()}, rounds=4, schedule="lockstep", batch="shared"
    )
    order = leader_order(simulated_salts(0, 0, 6))
    played = int(outcome.rounds.max())
    led_by_honest = sum(order[number % 6] != 5 for number in range(played))
    assert int(outcome.queries) == played * 5 * 3 + led_by_honest * (3 + 5)
    assert rule.requests(5, 6) == 5 * 3 + 3 + 5
    assert Slush(3, 3).requests(5, 6) == 15


def test_a_record_has_a_history_and_no_turns() -> None:
    votes = np.random.default_rng(0).integers(2, size=(9, 30))
    outcome = deliberate(votes, Leaders(4, 4), rounds=20, record=True, seed=2)
    assert outcome.history is not None
    np.testing.assert_array_equal(outcome.history[:, 0, 1], votes.sum(axis=0))
    np.testing.assert_array_equal(outcome.history[:, -1], outcome.counts)
    for i in range(30):  # nothing moves once it is over, and something does before
        rounds = int(outcome.rounds[i])
        assert (outcome.history[i, rounds:] == outcome.history[i, -1]).all()
    with pytest.raises(ValueError, match="in which participants take turns"):
        outcome.turns(0)
    with pytest.raises(ValueError, match="explain needs first votes, which outcomes of Slush, Snowflake"):
        explain(outcome, 0)


class TestWhereItIsTaken:
    def test_laws_that_do_not_go_with_a_leader_are_refused(self) -> None:
        votes = np.zeros((4, 60), dtype=int)
        with pytest.raises(
            ValueError, match=r"Leaders shows one query of all to all, so sampling must be Others"
        ):
            deliberate(votes, Leaders(2, 2), sampling=Neighbours(np.ones((4, 4)) - np.eye(4)))
        assert deliberate(votes, Leaders(4, 3), sampling=Everyone()).converged.all()
        with pytest.raises(ValueError, match="Leaders takes no device"):
            deliberate(votes, Leaders(2, 2), device="cuda")

    def test_absent_ones_neither_lead_nor_are_asked(self) -> None:
        votes = np.array([[0, 1], [0, -1], [1, 1], [-1, 1], [0, -1]])
        outcome = deliberate(votes, Leaders(4, 3), missing="absent", rounds=60)
        assert outcome.decision.tolist() == [0, 1]


def test_others_is_the_default() -> None:
    votes = np.array([[0, 1, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0]])
    one, other = (deliberate(votes, Leaders(2, 2), sampling=law) for law in (None, Others()))
    assert (one.decisions == other.decisions).all()
