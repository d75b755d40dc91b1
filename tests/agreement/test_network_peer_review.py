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
from folkmoot.aggregation import TrimmedMean
from folkmoot.arrays import Ints
from folkmoot.network.session.judgement import Judgement
from folkmoot.network.session.session import Session
from folkmoot.network.wire.number_verdict import NumberVerdict
from folkmoot.network.wire.packing import unpack
from folkmoot.simulation.checked_numbers import open_by_reviews
from folkmoot.simulation.peer_reviewed import review_first
from folkmoot.simulation.self_anchored import Listeners
from folkmoot.trust import (
    MOST_CHANGED,
    CheckedAnswers,
    CheckedNumbers,
    PeerReview,
    check_answers,
    review_numbers,
)
from folkmoot.trust.number_review import weights_by_errors
from folkmoot.votes import from_levels
from support.network.review_moot import ReviewMoot


def rows_shown(moot: ReviewMoot) -> tuple[Ints, Ints]:
    """The rows that all show, in the order in which each shows them, and whose they are."""
    numbers = [moot.numbers_of(place)[moot.rows[place].in_turn()] for place in range(moot.n)]
    return np.concatenate(numbers), np.repeat(np.arange(moot.n), moot.each)


def checked_rows(moot: ReviewMoot) -> CheckedAnswers:
    """These rows with everybody's honest votes."""
    rows, publisher = rows_shown(moot)
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


def played(moot: ReviewMoot, **terms: Any) -> tuple[Session, dict[int, Judgement]]:
    """A motion of the first one, and what each has learnt in it."""
    assert moot.put_review(0, seconds=60.0, **terms) == []
    moot.network.run(until=100.0)
    ((session, _),) = moot.over.values()
    found = {}
    for place, node in enumerate(moot.nodes):
        own = None if node is None else node.session(session.name)
        assert own is not None
        if own.judgement is not None:
            found[place] = own.judgement
    return session, found


@pytest.mark.parametrize(("n", "liars", "classes", "asked"), [(7, 2, 3, 200), (12, 7, 2, 60)])
def test_probabilities_of_eight_bits_are_weighed_as_in_the_library(
    n: int, liars: int, classes: int, asked: int
) -> None:
    moot = ReviewMoot(n, 8, asked=asked, each=12, classes=classes, accuracy=0.7, answers="probabilities")
    wrong = (moot.truth[None] + 1) % classes  # what the last say of themselves: they are sure of it
    moot.told[n - liars :] = np.where(wrong[..., None] == np.arange(classes), 255, 0)
    session, judged = played(moot, rounds=10, k=4, alpha=3)
    rows, publisher = rows_shown(moot)
    chances = from_levels(moot.told).astype(np.float32)
    checked = check_answers(chances[:, rows], moot.truth[rows], publisher, classes=classes)
    expected = review_first(chances[:, :asked], checked)
    assert expected is not None
    assert expected.anchored.sum() > 1
    assert len(judged) == n
    for place, judgement in judged.items():
        review = expected.trusts[place]
        assert judgement.why == review.why
        np.testing.assert_array_equal(judgement.start, expected.held[place])
        if judgement.anchored:
            np.testing.assert_array_equal(judgement.weights, review.weight)
            np.testing.assert_array_equal(judgement.sure, expected.sure[place].astype(np.float32))
            held = unpack(session.closes[place].decisions, asked, classes)
            assert (held != expected.held[place]).sum() <= MOST_CHANGED * asked
    right = (session.verdict().decisions == moot.truth[:asked]).mean()
    assert right > 0.9


def said_by(liar: int, session: Session, moot: ReviewMoot) -> Any:
    """(row, 1): the numbers that a liar has committed to, by the row that each is on."""
    owners = session.minutes.owners
    assert owners is not None
    whole = session.motion.form.unpack_first(session.closes[liar].first)
    said = np.full((len(moot.numbers), 1), np.nan)
    said[: moot.asked] = whole[owners.asked]
    for place, (where, which) in owners.rows.items():
        said[moot.numbers_of(place)[moot.rows[place].in_turn()][which]] = whole[where]
    return said


@pytest.mark.parametrize(("n", "liar"), [(7, None), (7, 6), (11, 10)])
def test_numbers_are_read_as_in_the_library_and_agreed_on(n: int, liar: int | None) -> None:
    options: dict[str, Any] = {} if liar is None else {"adversaries": {liar: ATTACKS["malicious"]()}}
    moot = ReviewMoot(n, 9, asked=40, each=10, answers="numbers", **options)
    session, judged = played(moot, rounds=20, tol=0.2)
    rows, publisher = rows_shown(moot)
    first = moot.told.copy()
    claims = moot.numbers[rows]
    if liar is not None:  # it answers absurd numbers, and claims the opposite of what it knows
        first[liar] = said_by(liar, session, moot)
        assert np.abs(first[liar] - moot.told[liar]).min() > 100
        its = publisher == liar
        claims[its] = 2 * claims[its].mean() - claims[its]
    answers, truth = first[:, rows], claims[:, None]
    checked = CheckedNumbers(answers, truth, publisher, TrimmedMean().trimmed(n))
    reviews = review_numbers(checked)
    squares = [
        ((answers[:, publisher == i] - truth[publisher == i]) ** 2).mean(axis=(1, 2)) for i in range(n)
    ]
    weights = np.stack([weights_by_errors(each, moot.each) for each in squares])
    opened = open_by_reviews(first[:, : moot.asked], reviews, weights, {})
    assert sum(review.anchored for review in reviews) > n / 2
    for place, judgement in judged.items():
        assert judgement.why == reviews[place].why
        np.testing.assert_array_equal(judgement.weights, reviews[place].weight)
        np.testing.assert_array_equal(judgement.start, opened[place])
    verdict = session.verdict()
    assert isinstance(verdict, NumberVerdict)
    assert verdict.undecided == 0
    honest_places = [place for place in range(n) if place != liar]
    inside = first[honest_places, : moot.asked, 0]
    for claim, low, high in zip(verdict.claims[:, 0], inside.min(axis=0), inside.max(axis=0), strict=True):
        assert low - 0.1 <= claim <= high + 0.1
    off = np.abs(verdict.claims[:, 0] - moot.numbers[: moot.asked]).mean()
    mean = np.abs(np.median(inside, axis=0) - moot.numbers[: moot.asked]).mean()
    assert off < mean  # those whose numbers are near count for more
