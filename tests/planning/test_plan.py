"""``plan`` against fractions, brute force and known laws: what settings give, cost and break at."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot import Slush, Snowflake, deliberate, plan
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.datasets import homogeneous_votes
from folkmoot.planning.crowd import Skilled
from folkmoot.planning.evaluation import PlannedMoot
from folkmoot.planning.plan_table import Plan
from folkmoot.planning.search import queries
from folkmoot.planning.setting import PlannedSetting, best_first
from folkmoot.theory import SlushChain, majority_accuracy
from support.oracles import planning as oracle
from support.oracles.exact import poisson_binomial
from support.strategies import quiet_chain


def chain_of(n: int, k: int, alpha: int, byzantine: int) -> SlushChain:
    """Theory's chain under the sampling law of a network."""
    return quiet_chain(n, k, alpha, byzantine=byzantine, self_sampling=False)


def exact_setting(found: PlannedSetting, n: int, f: int, law: list[Fraction]) -> None:
    truth = oracle.judged(oracle.after_rounds(n, found.k, found.alpha, f, law, found.rounds))
    assert found.accuracy == pytest.approx(float(truth.accuracy), abs=1e-12)
    assert found.agreement == pytest.approx(float(truth.agreement), abs=1e-12)
    assert found.in_time == pytest.approx(float(truth.in_time), abs=1e-12)
    assert found.exact
    assert found.standard_error is None


@pytest.mark.parametrize(("n", "f"), [(2, 0), (5, 1), (6, 0), (7, 2)])
def test_settings_are_the_chain_in_fractions(n: int, f: int) -> None:
    found = plan(n, 0.75, byzantine=f, rounds=8, protocol="slush")
    law = poisson_binomial([Fraction(3, 4)] * (n - f))
    for each in found.settings:
        exact_setting(each, n, f, law)


def test_settings_are_what_the_chain_of_theory_says() -> None:
    found = plan(40, 0.8, byzantine=5, protocol="slush")
    for each in found.settings:
        chain = chain_of(40, each.k, each.alpha, 5)
        assert each.accuracy == pytest.approx(chain.accuracy(0.8, steps=each.rounds * 35), abs=1e-10)
    assert found.majority == pytest.approx(majority_accuracy(40, 0.8, byzantine=5), abs=1e-12)


