"""Ties: every rule and every line of a table, against counting in fractions over all votes there can be."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from folkmoot import Others, Slush, compare
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.aggregation import DawidSkene, Plurality, Weighted
from folkmoot.aggregation.aggregating import aggregate
from folkmoot.outcome import Decided, Outcome, majority_class, most, right_by_input, share_right
from folkmoot.theory import SlushChain, majority_accuracy
from folkmoot.votes import Votes
from support.oracles.ties import fair_accuracy, fair_consensus, fair_share
from support.strategies import Renamed, renamed_tables, vote_tables

# Of the rules that see all votes only this one is looked at.
MAJORITY = {"majority": Plurality()}


def everything(n: int, labels: range) -> Votes:
    """(participant, input): every combination of labels that n participants can vote for."""
    return np.array(list(product(labels, repeat=n))).T


@pytest.mark.parametrize("n", range(2, 8))
def test_theory_table_and_counting_agree_on_all_votes_of_two_labels(n: int) -> None:
    """Votes of accuracy 2/3: of every combination with b right votes there are 2^b copies."""
    votes = everything(n, range(2))
    votes = np.repeat(votes, 2 ** votes.sum(axis=0), axis=1)
    assert votes.shape[1] == 3**n
    truth = np.ones(3**n, dtype=np.int64)
    k = min(3, n - 1)
    line = compare(votes, Slush(k, k // 2 + 1), truth=truth, others=MAJORITY, repeats=1).line("majority")
    exact = fair_accuracy(votes, truth)
    assert line.score == pytest.approx(float(exact), rel=1e-14)
    assert majority_accuracy(n, 2 / 3) == pytest.approx(float(exact), rel=1e-13)
    assert line.ties == (0 if n % 2 else sum(2 * votes.sum(axis=0) == n))
    assert line.coverage == pytest.approx(1 - line.ties / votes.shape[1])


@pytest.mark.parametrize(("n", "classes"), [(2, 2), (3, 3), (4, 3), (5, 3), (4, 4)])
@pytest.mark.parametrize("least", [-1, 0])
def test_a_majority_of_all_votes_of_several_labels(n: int, classes: int, least: int) -> None:
    votes = everything(n, range(least, classes))
    for right in range(classes):
        truth = np.full(votes.shape[1], right)
        report = compare(
            votes, Slush(1, 1), truth=truth, classes=classes, others=MAJORITY, repeats=1, rounds=0
        )
        assert report.score("majority") == pytest.approx(float(fair_accuracy(votes, truth)), rel=1e-13)


@pytest.mark.parametrize(("n", "classes"), [(1, 2), (2, 2), (4, 2), (6, 2), (3, 3), (4, 3), (5, 4)])
def test_what_all_can_hold_after_a_talk(n: int, classes: int) -> None:
    """Every end of a talk, uncoloured participants included, as an outcome."""
    held = everything(n, range(-1, classes))
    inputs = held.shape[1]
    outcome = Outcome(
        decisions=held.astype(np.int8),
        honest=np.ones(n, dtype=np.bool_),
        classes=classes,
        converged=np.zeros(inputs, dtype=np.bool_),
        rounds=np.zeros(inputs, dtype=np.int64),
        queries=np.array(0),
    )
    for right in range(classes):
        exact = [fair_consensus(column, right) for column in held.T.tolist()]
        truth = np.full(inputs, right)
        assert outcome.accuracy(truth) == pytest.approx(float(sum(exact, Fraction(0)) / inputs), rel=1e-13)
        each = right_by_input(outcome.decision, truth, outcome.tied)
        assert each.tolist() == [float(share) for share in exact]
    # A tie is not broken: it is undecided, and its labels are named.
    tied = outcome.tied.any(axis=-1)
    assert (outcome.decision[tied] == -1).all()
    assert (outcome.tied.sum(axis=-1)[tied] >= 2).all()
    assert outcome.undecided == (outcome.decision == -1).sum() >= tied.sum()


def test_by_hand() -> None:
    """Ten participants: 5 to 5, 6 to 4, nobody but two, 4 and 4 and 2, 4 and 3 and 3, nobody."""
    counts = np.array([[5, 5, 0], [6, 4, 0], [1, 1, 0], [4, 4, 2], [4, 3, 3], [0, 0, 0]])
    answer = majority_class(counts, np.full(6, 10))
    assert answer.decision.tolist() == [-1, 0, -1, -1, -1, -1]
    assert answer.tied is not None
    assert answer.tied.tolist() == [
        [True, True, False],  # a tie
        [False] * 3,
        [False] * 3,  # undecided: eight hold nothing
        [True, True, False],  # a tie: eight of ten hold one of the two
        [False] * 3,  # undecided: one is ahead, and six of ten hold another
        [False] * 3,
    ]
    assert share_right(answer.decision, [0] * 6, answer.tied) == pytest.approx(2 / 6)
    assert share_right(answer.decision, [2] * 6, answer.tied) == 0
    assert share_right(answer.decision, [1, -1, -1, -1, -1, -1], answer.tied) == 0.5
    plain = most(counts, counts.sum(axis=1) > 0)
    assert plain.decision.tolist() == [-1, 0, -1, -1, 0, -1]


def test_a_truth_that_nobody_voted_for_is_not_right() -> None:
    votes = [[0, 0], [1, 1]]
    report = compare(votes, Slush(1, 1), truth=[2, 0], classes=3, others=MAJORITY, rounds=0, repeats=1)
    assert report.score("majority") == report.score() == 0.25
    assert share_right([-1], [7], [[True, True]]) == 0
    assert share_right([-1], np.ones(1), [[True, True]]) == 0.5


@given(vote_tables(most_participants=6, most_classes=2))
def test_without_a_round_the_consensus_is_the_majority(table: tuple[Votes, int]) -> None:
    """Who did not vote is absent; then both lines are the same count."""
    votes, _ = table
    truth = np.zeros(votes.shape[1], dtype=np.int64)
    assume(len(votes) > 1)
    report = compare(votes, Slush(1, 1), truth=truth, others=MAJORITY, rounds=0, repeats=1)
    line, talk = report.line("majority"), report.line("consensus")
    assert talk.score == line.score == pytest.approx(float(fair_accuracy(votes, truth)))
    assert (talk.coverage, talk.ties) == (line.coverage, line.ties)


def estimated(votes: Votes, classes: int) -> Decided:
    """By Dawid and Skene."""
    found = aggregate(votes, DawidSkene(one_coin=False), classes=classes)
    return Decided(found.decision, found.tied_classes(classes))


def weighted_answer(votes: Votes, weights: list[float], classes: int = 2) -> Decided:
    found = aggregate(votes, Weighted(weights))
    return Decided(found.decision, found.tied_classes(classes))


@given(renamed_tables(), st.lists(st.sampled_from([0.25, 0.5, 1.0, 2.0]), min_size=7, max_size=7))
def test_no_label_has_an_advantage(table: Renamed, weights: list[float]) -> None:
    """Labels of another name in another order: the same accuracy, which no rule that breaks ties has."""
    votes, classes, _, _, name = table
    other = table.colours[votes]
    given_, renamed = (weighted_answer(v, weights[: len(votes)], classes) for v in (votes, other))
    skilled, again = (estimated(v, classes) for v in (votes, other))
    for colour in range(classes):
        truth, called = np.full(votes.shape[1], colour), np.full(votes.shape[1], name[colour])
        for one, two in ((given_, renamed), (skilled, again)):
            assert share_right(one.decision, truth, one.tied) == pytest.approx(
                float(share_right(two.decision, called, two.tied))
            )
    everybody = sum(
        right_by_input(given_.decision, np.full(votes.shape[1], colour), given_.tied)
        for colour in range(classes)
    )
    np.testing.assert_allclose(everybody, (votes >= 0).any(axis=0))  # somebody voted: there is an answer


def test_weighted_and_estimated_ties() -> None:
    votes = np.array([[0, 0, 1], [1, 1, 1], [-1, 1, 0]])
    answer = weighted_answer(votes, [0.1 + 0.2, 0.3, 0.0])  # 0.30000000000000004 is more than 0.3
    assert answer.decision.tolist() == [0, 0, 1]
    answer = weighted_answer(votes, [0.3, 0.3, 0.0])
    assert share_right(answer.decision, [0, 0, 0], answer.tied) == pytest.approx((0.5 + 0.5 + 0) / 3)
    # Two that always contradict each other: neither is known to be the better one.
    found = estimated(np.array([[0, 1, 0, 1], [1, 0, 1, 0]]), 2)
    assert found.decision.tolist() == [-1] * 4
    assert share_right(found.decision, [0, 1, 0, 0], found.tied) == 0.5


def test_too_few_votes_are_no_tie() -> None:
    votes = np.array([[0, 0], [0, 0], [1, 0], [1, 1]])
    report = compare(votes, truth=[0, 0], aggregation=Plurality(least=4), others=MAJORITY)
    line = report.line("consensus")  # all four are needed
    assert (line.score, line.coverage) == (0.0, 0.0)
    assert report.score("majority") == 0.75
    assert "no answer is not right" in str(report)


def test_liars_make_ties() -> None:
    """Four honest participants and a liar among five: a centre has no tie, the four who talk have one."""
    votes = np.array([[0], [0], [1], [1], [1]])
    report = compare(
        votes,
        Slush(4, 4),
        truth=[1],
        adversaries={4: PerfectlyMalicious()},
        others=MAJORITY,
        repeats=3,
    )
    assert report.score("majority") == 0.0  # 0, 0, 1, 1 and the liar's 0
    assert report.score() == 0.5  # nobody hears four equal answers, so all keep what they hold
    assert report.line("consensus").ties == 1.0


def test_a_talk_cut_short_is_right_as_often_as_theory_says() -> None:
    """Ten participants and one round: about a sixth of the talks end in a tie, which counts half."""
    n, p, inputs = 10, 0.6, 40_000
    votes = (np.random.default_rng(5).random((n, inputs)) < p).astype(np.int64)
    report = compare(votes, Slush(3, 2), truth=np.ones(inputs, dtype=np.int64), rounds=1, repeats=1)
    exact = SlushChain(n, 3, 2, sampling=Others()).accuracy(p, steps=n)
    accuracy, tied = report.score(), report.line("consensus").ties
    assert accuracy is not None
    assert tied > 0.05 * inputs
    assert abs(accuracy - exact) < 4.5 * 0.5 / np.sqrt(inputs)
    majority = report.score("majority")
    assert majority is not None
    assert abs(majority - majority_accuracy(n, p)) < 4.5 * 0.5 / np.sqrt(inputs)


def test_the_oracle_by_hand() -> None:
    assert fair_share([0, 0, 1, 1, 2], 1) == Fraction(1, 2)
    assert fair_share([-1, -1], 0) == 0
    assert fair_share([0, 1, 2], 2) == Fraction(1, 3)
    assert fair_consensus([0, 1, -1, -1, -1], 0) == 0
