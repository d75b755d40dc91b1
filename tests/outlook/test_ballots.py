"""The rules of ballots, one by one, on cases made by hand."""

from __future__ import annotations

import numpy as np

from folkmoot.outlook.ballots import (
    COMMIT,
    COMMITTED,
    NONE,
    PREPARE,
    PREPARED,
    StatedBallots,
    preferred,
    wanted_by_first,
)

YES = np.ones((1, 1), dtype=np.bool_)


def one(**said: tuple[int, int]) -> StatedBallots:
    """One node that has said things of one input: ``commit=(1, 0)`` is a vote to commit (1, 0)."""
    ballots = StatedBallots.none(3, 1, 1)
    phases = {"prepare": PREPARE, "prepared": PREPARED, "commit": COMMIT, "committed": COMMITTED}
    for phase, (counter, label) in said.items():
        ballots.statements[phases[phase], counter - 1, 0, 0] = label
    ballots.counter[:] = max((counter for counter, _ in said.values()), default=0)
    return ballots


def test_one_label_is_prepared_at_a_counter() -> None:
    ballots = one(prepared=(1, 0))
    assert not ballots.accept_prepared(1, 1, YES).any()
    assert ballots.accept_prepared(2, 1, YES).all()


def test_nothing_is_prepared_against_what_is_committed() -> None:
    ballots = one(committed=(2, 0))
    assert not ballots.accept_prepared(2, 1, YES).any()
    assert not ballots.accept_prepared(3, 1, YES).any()
    assert ballots.accept_prepared(1, 1, YES).all()  # an earlier ballot of another label may still be aborted


def test_nothing_is_committed_against_what_is_prepared_later() -> None:
    ballots = one(prepared=(2, 0))
    assert not ballots.accept_committed(1, 1, YES).any()
    assert not ballots.accept_committed(2, 1, YES).any()
    assert ballots.accept_committed(3, 1, YES).all()


def test_a_commit_is_voted_for_only_if_nothing_speaks_against_it() -> None:
    assert one(prepare=(1, 0), prepared=(1, 0)).vote_commit(1, 0, YES).all()
    assert not one(prepare=(1, 0)).vote_commit(1, 0, YES).any()  # it has not accepted it itself
    assert not one(prepare=(2, 1), prepared=(1, 0)).vote_commit(1, 0, YES).any()  # it has voted against it
    later = one(prepare=(1, 0), prepared=(1, 0))
    later.statements[PREPARED, 1] = 1
    assert not later.vote_commit(1, 0, YES).any()


def test_a_node_is_locked_until_another_label_is_prepared_later() -> None:
    assert one(commit=(1, 1)).locked() == 1
    assert one(commit=(1, 1), prepared=(2, 1)).locked() == 1
    assert one(commit=(1, 1), prepared=(2, 0)).locked() == NONE
    assert one(committed=(2, 0), prepared=(1, 1)).locked() == 0
    ballots = one(commit=(1, 1))
    ballots.vote(2, np.zeros((1, 1)), YES)
    assert ballots.statements[PREPARE, 1] == 1
    free = one(prepared=(1, 1))
    free.vote(2, np.zeros((1, 1)), YES)
    assert free.statements[PREPARE, 1] == 0


def test_a_node_votes_once_a_counter_and_may_vote_late() -> None:
    ballots = one()
    ballots.vote(1, np.full((1, 1), NONE), YES)
    assert ballots.counter == 1
    assert ballots.statements[PREPARE, 0] == NONE
    ballots.vote(1, np.ones((1, 1)), YES)
    ballots.vote(1, np.zeros((1, 1)), YES)
    assert ballots.statements[PREPARE, 0] == 1


def test_who_has_decided_votes_no_more() -> None:
    ballots = one(prepare=(1, 0))
    assert ballots.decide(0, YES).all()
    assert not ballots.decide(1, YES).any()
    ballots.vote(2, np.ones((1, 1)), YES)
    assert ballots.counter == 1
    assert ballots.statements[PREPARE, 1] == NONE


def test_more_says_less() -> None:
    ballots = one(commit=(2, 1))
    assert ballots.says("prepare", 2, 1).all()
    assert ballots.says("prepared", 2, 1).all()
    assert not ballots.says("committed", 2, 1).any()
    assert not ballots.says("prepare", 1, 1).any()
    assert ballots.votes_for(1).all()
    assert ballots.named() == [(2, 1)]


def test_preferred_takes_the_best_that_qualifies_then_ones_own_then_the_first() -> None:
    scores = np.array([3.0, 2.0, 2.0])[:, None, None]
    for qualified, own, expected in (
        ([1, 1, 1], 2, 0),
        ([0, 1, 1], 2, 2),
        ([0, 1, 1], 0, 1),
        ([0, 0, 0], 0, NONE),
    ):
        mask = np.array(qualified, dtype=np.bool_)[:, None, None]
        assert preferred(mask, scores, np.array([[own]], dtype=np.int8)) == expected


def test_the_first_node_goes_round_and_is_one_that_is_named() -> None:
    named = np.array([[True, False, True]])
    wanted = np.array([[0], [1], [2]], dtype=np.int8)
    assert [int(wanted_by_first(n, named, wanted)[0, 0]) for n in (2, 3, 4, 5)] == [0, 2, 2, 0]
    wanted[2] = NONE  # who wants nothing is passed over
    assert wanted_by_first(4, named, wanted) == 0