def test_the_first_is_the_cheapest_of_all_that_come_close() -> None:
    """Against every k, alpha and number of rounds there is, not only those that were tried."""
    n, f, p, most = 12, 1, 0.8, 12
    found = plan(n, p, byzantine=f, rounds=most, protocol="slush").settings
    law = np.exp([math.log(float(x)) for x in poisson_binomial([Fraction(4, 5)] * (n - f))])
    everything = []
    for k in range(1, n):
        for alpha in range(k // 2 + 1, k + 1):
            chain = chain_of(n, k, alpha, f)
            for rounds in range(1, most + 1):
                after = chain.distribution(law, rounds * (n - f))
                if after[0] + after[-1] >= 0.95:
                    everything.append((2 * k * rounds * (n - f), float(after[6:].sum()), k, alpha, rounds))
    best = max(each[1] for each in everything)
    cheapest = min(each for each in everything if each[1] >= best - 0.005)
    first = found[0]
    assert (first.messages, first.k, first.alpha, first.rounds) == (cheapest[0], *cheapest[2:])
    assert first.accuracy == pytest.approx(cheapest[1], abs=1e-12)


@pytest.mark.parametrize(("n", "f", "p"), [(40, 5, 0.8), (101, 0, 0.55), (25, 3, 0.65), (30, 12, 0.8)])
def test_best_first(n: int, f: int, p: float) -> None:
    found = plan(n, p, byzantine=f, protocol="slush").settings
    best = max(each.accuracy for each in found)
    near = [each for each in found if each.accuracy >= best - 0.005]
    assert found[: len(near)] == tuple(near)
    assert found[0].messages == min(each.messages for each in near)
    rest = [each.accuracy for each in found[len(near) :]]
    assert rest == sorted(rest, reverse=True)
    by_cost = sorted(found, key=lambda each: each.messages)
    for cheap, dear in pairwise(by_cost):
        assert dear.accuracy > cheap.accuracy, "whatever costs more is better"
    assert all(each.in_time >= 0.95 for each in found)


def test_settings_that_do_not_agree_in_time_are_left_out() -> None:
    """By hand: one is most accurate and slow, one cheap and slow, two are in time."""

    def made(accuracy: float, in_time: float, messages: float) -> PlannedSetting:
        return PlannedSetting(
            "slush", 3, 2, None, 5, accuracy, 1.0, in_time, messages, 0.0, True, False, None
        )

    slow, cheap, fast, faster = (
        made(0.99, 0.949, 9),
        made(0.97, 0.5, 1),
        made(0.95, 0.95, 8),
        made(0.946, 0.995, 5),
    )
    assert best_first([slow, cheap, fast, faster]) == [faster, fast]
    assert best_first([slow, cheap]) == [slow]  # none is in time: those that come close to the best in that
    assert best_first([fast, faster, made(0.2, 1.0, 1)], alone=0.6) == [faster, fast]


def test_what_is_simulated_does_not_win_by_luck() -> None:
    """By hand: played talks with an error of 0.004 beside exact ones, then among themselves."""

    def made(accuracy: float, messages: float, error: float | None) -> PlannedSetting:
        simulated = error is not None
        name = "snowball" if simulated else "slush"
        return PlannedSetting(
            name, 3, 2, None, 5, accuracy, 1.0, 1.0, messages, 0.0, not simulated, simulated, error
        )

    exact, dear, lucky, cheap = (
        made(0.96, 5, None),
        made(0.9640, 7, None),
        made(0.97, 9, 0.004),
        made(0.961, 1, 0.004),
    )
    assert best_first([exact, dear, lucky, cheap]) == [exact, dear, lucky, cheap]
    assert best_first([lucky, cheap])[0] == lucky
    assert best_first([lucky, made(0.966, 1, 0.004)])[0].messages == 1


@pytest.mark.parametrize("n", [5, 7, 11])
def test_breaks_at_by_brute_force(n: int) -> None:
    """Every number of liars, and accuracies in small steps, each by the chain in theory's own words."""
    for p in (0.6, 0.8, 0.95):
        for f in (0, 1):
            found = plan(n, p, byzantine=f, protocol="slush")
            first = found.settings[0]
            assert found.breaks_at.exact

            def right(liars: int, chance: float, first: PlannedSetting = first) -> float:
                chain = chain_of(n, first.k, first.alpha, liars)
                return chain.accuracy(chance, steps=first.rounds * (n - liars))

            beats = [liars for liars in range(n) if right(liars, p) > p + 1e-9]
            assert found.breaks_at.byzantine == max(beats, default=None)
            least = found.breaks_at.p
            assert least is not None
            assert right(f, least) > least
            below = np.arange(0.001, least - 1e-6, 0.004)
            assert not any(right(f, float(each)) > each + 1e-9 for each in below)


def test_nothing_beats_participants_who_are_always_right_or_guess() -> None:
    for p in (0.5, 1.0):
        assert plan(15, p, protocol="slush").breaks_at.byzantine is None
    # Without liars everybody knows since Condorcet: from one half on.
    assert plan(15, 0.8, protocol="slush").breaks_at.p == pytest.approx(0.5, abs=1e-5)


def test_condorcet_more_participants_and_better_ones_help_and_liars_do_not() -> None:
    def best(found: Plan) -> float:
        return max(each.accuracy for each in found.settings)

    by_n = [best(plan(n, 0.7, protocol="slush")) for n in (3, 7, 15, 31, 63)]
    assert by_n == sorted(by_n)
    assert by_n[-1] > 0.999
    assert all(best(plan(n, 0.4, protocol="slush")) < 0.4 + 1e-9 for n in (3, 7, 15, 31))
    by_p = [best(plan(21, p, byzantine=2, protocol="slush")) for p in (0.5, 0.6, 0.7, 0.8, 0.9)]
    assert by_p == sorted(by_p)
    by_f = [best(plan(21, 0.8, byzantine=f, protocol="slush")) for f in (0, 2, 4, 6, 8)]
    assert by_f == sorted(by_f, reverse=True)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(2, 13), p=st.floats(0.05, 0.95), data=st.data())
