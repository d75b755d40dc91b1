"""Peer review in worlds whose truth is known: liars in votes, labels or both, and those who spare rows."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from folkmoot.arrays import Bools, Ints, Singles
from folkmoot.trust import PUBLIC, PeerReview, check_answers, review_all
from folkmoot.trust.panel import MOST_FEATURES, Panel

CLASSES = 4


def _world(
    n: int = 24, rows: int = 10, batch: int = 600, seed: int = 0, classes: int = CLASSES
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Participants that each know two colours well and mistake the others for the next one."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n * rows + batch)
    knows = (truth + np.arange(n)[:, None]) % classes < 2
    right = rng.random((n, len(truth))) < np.where(knows, 0.9, 0.3)
    votes = np.where(right, truth, (truth + 1) % classes)
    cut = n * rows
    return votes[:, :cut], truth[:cut], np.arange(cut) % n, votes[:, cut:], truth[cut:]


def _accuracy(
    votes: Ints, claims: Ints, publisher: Ints, batch: Ints, truth: Ints, judges: Sequence[int]
) -> tuple[list[PeerReview], list[float]]:
    checked = check_answers(votes, claims, publisher, classes=CLASSES)
    reviews = review_all(checked, judges=judges, batch=batch)
    return reviews, [float((review.decide(batch) == truth).mean()) for review in reviews]


def _majority(batch: Ints, truth: Ints) -> float:
    counts = np.stack([(batch == colour).sum(axis=0) for colour in range(CLASSES)])
    return float((counts.argmax(axis=0) == truth).mean())


def test_who_is_right_about_what_is_learnt() -> None:
    votes, claims, publisher, batch, truth = _world()
    reviews, right = _accuracy(votes, claims, publisher, batch, truth, range(24))
    assert all(review.anchored for review in reviews)
    assert min(right) > _majority(batch, truth) + 0.05
    assert min(right) > 0.97


@pytest.mark.parametrize("lie", ["votes", "labels", "both", "clique", "spare"])
def test_a_majority_of_liars(lie: str) -> None:
    votes, claims, publisher, batch, truth = _world(n=40, batch=900, seed=3)
    liars = np.arange(24)
    published = publisher < 24
    real = claims.copy()
    if lie in ("labels", "both"):
        claims = np.where(published, (real + 1) % CLASSES, real)
    if lie in ("votes", "both"):
        votes[liars], batch[liars] = (real + 1) % CLASSES, (truth + 1) % CLASSES
    if lie == "clique":  # right about each other's rows, whatever these claim, and a story for the rest
        rng = np.random.default_rng(4)
        claims = np.where(published, rng.integers(0, CLASSES, len(real)), real)
        votes[liars] = np.where(published, claims, rng.integers(0, CLASSES, len(real)))
        batch[liars] = rng.integers(0, CLASSES, len(truth))
    if lie == "spare":
        batch[liars] = (truth + 1) % CLASSES
    reviews, right = _accuracy(votes, claims, publisher, batch, truth, range(24, 40))
    anchored = [accuracy for review, accuracy in zip(reviews, right, strict=True) if review.anchored]
    assert len(anchored) >= 14
    assert min(anchored) > 0.85  # sixteen honest ones alone: 0.88 to 0.95 by seed
    if lie in ("labels", "both", "clique"):
        assert np.mean([review.accepted[liars].mean() for review in reviews]) < 0.2
    if lie == "spare":
        assert all(review.muted[liars].all() and not review.muted[24:].any() for review in reviews)


def test_a_liar_that_judges_is_not_deaf_to_its_own() -> None:
    votes, claims, publisher, batch, truth = _world(n=40, batch=900, seed=3)
    batch[:24] = (truth + 1) % CLASSES
    reviews, _ = _accuracy(votes, claims, publisher, batch, truth, [0, 30])
    assert not reviews[0].muted.any()
    assert reviews[1].muted[:24].all()


def test_a_participant_whose_rows_say_nothing_does_not_anchor() -> None:
    votes, claims, publisher, batch, truth = _world()
    claims = np.where(publisher == 5, np.random.default_rng(9).integers(0, CLASSES, len(claims)), claims)
    reviews, _ = _accuracy(votes, claims, publisher, batch, truth, [5, 6])
    assert not reviews[0].anchored
    assert (reviews[0].decide(batch) == -1).all()
    np.testing.assert_allclose(reviews[0].probabilities(batch), 1 / CLASSES)
    assert "not anchored" in reviews[0].why
    assert reviews[1].anchored
    assert not reviews[1].accepted[5]


def test_what_a_publisher_votes_on_its_own_rows_does_not_count() -> None:
    votes, claims, publisher, batch, truth = _world()
    boast = votes.copy()
    boast[publisher, np.arange(len(claims))] = claims
    first, second = (_accuracy(v, claims, publisher, batch, truth, [0])[0][0] for v in (votes, boast))
    np.testing.assert_array_equal(first.scores(batch), second.scores(batch))


def test_copies_share_one_voice() -> None:
    votes, claims, publisher, batch, truth = _world(n=12)
    many = [*range(12), *[0] * 30]
    reviews, right = _accuracy(votes[many], claims, publisher, batch[many], truth, [1])
    alone, right_alone = _accuracy(votes, claims, publisher, batch, truth, [1])
    assert abs(right[0] - right_alone[0]) < 0.01
    weight = reviews[0].weight[[0, *range(12, 42)]]
    np.testing.assert_allclose(weight, weight[0])
    assert weight.sum() == pytest.approx(alone[0].weight[0], rel=0.15)


def test_which_numbers_publishers_have_does_not_matter() -> None:
    votes, claims, publisher, _, _ = _world(n=30)
    some = publisher % 5 == 0  # six publishers, which must not all be left out together
    checked = check_answers(votes[:, some], claims[some], publisher[some], classes=CLASSES)
    known = Panel(checked).learnt(np.ones(30, dtype=bool)).unseen
    assert (known.argmax(axis=1) == claims[some]).mean() > 0.9


def test_probabilities_of_one_colour_are_that_vote() -> None:
    votes, claims, publisher, batch, truth = _world()
    sure = np.eye(CLASSES)
    by_label, _ = _accuracy(votes, claims, publisher, batch, truth, [0])
    checked = check_answers(sure[votes], claims, publisher, classes=CLASSES)
    by_share = review_all(checked, judges=[0], batch=sure[batch])
    np.testing.assert_allclose(by_share[0].scores(sure[batch]), by_label[0].scores(batch), atol=1e-6)


def test_probabilities_mean_what_they_say() -> None:
    votes, claims, publisher, batch, truth = _world(n=7, rows=40, batch=4000, seed=2)
    reviews, _ = _accuracy(votes, claims, publisher, batch, truth, [0])
    shares = reviews[0].probabilities(batch)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    sure, right = shares.max(axis=1), shares.argmax(axis=1) == truth
    edges = np.quantile(sure, np.linspace(0, 1, 6))
    place = np.clip(np.searchsorted(edges, sure) - 1, 0, 4)
    gaps = [abs(sure[place == b].mean() - right[place == b].mean()) for b in range(5)]
    assert np.mean(gaps) < 0.06


def test_missing_votes_speak_for_nothing() -> None:
    votes, claims, publisher, batch, truth = _world(n=30, rows=12)
    rng = np.random.default_rng(5)
    votes[rng.random(votes.shape) < 0.4] = -1
    batch[rng.random(batch.shape) < 0.4] = -1
    batch[:, 0] = -1
    reviews, right = _accuracy(votes, claims, publisher, batch, truth, range(30))
    assert np.mean(right) > _majority(batch, truth)
    assert reviews[0].decide(batch)[0] == -1


def test_public_rows_anchor_everybody() -> None:
    votes, claims, _publisher, batch, _truth = _world()
    gold = check_answers(votes, claims, classes=CLASSES)
    assert (gold.publisher == PUBLIC).all()
    reviews = review_all(gold)
    assert all(review.anchored for review in reviews)
    decisions = {review.decide(batch).tobytes() for review in reviews}
    assert len(decisions) == 1  # all have learnt the same
    assert "public rows" in reviews[0].why


@pytest.mark.parametrize("n", [3, 4])
def test_few_participants(n: int) -> None:
    votes, claims, publisher, batch, truth = _world(n=n, rows=40, seed=6)
    _, right = _accuracy(votes, claims, publisher, batch, truth, range(n))
    assert min(right) >= _majority(batch, truth) - 0.02


def test_so_many_that_each_has_one_weight() -> None:
    rng = np.random.default_rng(7)
    n, classes = 700, 8
    assert n * classes > MOST_FEATURES
    truth, publisher = rng.integers(0, classes, 1400), np.arange(1400) % n
    accuracy = np.where(np.arange(n) % 5 == 0, 0.6, 0.1)[:, None]  # a fifth knows anything
    wrong = (truth + rng.integers(1, classes, (n, 1400))) % classes
    votes = np.where(rng.random((n, 1400)) < accuracy, truth, wrong)
    checked = check_answers(votes[:, :1000], truth[:1000], publisher[:1000] % 100, classes=classes)
    review = review_all(checked, judges=[0])[0]
    assert review.anchored
    assert "one weight a participant" in review.why
    knowing = np.arange(n) % 5 == 0
    assert review.weight[knowing].mean() > 3 * abs(review.weight[~knowing].mean())
    assert (review.decide(votes[:, 1000:]) == truth[1000:]).mean() > 0.95


def test_an_expert_is_one_more_voter() -> None:
    votes, claims, publisher, batch, truth = _world(n=12, rows=20)
    votes, batch = (np.random.default_rng(8).integers(0, CLASSES, v.shape) for v in (votes, batch))
    checked = check_answers(votes, claims, publisher, classes=CLASSES)
    knows = np.eye(CLASSES, dtype=np.float32) - np.float32(1 / CLASSES)
    asked: list[Bools] = []

    def expert(accepted: Bools) -> Singles:
        asked.append(accepted)
        return np.asarray(knows[claims])

    with_it = review_all(checked, judges=[0], expert=expert)[0]
    assert asked[0].dtype == bool
    assert (with_it.scores(batch, knows[truth]).argmax(axis=1) == truth).mean() > 0.95


def test_nothing_to_begin_with() -> None:
    votes, claims, publisher, batch, truth = _world(n=12)
    some = publisher != 3
    reviews, _ = _accuracy(votes[:, some], claims[some], publisher[some], batch, truth, [3])
    assert not reviews[0].anchored
    assert "0 checked rows of its own" in reviews[0].why


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"votes": [[0, 1], [2, 0]]}, "votes[1, 0] must satisfy -1 <= class < 2: got 2"),
        ({"truth": [0, 5]}, "truth[1] must satisfy 0 <= class < 2: got 5"),
        ({"truth": [0]}, "truth must hold one class per input (2)"),
        ({"publisher": [0, 2]}, "publisher must satisfy -1 <= participant < 2: got 0 to 2"),
        ({"publisher": [0]}, "publisher must hold one participant per row (2)"),
        ({"votes": np.full((2, 2, 2), 0.7)}, "votes[0, 0] must be probabilities that add up to 1"),
        ({"votes": np.full((2, 2, 3), 1 / 3)}, "a probability for each of 2 colours"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], said: str) -> None:
    right: dict[str, Any] = {"votes": [[0, 1], [1, 1]], "truth": [0, 1], "publisher": [0, 1]}
    with pytest.raises(ValueError, match=re.escape(said)):
        check_answers(**(right | given), classes=2)


def test_votes_of_others_or_of_another_kind_are_refused() -> None:
    votes, claims, publisher, batch, _ = _world(n=12)
    review = review_all(check_answers(votes, claims, publisher, classes=CLASSES), judges=[0])[0]
    with pytest.raises(ValueError, match="of 12 participants"):
        review.decide(batch[:5])
    with pytest.raises(ValueError, match="votes must be colours"):
        review.decide(np.eye(CLASSES)[batch])
    with pytest.raises(ValueError, match="0 <= judge < 12: got 12"):
        review_all(review.panel.checked, judges=[12])


def test_rows_can_be_joined_and_left_out() -> None:
    votes, claims, publisher, _, _ = _world(n=12)
    whole = check_answers(votes, claims, publisher, classes=CLASSES)
    parts = whole.only(publisher < 6).and_also(whole.only(publisher >= 6))
    assert parts.rows == whole.rows
    with pytest.raises(ValueError, match="can be joined"):
        whole.and_also(check_answers(np.eye(CLASSES)[votes], claims, publisher, classes=CLASSES))
