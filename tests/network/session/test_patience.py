"""How long is waited, and for whom."""

from __future__ import annotations

import pytest

from folkmoot.network.session.patience import LONGEST, TRIES, Health, Patience


def test_a_silent_peer_is_benched_for_twice_as_long_each_time() -> None:
    health, now = Health(3), 100.0
    assert health.benched(now) == []
    for number in range(1, 10):
        health.failed(1, now, patience=0.5)
        until = now + min(LONGEST, 0.5 * 2**number)
        assert not health.live(1, until - 1e-6)
        assert health.live(1, until)
        assert health.benched(now) == [1]
        now = until


def test_failing_again_while_on_the_bench_changes_nothing() -> None:
    health = Health(2)
    health.failed(0, 0.0, 1.0)
    for now in (0.5, 1.0, 1.5):
        health.failed(0, now, 1.0)
    assert health.live(0, 2.0)


def test_a_word_brings_it_back_at_once() -> None:
    health = Health(2)
    for now in (0.0, 10.0, 20.0):
        health.failed(1, now, 1.0)
    health.alive(1)
    assert health.live(1, 20.0)
    health.failed(1, 30.0, 1.0)
    assert health.live(1, 32.0)  # and its failures are forgotten


@pytest.mark.parametrize(("seconds", "answer"), [(1.0, 0.25), (30.0, 2.0), (45.0, 3.0), (86_400.0, 3.0)])
def test_deadlines_are_shares_of_the_motion(seconds: float, answer: float) -> None:
    patience = Patience(seconds, Health(2), 2, 0.0, seconds)
    assert patience.answer == pytest.approx(answer)
    shares = [x / seconds for x in (patience.commit_by, patience.reveal_by, patience.talk_by, patience.end)]
    assert shares == pytest.approx([0.35, 0.5, 0.85, 1.0])
    patience.prolong(seconds + 7.0)
    later = [patience.commit_by, patience.reveal_by, patience.talk_by, patience.end]
    assert later == pytest.approx([share * seconds + 7.0 for share in (0.35, 0.5, 0.85, 1.0)])


def test_who_owes_something_is_reminded_and_then_benched() -> None:
    health = Health(4)
    patience = Patience(30.0, health, 4, 0.0, 30.0)
    patience.begin(5.0)
    assert patience.untried
    assert patience.next_try == 5.0
    for number in range(TRIES):
        assert patience.remind([1, 2], 5.0 + number) == [1, 2]
        assert patience.next_try == 5.0 + number + patience.answer
    assert not patience.untried
    patience.still_there(2)
    assert patience.remind([1, 2, 3], 20.0) == [2, 3]
    assert health.benched(20.0) == [1]
    patience.begin(21.0)
    assert patience.remind([1], 21.0) == [1]