def test_no_talk_is_better_than_the_bound(n: int, p: float, data: st.DataObject) -> None:
    f = data.draw(st.integers(0, n - 1))
    moot = PlannedMoot(Skilled(p), n, f, 1, 0)
    for k, alpha in queries(n):
        for figures in moot.slush_by_round(k, alpha, 6):
            assert figures.accuracy <= moot.most() + 1e-12


# ---- unequal participants ------------------------------------------------------------------------


@pytest.mark.parametrize("listed", [6, 5])
def test_a_list_is_of_all_of_whom_some_lie_or_of_the_honest(listed: int) -> None:
    p = [0.9, 0.9, 0.6, 0.6, 0.7, 0.8][:listed]
    found = plan(6, p, byzantine=1, rounds=6, protocol="slush")
    law = oracle.some_of([Fraction(str(x)) for x in p], 5)
    assert sum(law) == 1
    for each in found.settings:
        exact_setting(each, 6, 1, law)
    assert found.mean_participant == pytest.approx(sum(p) / listed)


def test_participants_beyond_the_list_are_as_good_as_its_mean() -> None:
    p = [Fraction(9, 10), Fraction(6, 10), Fraction(6, 10)]
    start = Skilled.checked([0.9, 0.6, 0.6]).start(5)
    law = poisson_binomial([*p, Fraction(7, 10), Fraction(7, 10)])
    assert start.laws[0] == pytest.approx([float(x) for x in law], abs=1e-14)


def test_equal_values_are_one_value() -> None:
    listed, one = plan(p=[0.8] * 15, protocol="slush"), plan(15, 0.8, protocol="slush")
    assert listed.n == 15
    for ours, theirs in zip(listed.settings, one.settings, strict=True):
        assert (ours.k, ours.alpha, ours.rounds) == (theirs.k, theirs.alpha, theirs.rounds)
        assert ours.accuracy == pytest.approx(theirs.accuracy, abs=1e-12)


# ---- what is simulated ---------------------------------------------------------------------------


def test_what_is_played_agrees_with_theory_within_four_standard_errors() -> None:
    """Slush on two labels both ways; seed 0, so the bound holds or not for good."""
    for n, f, p in ((15, 1, 0.7), (25, 3, 0.75)):
        moot = PlannedMoot(Skilled(p), n, f, 100, 0)
        for k, alpha, rounds in ((3, 2, 8), (9, 6, 6)):
            played = moot.simulated(Slush(k, alpha), rounds)
            *_, exact = moot.slush_by_round(k, alpha, rounds)
            assert not played.exact
            assert played.standard_error is not None
            assert abs(played.accuracy - exact.accuracy) < 4 * played.standard_error
            assert played.agreement == pytest.approx(exact.agreement, abs=0.01)
            assert played.in_time == pytest.approx(exact.in_time, abs=0.04)


def test_protocols_that_decide_are_simulated_and_marked() -> None:
    found = plan(15, 0.75, byzantine=1, seed=3)
    by_name = {name: [x for x in found.settings if x.protocol == name] for name in ("snowflake", "snowball")}
    votes, truth, _ = homogeneous_votes(15, 0.75, 20_000, seed=11)
    for name, ours in by_name.items():
        assert ours, name
        for each in ours:
            assert not each.exact
            assert each.standard_error is not None
            assert 0 < each.standard_error < 0.02
            outcome = deliberate(
                votes, each.rule, adversaries={0: PerfectlyMalicious()}, truth=truth, rounds=50, seed=5
            )
            assert abs(outcome.accuracy(truth) - each.accuracy) < 4 * each.standard_error + 0.01
    assert plan(15, 0.75, byzantine=1, seed=3) == found


