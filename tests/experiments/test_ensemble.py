"""What an ensemble answers, beside counts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.counting import MAJORITY
from experiments.femnist.byzantine_sweep import FEW, SOME, statistics, sweep
from experiments.femnist.ensemble import (
    BEYOND,
    LOCAL,
    LOCAL_TEST,
    PAPER,
    SLUSH,
    Lead,
    Members,
    TalkSettings,
    answers,
    lead,
    methods,
)
from folkmoot import Slush, deliberate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def members() -> Members:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    skill = rng.beta(14, 10, (21, 1))
    votes = np.where(rng.random((21, 300)) < skill, truth, 1 - truth)
    return Members(votes, truth, validation=skill[:, 0].round(1), cautious=skill[:, 0])


TALK = TalkSettings(repeats=4)


def test_majority_by_hand(members: Members) -> None:
    turned = [2, 5, 11]
    votes = members.votes.copy()
    votes[turned] = 1 - members.truth
    by_hand = ((2 * votes.sum(axis=0) > 21) == (members.truth == 1)).mean()
    found = methods(answers(members, TALK, 0, (SLUSH,), turned), members.truth)
    assert [method.name for method in found] == [MAJORITY, SLUSH]
    assert found[0].accuracy == by_hand
    assert found[0].error is None
    assert found[0].lead == Lead(0.0, 0.0)


def test_weighted_majority_by_hand(members: Members) -> None:
    weight = np.log(members.cautious / (1 - members.cautious))
    score = weight @ (2 * members.votes - 1)
    by_hand = ((score > 0) == (members.truth == 1)).mean()
    found = methods(answers(members, TALK, 0, ["weighted majority", SLUSH]), members.truth)
    assert found[1].accuracy == by_hand


def test_local_thresholds_are_from_where_they_say(members: Members) -> None:
    found = answers(members, TALK, 0, (LOCAL, LOCAL_TEST))
    for name, accuracies in ((LOCAL, members.validation), (LOCAL_TEST, members.accuracies)):
        alpha = [max(6, int(np.ceil(round(10 * p, 9)))) for p in accuracies]
        talk = deliberate(members.votes, Slush(10, alpha), rounds=50, repeats=4, seed=0)
        assert np.array_equal(found[name].decisions, talk.decision)
    assert not np.array_equal(found[LOCAL].decisions, found[LOCAL_TEST].decisions)


def test_a_sweep_turns_the_first_of_its_order(members: Members) -> None:
    order = [7, 3, 12, *(i for i in range(21) if i not in (7, 3, 12))]
    swept = sweep(members, TALK, 0, order, (0, 1, 3), turned="some", writers=1)
    for place, turned in enumerate(([], [7], [7, 3, 12])):
        votes = members.votes.copy()
        votes[turned] = 1 - members.truth
        by_hand = ((2 * votes.sum(axis=0) > 21) == (members.truth == 1)).mean()
        assert swept.curve(MAJORITY).accuracy[place] == by_hand


def test_all_methods_answer(members: Members) -> None:
    found = methods(answers(members, TALK, 0, (*PAPER, *BEYOND)), members.truth)
    assert [method.name for method in found] == [MAJORITY, *PAPER, *BEYOND]
    for method in found:
        assert members.accuracies.mean() < method.accuracy <= 1
        assert (method.error is not None) == ("Slush" in method.name or "Snow" in method.name)


def test_members_who_all_agree_are_not_talked_out_of_it() -> None:
    truth = np.array([0, 1, 1])
    sure = Members(np.tile(truth, (13, 1)), truth, np.full(13, 0.9), np.full(13, 0.8))
    for method in methods(answers(sure, TALK, 0, (*PAPER, *BEYOND)), truth):
        assert (method.accuracy, method.undecided, method.lead.mean) == (1.0, 0.0, 0.0)


def test_lead() -> None:
    ahead = np.array([1.0, 0.0, 0.0, -1.0, 1.0])
    assert lead(ahead).mean == pytest.approx(0.2)
    assert lead(ahead).error == pytest.approx(np.sqrt(2.8 / 4 / 5))
    signs = [Lead(mean, error).sign for mean, error in ((0.31, 0.1), (0.3, 0.11), (-0.31, 0.1), (0, 0))]
    assert signs == [1, 0, -1, 0]


def test_a_sweep_starts_from_the_plain_run_and_ends_badly(members: Members) -> None:
    order = list(range(21))
    found = sweep(members, TALK, 7, order, (0, 1, 3, 6, 10, 30), turned="any", writers=4)
    assert found.byzantine == [0, 1, 3, 6, 10]
    plain = {each.name: each for each in methods(answers(members, TALK, 7, PAPER), members.truth)}
    for curve in found.curves:
        assert curve.accuracy[0] == plain[curve.name].accuracy
        assert curve.error[0] == plain[curve.name].error
        assert curve.accuracy[-1] < 0.5
    # The mean lead is that of the single ones: f = 1 and 3 are below alpha, 6 and 10 are not.
    for name in (SLUSH, LOCAL, LOCAL_TEST):
        ours, theirs = (np.array(found.curve(each).accuracy) for each in (name, MAJORITY))
        leads = found.curve(name).leads
        assert list(leads) == [FEW, SOME]
        assert leads[FEW].mean == pytest.approx((ours - theirs)[1:3].mean())
        assert leads[SOME].mean == pytest.approx((ours - theirs)[3:].mean())
        assert found.lost(name) == pytest.approx(ours[0] - ours[4])


def test_where_a_method_falls_behind(members: Members) -> None:
    found = sweep(members, TALK, 7, list(range(21)), (0, 1, 3, 6), turned="any", writers=4)
    ours, theirs = found.curve(SLUSH).accuracy, found.curve(MAJORITY).accuracy
    expected = next(
        (
            f
            for i, f in enumerate(found.byzantine)
            if all(a < b for a, b in zip(ours[i:], theirs[i:], strict=True))
        ),
        None,
    )
    assert found.falls_behind(SLUSH) == expected
    assert found.falls_behind(MAJORITY) is None


def test_statistics() -> None:
    found = statistics(np.array([0.5, 0.6, 0.7, 1.0]))
    assert found.mean == pytest.approx(0.7)
    assert found.median == pytest.approx(0.65)
    assert found.deviation == pytest.approx(np.sqrt(0.14 / 3))
