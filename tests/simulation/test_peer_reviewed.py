"""Review first, then talk: the same as calling each step by hand; who lies where; bad input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from folkmoot import Slush, Trusting, deliberate
from folkmoot.adversaries import Adversary, PerfectlyMalicious, Silent, handed_in
from folkmoot.arrays import Singles
from folkmoot.simulation.peer_reviewed import Claims, review_first, with_lies
from folkmoot.simulation.self_anchored import Listeners
from folkmoot.trust import (
    LEAST_LIKENESS,
    CheckedAnswers,
    PeerReview,
    TrustWarning,
    check_answers,
    held_after,
    review_all,
    sampling_weights,
)
from folkmoot.trust.review import leads
from folkmoot.votes import Votes

N, ROWS, INPUTS = 21, 84, 200
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, ROWS + INPUTS)
VOTES = np.where(RNG.random((N, ROWS + INPUTS)) < 0.75, TRUTH, 1 - TRUTH)
CHECKED = check_answers(VOTES[:, :ROWS], TRUTH[:ROWS], np.arange(ROWS) % N, classes=2)
BATCH, RIGHT = VOTES[:, ROWS:], TRUTH[ROWS:]
LIARS: dict[int, Adversary] = {i: PerfectlyMalicious() for i in range(8)}


def reviewed(liars: Mapping[int, Adversary] = LIARS, claims: Claims = "wrong") -> Listeners[PeerReview]:
    found = review_first(BATCH, CHECKED, adversaries=liars, truth=RIGHT, claims=claims)
    assert found is not None
    return found


def test_each_step_by_hand() -> None:
    found = reviewed()
    outcome = found.talk(Slush(10, 6), LIARS, truth=RIGHT, classes=2, repeats=3, seed=5)

    lies = VOTES.copy()
    lies[:8] = 1 - TRUTH
    claimed = np.where(np.arange(ROWS) % N < 8, 1 - TRUTH[:ROWS], TRUTH[:ROWS])
    checked = check_answers(lies[:, :ROWS], claimed, np.arange(ROWS) % N, classes=2)
    reviews = review_all(checked, judges=range(8, N), batch=lies[:, ROWS:])
    anchored = [review.own for review in reviews if review.anchored]
    assert len(anchored) > 10
    assert np.flatnonzero(found.anchored).tolist() == anchored
    by_owner = {review.own: review for review in reviews}
    talking = [*range(8), *anchored]
    held = np.stack([BATCH[i] if i < 8 else by_owner[i].decide(lies[:, ROWS:]) for i in talking])
    weights = np.zeros((N, N))
    for review in reviews:
        weights[review.own] = np.maximum(review.weight, 0)
    np.fill_diagonal(weights, 0)
    expected = deliberate(
        held,
        Slush(10, 6),
        sampling=Trusting(weights[np.ix_(talking, talking)]),
        adversaries=LIARS,
        truth=RIGHT,
        classes=2,
        repeats=3,
        seed=5,
        batch="shared",
        least_likeness=LEAST_LIKENESS,
    )
    np.testing.assert_array_equal(sampling_weights(found.trusts)[8:], weights[8:])
    for place, i in enumerate(talking[8:], start=8):
        sure = np.abs(np.diff(by_owner[i].scores(lies[:, ROWS:]), axis=1))[:, 0]
        kept = held_after(held[place], expected.decisions[:, place], sure)
        np.testing.assert_array_equal(outcome.decisions[:, i], kept)
    assert outcome.accuracy(RIGHT) > 0.9


def test_liars_lie_on_checked_rows_and_publish_what_they_like() -> None:
    rows = np.arange(ROWS) % N < 8
    kinds: tuple[Claims, ...] = get_args(Claims)
    shown = {claims: with_lies(CHECKED, LIARS, claims) for claims in kinds}
    for each in shown.values():
        np.testing.assert_array_equal(each.votes[:8], np.broadcast_to(1 - CHECKED.truth, (8, ROWS)))
        np.testing.assert_array_equal(each.votes[8:], CHECKED.votes[8:])
        np.testing.assert_array_equal(each.truth[~rows], CHECKED.truth[~rows])
    np.testing.assert_array_equal(shown["wrong"].truth[rows], 1 - CHECKED.truth[rows])
    np.testing.assert_array_equal(shown["right"].truth, CHECKED.truth)
    np.testing.assert_array_equal(shown["backing"].truth[rows], 1 - CHECKED.truth[rows])
    # Where it has no vote, it has no story that its label could back.
    votes = CHECKED.votes.copy()
    votes[0, 0] = -1
    partly = with_lies(replace(CHECKED, votes=votes), LIARS, "backing")
    assert (partly.votes[0, 0], partly.truth[0]) == (-1, CHECKED.truth[0])
    for claims in kinds:
        assert not reviewed(claims=claims).trusts[20].weight[:8].max() > 0


def test_probabilities_of_0_and_1_are_labels() -> None:
    def soft(votes: Votes) -> Singles:
        return np.asarray(np.eye(2, dtype=np.float32)[votes])

    checked = CheckedAnswers(soft(VOTES[:, :ROWS]), CHECKED.truth, CHECKED.publisher, 2)
    found = review_first(soft(BATCH), checked, adversaries=LIARS, truth=RIGHT)
    assert found is not None
    labels = reviewed()
    np.testing.assert_array_equal(found.held, labels.held)
    np.testing.assert_allclose(found.sure, labels.sure, atol=1e-5)
    # Whatever their model thinks, those who lie are sure of it.
    unsure = (0.4 + 0.2 * soft(VOTES)).astype(np.float32)
    lied = with_lies(CheckedAnswers(unsure[:, :ROWS], CHECKED.truth, CHECKED.publisher, 2), LIARS)
    np.testing.assert_array_equal(lied.votes[:8], np.stack([soft(1 - CHECKED.truth)] * 8))


def test_who_did_not_vote_takes_no_part_and_liars_hand_in_nothing_there() -> None:
    batch = BATCH.copy()
    batch[20], batch[0, :50] = -1, -1
    found = review_first(batch, CHECKED, adversaries=LIARS, truth=RIGHT)
    assert found is not None
    assert not found.anchored[20]
    assert not found.speaking[20]
    assert found.speaking[:8].all()
    seen = handed_in(batch, LIARS, RIGHT, 2, missing="absent")
    np.testing.assert_array_equal(found.held[19], found.trusts[19].decide(seen))


def test_nobody_anchors() -> None:
    noise = check_answers(
        VOTES[:, :ROWS], np.random.default_rng(5).permutation(TRUTH[:ROWS]), np.arange(ROWS) % N, classes=2
    )
    with pytest.warns(TrustWarning, match="nobody can anchor by checked answers.*not anchored"):
        assert review_first(BATCH, noise.only(np.arange(21))) is None
    with pytest.warns(TrustWarning, match="no honest participant has votes"):
        assert review_first(BATCH, CHECKED, adversaries=dict.fromkeys(range(N), Silent())) is None


def test_bad_input() -> None:
    with pytest.raises(ValueError, match=r"of the 21 participants .* got the shapes \(20, 200\)"):
        review_first(BATCH[:20], CHECKED)
    with pytest.raises(ValueError, match="claims must be one of wrong, right, backing: got 'none'"):
        review_first(BATCH, CHECKED, claims="none")  # type: ignore[arg-type]


def test_leads() -> None:
    np.testing.assert_allclose(leads(np.array([[0.5, 0.2, 0.1], [0, 0, 0]], dtype=np.float32)), [0.3, 0.0])


def test_some_judge_as_they_would_among_all() -> None:
    everybody = reviewed()
    some = review_first(BATCH, CHECKED, adversaries=LIARS, truth=RIGHT, judges=[15, 3, 9])  # 3 lies
    assert some is not None
    assert everybody.anchored[[9, 15]].all()
    assert np.flatnonzero(some.anchored).tolist() == [9, 15]
    assert (some.held[[9, 15]] == everybody.held[[9, 15]]).all()
    assert (some.speaking == some.anchored | (np.arange(N) < 8)).all()
    with pytest.raises(ValueError, match="judges must be among the 21 participants: got 21"):
        review_first(BATCH, CHECKED, judges=[2, 21])
    with pytest.warns(TrustWarning, match="no honest participant has votes"):
        assert review_first(BATCH, CHECKED, adversaries=LIARS, truth=RIGHT, judges=[3]) is None