def test_messages_of_a_protocol_that_decides_are_those_of_a_shared_batch() -> None:
    """One query carries the batch, so its longest talk counts: at the most, and not far above."""
    moot = PlannedMoot(Skilled(0.75), 15, 1, 20, 0)
    queries_planned = moot.simulated(Snowflake(5, 4, beta=5), 50).queries
    found = []
    for seed in range(30):
        votes, truth, _ = homogeneous_votes(15, 0.75, 20, seed=seed)
        liar = {0: PerfectlyMalicious()}
        outcome = deliberate(
            votes,
            Snowflake(5, 4, beta=5),
            adversaries=liar,
            truth=truth,
            batch="shared",
            rounds=50,
            seed=seed,
        )
        found.append(float(outcome.queries))
    assert np.mean(found) <= queries_planned <= 1.25 * np.mean(found)
    alone = PlannedMoot(Skilled(0.75), 15, 1, 1, 0).simulated(Snowflake(5, 4, beta=5), 50).queries
    assert alone < queries_planned / 1.5


def test_three_labels_are_simulated() -> None:
    found = plan(9, 0.6, labels=3, protocol="slush")
    votes, truth, _ = homogeneous_votes(9, 0.6, 20_000, seed=1, classes=3)
    for each in found.settings[:3]:
        assert not each.exact
        outcome = deliberate(votes, each.rule, truth=truth, rounds=each.rounds, classes=3)
        assert each.standard_error is not None
        assert abs(outcome.accuracy(truth) - each.accuracy) < 4 * each.standard_error + 0.01
    assert found.majority_error is not None
    assert not found.breaks_at.exact


# ---- what it costs -------------------------------------------------------------------------------


def test_messages_and_bytes_are_those_of_the_operations_page() -> None:
    """Questions of 37 bytes, answers of 39 + V, reveals of 78 + V, V = ceil(60 labels x 2 bits / 8)."""
    found = plan(5, 0.8, inputs=60, rounds=50, protocol="slush")
    for each in found.settings:
        asked = 5 * each.k * each.rounds
        assert each.messages == 2 * asked
        assert each.bytes == asked * (37 + 39 + 15)
    assert found.broadcast.messages == 20
    assert found.broadcast.bytes == 20 * (78 + 15)
    assert found.broadcast.cheaper


def test_broadcast_costs_more_among_many() -> None:
    found = plan(101, 0.7, protocol="slush")
    assert found.broadcast.messages == 101 * 100
    assert not found.broadcast.cheaper
    assert "more expensive than the first" in str(found)


# ---- targets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "byzantine", "target"), [(0.8, 0, 0.95), (0.8, 2, 0.95), (0.75, 0.1, 0.85), (0.8, 0.125, 0.9)]
)
def test_the_target_is_reached_with_n_and_not_with_fewer(p: float, byzantine: float, target: float) -> None:
    found = plan(p=p, byzantine=byzantine, target=target, protocol="slush")
    assert found.target is not None
    n = found.target.n
    assert n is not None
    assert found.n == n
    setting = found.target.setting
    assert setting is not None
    assert setting.accuracy >= target

    def best(many: int) -> float:
        return max(each.accuracy for each in plan(many, p, byzantine=byzantine, protocol="slush").settings)

    assert best(n) >= target
    least = 2 if isinstance(byzantine, float) else byzantine + 1
    assert all(best(many) < target for many in range(max(2, least), n))


def test_a_single_participant_may_be_enough() -> None:
    target = plan(p=0.8, target=0.75, protocol="slush").target
    assert target is not None
    assert (target.n, target.setting) == (1, None)


