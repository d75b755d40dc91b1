"""A council: one table for all, then an aggregation; compared with counting by hand."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from folkmoot import Council, Everyone, Slush, deliberate, explain, play, plot_convergence
from folkmoot.adversaries import PerfectlyMalicious, Silent
from folkmoot.adversaries.behaviours import (
    ConstantNumber,
    Copycat,
    Equivocating,
    PerfectlyFaulty,
    RandomClass,
    RandomNumber,
    Stalling,
)
from folkmoot.adversaries.interface import NumberAdversary, NumbersSeen
from folkmoot.adversaries.naming import ATTACKS
from folkmoot.aggregation import DawidSkene, Known, Median, Plurality, Pool, Rows, TrimmedMean, Weighted
from folkmoot.aggregation.interface import FinalVotes, OwnAggregation
from folkmoot.outlook import Leaders
from folkmoot.simulation.council import CouncilOutcome


class Stubborn(OwnAggregation):
    """Everybody stays with its first vote."""

    takes = ("labels", "numbers")

    def final_votes(self, table: Any, known: Known) -> FinalVotes:
        judges = np.arange(len(table)) if known.judges is None else known.judges
        votes = np.full_like(table, np.nan if table.dtype.kind == "f" else -1)
        votes[judges] = table[judges]
        return FinalVotes(votes, weights=np.eye(len(table)), fell_back={0: "it is stubborn"})


class RowsSeen(OwnAggregation):
    """Keeps what it was told of the rows."""

    seen: list[Any] = []  # noqa: RUF012 - one test, one list

    def final_votes(self, table: Any, known: Known) -> FinalVotes:
        assert known.rows is not None
        self.seen.append(known.rows.votes)
        return FinalVotes(table)


def by_hand(column: list[int]) -> list[int]:
    """The most common votes."""
    counts = Counter(vote for vote in column if vote != -1)
    most = max(counts.values(), default=0)
    return sorted(label for label, count in counts.items() if count == most)


def council(votes: Any, **options: Any) -> CouncilOutcome:
    outcome = deliberate(votes, Council(), **options)
    assert isinstance(outcome, CouncilOutcome)
    return outcome


def test_the_default_is_the_plurality_of_the_table_and_ties_share() -> None:
    rng = np.random.default_rng(0)
    votes = rng.integers(-1, 4, (7, 60))
    truth = rng.integers(0, 4, 60)
    outcome = council(votes, classes=4)
    right = 0.0
    for i in range(60):
        best = by_hand(votes[:, i].tolist())
        assert outcome.decision[i] == (best[0] if len(best) == 1 else -1)
        assert outcome.tied[i].nonzero()[0].tolist() == (best if len(best) > 1 else [])
        right += (truth[i] in best) / len(best) if best else 0.0
    assert outcome.accuracy(truth) == pytest.approx(right / 60)
    assert outcome.honest_accuracy(truth) == outcome.accuracy(truth)
    assert (outcome.decisions == outcome.decision).all()
    assert outcome.converged.all()
    assert outcome.undecided == (outcome.decision == -1).sum()


def test_many_labels_need_no_table_of_all_of_them() -> None:
    votes = np.random.default_rng(0).integers(0, 5000, (9, 300))
    outcome = council(votes)
    assert outcome.aggregated.choices is not None
    assert outcome.aggregated.choices.shape == (300, 9)
    assert outcome.accuracy(votes[0]) > 0


def test_what_adversaries_hand_in_stands_in_the_table_and_nowhere_else() -> None:
    votes, truth = np.full((5, 20), 1), np.full(20, 1)
    liars = {3: PerfectlyMalicious(), 4: PerfectlyMalicious()}
    outcome = council(votes, adversaries=liars, truth=truth)
    assert outcome.first[3:].tolist() == [[0] * 20] * 2
    assert outcome.decision.tolist() == [1] * 20
    assert outcome.honest.tolist() == [True] * 3 + [False] * 2
    assert (outcome.decisions[3:] == -1).all()
    assert (
        council(votes, adversaries=dict.fromkeys(range(3), PerfectlyMalicious()), truth=truth).accuracy(truth)
        == 0
    )
    with pytest.raises(ValueError, match="must know the truth: give truth="):
        council(votes, adversaries=liars)


@pytest.mark.parametrize("attack", [Silent, Stalling, Equivocating, Copycat])
def test_who_lies_only_in_a_talk_has_no_power_over_a_public_aggregation(attack: type) -> None:
    votes = np.random.default_rng(1).integers(0, 3, (7, 50))
    honest, lying = council(votes), council(votes, adversaries={5: attack(), 6: attack()})
    assert (honest.decision == lying.decision).all()


def test_final_votes_of_adversaries_count_in_the_plurality_and_not_in_the_mean() -> None:
    votes, truth = np.full((5, 20), 1), np.full(20, 1)
    liars = dict.fromkeys([2, 3, 4], PerfectlyMalicious())
    outcome = council(votes, aggregation=Stubborn(), adversaries=liars, truth=truth)
    assert outcome.honest_accuracy(truth) == 1
    assert outcome.accuracy(truth) == 0  # three of five
    assert outcome.final is not None
    assert outcome.final.votes[:, 0].tolist() == [1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("liar", "final"),
    [
        (PerfectlyFaulty(), [-1, -1, -1]),  # silent after a wrong first vote
        (Silent(), [-1, -1, -1]),
        (Stalling(), [1, 0, -1]),  # the second of the honest votes, nothing where the first two are level
        (Copycat(target=1), [0, 1, 1]),
        (Equivocating(), [2, 2, 2]),  # all hold one table: it stays with its first vote
    ],
    ids=["faulty", "silent", "stalling", "copycat", "equivocating"],
)
def test_the_final_vote_of_each_kind(liar: Any, final: list[int]) -> None:
    votes = [[0, 0, 0], [0, 1, 1], [0, 1, 0], [1, 1, 1], [2, 2, 2]]
    outcome = council(votes, aggregation=Stubborn(), adversaries={4: liar}, truth=[0, 0, 0])
    assert outcome.final is not None
    assert outcome.final.votes[4].tolist() == final


@pytest.mark.parametrize("rows", ["labels", "probabilities"])
def test_random_first_votes_are_drawn_by_the_seed_for_each_liar(rows: str) -> None:
    votes: Any = np.zeros((4, 600), dtype=int)
    if rows == "probabilities":
        votes = np.eye(3)[votes]

    def first(seed: int) -> Any:
        liars = {2: RandomClass(), 3: RandomClass()}
        table = council(votes, adversaries=liars, seed=seed, classes=3).first
        return table.argmax(axis=2) if table.ndim == 3 else table

    table = first(1)
    assert (table == first(1)).all()
    assert (table[:2] == 0).all()
    for row in (table[2], table[3], first(2)[2]):  # a third of 600 each, within five standard deviations
        assert (np.abs(np.bincount(row, minlength=3) - 200) < 5 * np.sqrt(600 * 2 / 9)).all()
    for one, other in ((table[2], table[3]), (table[2], first(2)[2])):  # independent: a third alike
        assert abs((one == other).sum() - 200) < 5 * np.sqrt(600 * 2 / 9)


def test_random_numbers_are_drawn_by_the_seed_for_each_liar() -> None:
    votes = np.tile([[1.0], [3.0], [2.0], [2.0]], 2000)

    def first(seed: int) -> Any:
        liars = {2: RandomNumber(), 3: RandomNumber()}
        return council(votes, aggregation=Median(), adversaries=liars, seed=seed).first

    table = first(1)
    assert (table == first(1)).all()
    assert (table[:2] == votes[:2]).all()
    for row in (table[2], table[3], first(2)[2]):  # uniform over -1 to 5
        assert row.min() > -1
        assert row.max() < 5
        assert abs(row.mean() - 2) < 5 * np.sqrt(36 / 12 / 2000)
        assert abs(row.var() - 3) < 0.3
    for one, other in ((table[2], table[3]), (table[2], first(2)[2])):
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(2000)


def test_a_random_final_vote_hangs_on_the_seed() -> None:
    votes = np.zeros((3, 300), dtype=int)

    def last(seed: int) -> list[int]:
        outcome = council(votes, aggregation=Stubborn(), adversaries={2: RandomClass()}, seed=seed, classes=3)
        assert outcome.final is not None
        return [*map(int, outcome.final.votes[2])]

    assert last(1) == last(1) != last(2)
    assert min(np.bincount(last(1))) > 60  # each colour a third of 300, within five standard deviations


def test_adversaries_lie_about_known_rows_too() -> None:
    rows = Rows(
        votes=np.ones((3, 4), dtype=np.int64),
        truth=np.ones(4, dtype=np.int64),
        owner=np.zeros(4, dtype=np.int64),
    )
    council(
        np.ones((3, 5), dtype=int), aggregation=RowsSeen(), known=Known(rows=rows),
        adversaries={2: PerfectlyMalicious()}, truth=[1] * 5,
    )  # fmt: skip
    assert RowsSeen.seen[0].tolist() == [[1] * 4, [1] * 4, [0] * 4]


def test_numbers_and_probabilities() -> None:
    numbers = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 6.0], [100.0, 7.0]])
    outcome = council(numbers, aggregation=TrimmedMean(liars=1), adversaries={3: ConstantNumber(1000.0)})
    assert outcome.decision.tolist() == [2.5, 6.0]  # the two in the middle of four, the one of three
    assert outcome.error([2.5, 9.0]) == pytest.approx(np.sqrt(9 / 2))
    assert np.isnan(outcome.decisions[3]).all()
    with pytest.raises(ValueError, match=r"take error\(truth\)"):
        outcome.accuracy([1, 2])
    own = council(numbers, aggregation=Stubborn(), adversaries={3: ConstantNumber(1000.0)})
    assert own.decision.tolist() == [2.5, 6.0]  # the median of 1, 2, 3, 1000 and of 2, 6, 1000
    assert own.honest_error([1.0, 2.0]) == pytest.approx((0 + 1 + np.sqrt((4 + 16) / 2)) / 3)
    said = np.array([[[0.6, 0.4]], [[0.6, 0.4]], [[0.2, 0.8]]])
    assert isinstance(council(said).aggregation, Pool)
    assert council(said, aggregation=Pool(robust=False)).decision.tolist() == [1]  # 1.4 against 1.6
    assert council(said).decision.tolist() == [0]  # the third is .8 from the medians: 0.28 of a vote
    lied = council(said, adversaries={2: PerfectlyMalicious()}, truth=[1])
    assert lied.first[2].tolist() == [[1.0, 0.0]]
    assert lied.decision.tolist() == [0]
    with pytest.raises(ValueError, match=r"take accuracy\(truth\)"):
        lied.error([0.0])


def test_why_explains_from_the_table() -> None:
    outcome = council([[0], [0], [1], [-1]])
    named = replace(outcome, labels=["cat", "dog"], names=["ann", "bob", "cid", "dora"])
    why = explain(named, 0)
    assert (why.answer, why.runner_up, why.rule) == ("cat", "dog", "Plurality")
    assert dict(why.shares) == pytest.approx({"cat": 2 / 3, "dog": 1 / 3})
    assert [participant.voted for participant in why.participants] == ["cat", "cat", "dog", None]
    assert why.sentence == (
        "cat was the answer because at first 2 were for cat and 1 for dog, "
        "and Plurality gives it .667 of the vote."
    )
    assert [each.name for each in why.uncounted] == ["dora"]
    assert "ann, bob" in str(why)
    assert why.to_dict()["shares"][0][0] == "cat"
    tied = replace(council([[0], [1]]), labels=["cat", "dog"])
    assert explain(tied, 0).answer is None
    assert "no label leads (cat .5, dog .5 of the vote)" in explain(tied, 0).sentence
    own = explain(
        council([[0], [0], [1]], aggregation=Stubborn(), adversaries={2: PerfectlyMalicious()}, truth=[0]), 0
    )
    assert (own.counted_by, own.participants[0].note) == ("own", "took the plurality: it is stubborn")
    assert own.participants[2].part == "lies"
    assert "in the end 2 of 3 voted for it" in own.sentence
    weighed = explain(council([[0], [1]], aggregation=Weighted([1, 3])), 0)
    assert (weighed.answer, weighed.participants[1].counts) == ("class 1", 3.0)
    assert explain(council([[0, 1], [0, 1], [1, 0]], aggregation=DawidSkene()), 0).counted_by == "accuracy"
    number = explain(council([[1.25], [3.0]], aggregation=Median()), 0)
    assert number.answer == 2.125
    assert number.sentence.startswith("2.125 was the answer: 2 gave numbers at first, from 1.25 to 3")
    assert explain(named, 0).plot().axes


def test_what_a_council_has_not_is_said() -> None:
    outcome = council([[0, 1], [0, 1]], aggregation=Plurality(least=2))
    for ask in (lambda: outcome.turns(0), lambda: play(outcome), lambda: outcome.query(0)):
        with pytest.raises(ValueError, match=r"a council has none: explain\(outcome"):
            ask()
    with pytest.raises(ValueError, match="by a protocol that has rounds"):
        plot_convergence(outcome)
    with pytest.raises(ValueError, match="repeats must be 1"):
        deliberate([[0], [1]], Council(), repeats=2)
    with pytest.raises(ValueError, match="all know all votes"):
        deliberate([[0], [1]], Council(), sampling=Everyone())
    assert "council, Plurality(least=2)" in outcome._repr_html_()


@pytest.mark.parametrize("protocol", [Slush(2, 2), Leaders(k=2, alpha=2)], ids=["slush", "leaders"])
def test_protocols_of_plain_votes_refuse_an_aggregation_in_one_line(protocol: Any) -> None:
    for given in ({"aggregation": DawidSkene()}, {"known": Known()}):
        with pytest.raises(ValueError, match=r"as it is for plain votes: give it with Council\(\)"):
            deliberate([[0], [0], [1]], protocol, **given)


def test_kinds_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="takes classes"):
        council([[0.5], [0.7]], aggregation=Plurality())
    with pytest.raises(TypeError, match="adversaries must map participants to NumberAdversary"):
        council([[0.5], [0.7]], adversaries={0: PerfectlyMalicious()})
    with pytest.raises(TypeError, match="aggregation must be one of"):
        council([[0], [1]], aggregation=3)
    assert council([[0.5], [0.7]], aggregation=TrimmedMean()).decision.tolist() == [0.6]


def test_every_attack_of_the_prompt_can_be_played() -> None:
    votes = np.random.default_rng(2).integers(0, 3, (9, 40))
    for kind in ATTACKS.values():
        liars = {0: kind.against(4), 1: kind.against(4)}
        for rule in (Plurality(), Stubborn()):
            outcome = council(votes, adversaries=liars, truth=votes[3], aggregation=rule)
            assert (outcome.first >= -1).all()
            assert (outcome.first < 3).all()


@pytest.mark.parametrize("said", [math.inf, -math.inf, 1e200, math.nan])
def test_a_lie_that_is_no_sensible_number_is_left_out(said: float) -> None:
    class Absurd(NumberAdversary):
        def answer_number(self, seen: NumbersSeen) -> float:  # noqa: ARG002
            return said

    honest = [[1.0, 5.0], [2.0, 7.0], [4.0, 6.0]]
    found = deliberate([*honest, [0.0, 0.0]], Council(), aggregation=Median(), adversaries={3: Absurd()})
    assert found.decision.tolist() == [2.0, 6.0]
