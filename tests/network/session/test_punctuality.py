"""Who answers in time, and how long a round waits."""

from __future__ import annotations

import itertools
import random

import pytest

from folkmoot.network.session.patience import Health, Patience
from folkmoot.network.session.punctuality import SHORTEST, Punctuality

PATIENCE = 2.0


def punctuality(n: int = 11) -> tuple[Punctuality, Health]:
    health = Health(n)
    return Punctuality(Patience(30.0, health, n, 0.0, 30.0), health, n), health


def ask(watch: Punctuality, peer: int, number: int, took: float | None, now: float = 0.0) -> None:
    """A round in which a peer is asked, and replies after so long or is late."""
    watch.asked([peer], number, now)
    if took is None:
        watch.late([peer])
    else:
        watch.replied(peer, number, now + took)


def test_fewer_than_half_of_the_peers_cannot_move_how_long_a_round_waits() -> None:
    """Whatever four of ten do, the round lasts 4 times what some honest peer took."""
    rng = random.Random(3)
    for _ in range(200):
        watch, _ = punctuality()
        honest = {peer: rng.uniform(0.02, 0.2) for peer in range(1, 7)}
        liars = {peer: rng.choice([0.0, 0.001, 1.9, 50.0]) for peer in range(7, 11)}
        for peer, took in (honest | liars).items():
            ask(watch, peer, 0, took)
        waits = watch.seconds(())
        assert 4 * min(honest.values()) <= waits <= max(4 * max(honest.values()), SHORTEST)


@pytest.mark.parametrize(("took", "waits"), [(0.0, 0.05), (0.01, 0.05), (0.1, 0.4), (0.6, 2.0)])
def test_a_round_waits_for_four_latencies_within_bounds(took: float, waits: float) -> None:
    watch, _ = punctuality()
    assert watch.seconds([1, 2, 3]) == PATIENCE  # nothing is known
    for peer in (1, 2, 3):
        ask(watch, peer, 0, took)
    assert watch.seconds([1, 2, 3]) == pytest.approx(waits)
    assert watch.seconds([4, 5, 6]) == PATIENCE  # of six, half have never replied
    assert watch.seconds([4, 5]) == pytest.approx(waits)


def test_three_late_rounds_of_the_last_ten_and_a_peer_is_not_asked() -> None:
    """All ways to be late in twelve rounds, against a count by hand."""
    for lates in itertools.product([False, True], repeat=12):
        watch, _ = punctuality()
        for number, late in enumerate(lates):
            ask(watch, 1, number, None if late else 0.001)
        expected = any(sum(lates[max(0, end - 10) : end]) >= 3 for end in range(1, 13))
        assert (watch.slow == {1}) == expected, lates


def test_no_more_than_f_are_left_out_and_never_so_many_that_no_quorum_is_left() -> None:
    watch, _ = punctuality(11)  # f = 2, a quorum is 7
    for number, peer in itertools.product(range(3), (1, 2, 3, 4)):
        ask(watch, peer, number, None)
    assert len(watch.slow) == 2
    everybody = list(range(1, 11))
    assert watch.usable(everybody) == [peer for peer in everybody if peer not in watch.slow]
    assert watch.usable([1, 2, 5, 6, 7, 8]) == [1, 2, 5, 6, 7, 8]


def test_a_network_that_becomes_slow_is_seen_to_be_so() -> None:
    """Replies that come when the round is over, and others have begun, are measured too."""
    watch, health = punctuality()
    for peer in range(1, 11):
        ask(watch, peer, 0, 0.001)
    assert watch.seconds(()) == SHORTEST
    for peer in range(1, 11):
        ask(watch, peer, 1, None, now=1.0)
        ask(watch, peer, 2, None, now=1.05)
    for peer in range(1, 11):
        watch.replied(peer, 1, 1.3)
    assert watch.seconds(()) == pytest.approx(4 * (0.001 + 0.25 * (0.3 - 0.001)))
    assert health.benched(1.3) == []


def test_only_who_says_nothing_at_all_is_benched_in_all_motions() -> None:
    watch, health = punctuality()
    for peer in (1, 2, 3):
        ask(watch, peer, 0, None)
    watch.word[2] = 1.0
    watch.replied(3, 0, 1.5)
    watch.give_up(PATIENCE - 0.01)
    assert health.benched(PATIENCE) == []
    watch.give_up(PATIENCE)
    assert health.benched(PATIENCE) == [1]
    watch.give_up(1.0 + PATIENCE)
    assert health.benched(1.0 + PATIENCE) == [1, 2]