@pytest.mark.parametrize(("p", "byzantine"), [(0.5, 0), (0.4, 0), (0.6, 0.2), (0.8, 0.4)])
def test_no_number_suffices(p: float, byzantine: float) -> None:
    found = plan(p=p, byzantine=byzantine, target=0.95, protocol="slush")
    assert found.target is not None
    assert found.target.n is None
    assert "no number of participants reaches 0.95" in found.target.reason
    # Condorcet's other half: with a share of liars, right votes are p (1 - share) of all, at most one half.
    assert p * (1 - byzantine) <= 0.5
    many = 2001
    liars = math.ceil(byzantine * many)
    assert majority_accuracy(many, p, byzantine=liars) < 0.95


def test_certainty_is_out_of_reach_though_doubles_round_to_it() -> None:
    target = plan(p=0.9, target=1.0, protocol="slush").target
    assert target is not None
    assert target.n is None
    assert "no number of participants reaches 1" in target.reason
    always = plan(p=1.0, target=1.0, protocol="slush").target
    assert always is not None
    assert always.n == 1


def test_a_count_of_liars_stays_while_participants_come() -> None:
    """Five of few are too many; five of many are not."""
    found = plan(p=0.7, byzantine=5, target=0.9, protocol="slush").target
    assert found is not None
    assert found.byzantine == 5
    assert found.n is not None
    assert found.n > 15


# ---- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "say whose votes to plan for"),
        ({"n": 10, "p": 0.8, "votes": [[0, 1]]}, "say whose votes to plan for"),
        ({"p": 0.8}, "n is missing"),
        ({"n": 1, "p": 0.8}, "n must satisfy n >= 2: got n=1"),
        ({"n": 10**6, "p": 0.8}, "n must satisfy n <= 5,000"),
        ({"n": 10, "p": 1.2}, "0 <= p <= 1: got p=1.2"),
        ({"n": 10, "p": [0.8] * 9}, "p must hold one accuracy for each of the 10 participants"),
        ({"n": 10, "p": 0.8, "byzantine": 10}, "0 <= byzantine < n"),
        ({"n": 10, "p": 0.8, "byzantine": -1}, "byzantine >= 0"),
        (
            {"n": 10, "p": 0.8, "byzantine": 0.99},
            "byzantine must leave somebody honest: got byzantine=0.99 of 10",
        ),
        ({"n": 10, "p": 0.8, "byzantine": 1.5}, "a count, or a share"),
        ({"n": 10, "p": 0.8, "labels": 1}, "labels >= 2"),
        ({"n": 10, "p": 0.8, "labels": 200}, "labels <= 127"),
        ({"n": 10, "p": 0.8, "inputs": 0}, "inputs >= 1"),
        ({"n": 10, "p": 0.8, "rounds": 0}, "rounds >= 1"),
        ({"n": 10, "p": 0.8, "rounds": 5000}, "rounds <= 1000"),
        ({"n": 10, "p": 0.8, "protocol": "avalanche"}, "protocol must be one of slush, snowflake, snowball"),
        ({"n": 10, "p": 0.8, "target": 1.5}, "0 <= target <= 1"),
        ({"n": 10, "p": 0.8, "seed": -1}, "seed >= 0"),
        ({"n": 10, "p": 0.8, "truth": [0]}, "give votes=, too"),
        ({"votes": [[0, 1]], "truth": [0]}, "truth must hold one class per input"),
        ({"votes": [[0, 1]], "truth": [0, 5]}, "must satisfy -1 <= class < 2: got 5"),
        ({"votes": [[-1, -1]]}, "a task with a known truth and a vote on it"),
    ],
)
def test_bad_input(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        plan(**arguments)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("p", ["good", ["good", 0.8]])
def test_an_accuracy_that_is_no_number_is_shown_as_it_was_given(p: object) -> None:
    with pytest.raises(TypeError, match=rf"^p must be a number .*: got (p=)?{re.escape(repr(p))}$"):
        plan(2, p)  # type: ignore[arg-type]
