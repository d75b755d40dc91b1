"""Peer review over the network against the library's: nodes on the memory transport, and ``review_first``.

What each node makes of opened check rows, its weights and what it takes into the talk, must be to the last
bit what the library makes of the same votes, labels and lies. What it signs is that, but for the few changes
that the guard of the talk allows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from folkmoot.adversaries import ATTACKS, Adversary
from folkmoot.network.wire.packing import unpack
from folkmoot.simulation.peer_reviewed import review_first
from folkmoot.simulation.self_anchored import Listeners
from folkmoot.trust import MOST_CHANGED, CheckedAnswers, PeerReview, check_answers
from support.network.review_moot import ReviewMoot


def checked_rows(moot: ReviewMoot) -> CheckedAnswers:
    """The rows that all show, in the order in which each shows them, with everybody's honest votes."""
    numbers = [moot.numbers_of(place)[moot.rows[place].in_turn()] for place in range(moot.n)]
    rows, publisher = np.concatenate(numbers), np.repeat(np.arange(moot.n), moot.each)
    votes = moot.votes.astype(np.int64)[:, rows]
    return check_answers(votes, moot.truth[rows], publisher, classes=moot.classes)


def library(moot: ReviewMoot) -> Listeners[PeerReview]:
    votes, truth = moot.votes.astype(np.int64)[:, : moot.asked], moot.truth[: moot.asked]
    found = review_first(votes, checked_rows(moot), adversaries=moot.adversaries, truth=truth)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("n", "liars", "attack", "classes", "asked"),
    [
        (12, 7, "malicious", 2, 60),  # more than ten: nobody's vote on its own rows counts
        (7, 3, "malicious", 3, 300),  # with ten or fewer it does
        (9, 2, "constant", 2, 200),
    ],
)
def test_a_node_learns_from_check_rows_what_the_library_does(
    n: int, liars: int, attack: str, classes: int, asked: int
) -> None:
    adversaries: dict[int, Adversary] = {place: ATTACKS[attack]() for place in range(n - liars, n)}
    moot = ReviewMoot(n, 5, asked=asked, each=12, classes=classes, adversaries=adversaries, accuracy=0.7)
    judged: dict[int, Any] = {}
    moot.put_review(0, rounds=10, k=4, alpha=3, seconds=60.0)
    moot.network.run(until=100.0)
    ((session, _),) = moot.over.values()
    for place in range(n - liars):
        node = moot.nodes[place]
        own = None if node is None else node.session(session.name)
        assert own is not None
        judged[place] = own.judgement
    expected = library(moot)
    assert expected.anchored[: n - liars].sum() > 1
    for place, judgement in judged.items():
        review = expected.trusts[place]
        assert judgement.why == review.why
        assert judgement.anchored == expected.anchored[place]
        np.testing.assert_array_equal(judgement.start, expected.held[place])
        if judgement.anchored:
            np.testing.assert_array_equal(judgement.weights, review.weight)
            np.testing.assert_array_equal(judgement.sure, expected.sure[place].astype(np.float32))
            held = unpack(session.closes[place].decisions, asked, classes)
            assert (held != expected.held[place]).sum() <= MOST_CHANGED * asked
