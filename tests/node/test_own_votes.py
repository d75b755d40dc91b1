"""Final votes of one member: whom it can tell, it believes; else it takes the plurality and says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot import aggregate
from folkmoot.aggregation import Known, PeerReview, Rows
from folkmoot.node.ballots import NOTHING, levels_of, on_grid
from folkmoot.node.own import Knowledge, OwnVotes, final_votes
from folkmoot.node.review import ballots_of, first_ballot, mixed, own_rows
from folkmoot.node.session.header import Header
from folkmoot.node.session.terms import Terms

N, ME = 7, 2
LIARS = [4, 5, 6]
LABELS = ("a", "b")
TRUTH = np.random.default_rng(0).integers(0, 2, 300)


def crowd(seed: int, truth: Any, liars: list[int] = LIARS) -> Any:
    """Members that are right on 85%, and liars that are always wrong."""
    rng = np.random.default_rng(seed)
    votes = np.where(rng.random((N, len(truth))) < 0.85, truth, 1 - truth)
    votes[liars] = 1 - truth
    return votes


def header(**terms: Any) -> Header:
    return Header(
        bytes(32), 0, bytes(16), 0.0, Terms(**{"labels": LABELS, "believe": "own", **terms}), len(TRUTH)
    )


def table(asked: Header, votes: Any) -> list[dict[int, bytes]]:
    return [{i: ballots_of(asked, 0).pack(own) for i, own in enumerate(votes)}]


def right(asked: Header, found: OwnVotes) -> float:
    return float((ballots_of(asked, 1).unpack(found.ballot) == TRUTH).mean())


def test_a_holdout_tells_whom_to_believe() -> None:
    """Always wrong, three liars of seven are worth three that are always right."""
    asked = header()
    held = crowd(9, TRUTH)[ME, :60]
    found = final_votes(asked, N, ME, table(asked, crowd(1, TRUTH)), Knowledge(held, TRUTH[:60]))
    assert found.why is None
    assert right(asked, found) > 0.97
    assert max(found.weights[LIARS]) < min(found.weights[:4])


def test_a_track_record_tells_whom_to_believe() -> None:
    asked = header()
    before = np.random.default_rng(5).integers(0, 2, 80)
    known = Knowledge(record=crowd(7, before), record_truth=before)
    found = final_votes(asked, N, ME, table(asked, crowd(1, TRUTH)), known)
    assert found.why is None
    assert right(asked, found) > 0.97


def test_a_specialist_counts_all_alike_and_copies_once() -> None:
    """It knows two classes of four; three members know all, three copy one random answer."""
    asked, rng = header(labels=("a", "b", "c", "d")), np.random.default_rng(4)
    truth = rng.integers(0, 4, len(TRUTH))
    votes = np.where(rng.random((N, len(truth))) < 0.9, truth, (truth + 1) % 4)
    votes[ME] = np.where(truth < 2, votes[ME] % 2, rng.integers(0, 2, len(truth)))
    votes[LIARS] = rng.integers(0, 4, len(truth))
    rows = np.arange(40) % 2
    found = final_votes(asked, N, ME, table(asked, votes), Knowledge(rows, rows))
    assert found.why is not None
    assert "of other classes than the inputs" in found.why
    np.testing.assert_allclose(found.weights, [1, 1, 1, 1, 1 / 3, 1 / 3, 1 / 3])
    plain = (aggregate(votes).decision == truth).mean()
    assert (ballots_of(asked, 1).unpack(found.ballot) == truth).mean() > plain + 0.1


@pytest.mark.parametrize("known", [False, True])
def test_who_cannot_tell_takes_the_plurality_and_says_so(known: bool) -> None:
    """A model that guesses shows nothing."""
    asked = header()
    votes = crowd(1, TRUTH)
    guesses = np.random.default_rng(3).integers(0, 2, 40)
    knowledge = Knowledge(guesses, TRUTH[:40]) if known else Knowledge()
    found = final_votes(asked, N, ME, table(asked, votes), knowledge)
    assert found.why is not None
    assert found.why.startswith("holdout trust: " if known else "it holds no rows back")
    expected = (votes.sum(axis=0) > N / 2).astype(int)
    assert (ballots_of(asked, 1).unpack(found.ballot) == expected).all()


def test_probabilities_become_labels() -> None:
    asked = header(answers="probabilities")
    votes = crowd(1, TRUTH)
    chances = np.where(votes[:, :, None] == np.arange(2), 0.8, 0.2)
    first = [{i: ballots_of(asked, 0).pack(levels_of(own)) for i, own in enumerate(chances)}]
    held = Knowledge(crowd(9, TRUTH)[ME, :60], TRUTH[:60])
    before = Knowledge(record=crowd(7, TRUTH[:80]), record_truth=TRUTH[:80])
    for knowledge in (held, before):
        found = final_votes(asked, N, ME, first, knowledge)
        assert found.why is None
        assert right(asked, found) > 0.97


def test_numbers_are_weighted_by_their_errors() -> None:
    """Two of seven are far more exact than the others, and one lies."""
    asked = header(answers="numbers", labels=(), step=0.01)
    rng = np.random.default_rng(2)
    truth, old = rng.normal(0, 10, len(TRUTH)), rng.normal(0, 10, 80)
    spread = np.array([0.1, 0.1, 3, 3, 3, 3, 3])[:, None]
    numbers = truth + spread * rng.normal(size=(N, len(truth)))
    numbers[6] = 1000.0
    first = table(asked, on_grid(numbers, 0.01))
    record = Knowledge(
        (old + 3 * rng.normal(size=80)), old, record=old + spread * rng.normal(size=(N, 80)), record_truth=old
    )
    found = final_votes(asked, N, ME, first, record)
    own = ballots_of(asked, 1).unpack(found.ballot) * 0.01
    median = np.median(numbers, axis=0)
    assert found.why is None
    assert np.abs(own - truth).mean() < 0.5 * np.abs(median - truth).mean()
    lost = final_votes(asked, N, ME, first, Knowledge())
    assert lost.why is not None
    np.testing.assert_allclose(ballots_of(asked, 1).unpack(lost.ballot) * 0.01, median, atol=0.006)


def reviewed(liars: list[int]) -> tuple[Header, list[dict[int, bytes]], Any, Any]:
    """A motion in which each member has shown six rows."""
    rng = np.random.default_rng(4)
    asked = rng.normal(size=(len(TRUTH), 3))
    rows = {i: rng.normal(size=(6, 3)) for i in range(N)}
    labels = {i: rng.integers(0, 2, 6) for i in range(N)}
    batch, order = mixed(asked, rows, N, bytes(32))
    known = {each.tobytes(): label for i in rows for each, label in zip(rows[i], labels[i], strict=True)}
    known |= {each.tobytes(): label for each, label in zip(asked, TRUTH, strict=True)}
    truth = np.array([known[each.tobytes()] for each in batch])
    header = Header(
        bytes(32), 0, bytes(16), 0.0, Terms(labels=LABELS, believe="own", rows=6), len(batch), 3,
        rows=6 * N, shown=bytes(32),
    )  # fmt: skip
    votes = crowd(1, truth, liars)
    first = {
        i: first_ballot(
            header, votes[i], own_rows(batch, rows[i], labels[i].tolist()), order if i == 0 else b""
        )
        for i in range(N)
    }
    return header, [first], (rows, labels, asked), (votes, batch, truth)


def test_peer_review_is_that_of_the_library() -> None:
    header, first, (rows, labels, asked), (votes, batch, _) = reviewed(LIARS)
    found = final_votes(header, N, ME, first, Knowledge())
    assert found.why is None
    assert right(header, found) > 0.95
    place = {row.tobytes(): i for i, row in enumerate(batch)}
    places = sorted(
        (place[row.tobytes()], i, label) for i in rows for row, label in zip(rows[i], labels[i], strict=True)
    )
    where, owner, truth = (np.array(each) for each in zip(*places, strict=True))
    inputs = [place[row.tobytes()] for row in asked]
    known = Known(classes=2, rows=Rows(votes[:, where], truth, owner), judges=np.array([ME]))
    expected = PeerReview().final_votes(votes[:, inputs], known).votes[ME]
    assert (ballots_of(header, 1).unpack(found.ballot) == expected).all()


def test_inputs_of_the_motion_tell_what_is_near() -> None:
    header, first, (rows, labels, asked), (votes, batch, _) = reviewed(LIARS)
    found = final_votes(header, N, ME, first, Knowledge(), batch)
    place = {row.tobytes(): i for i, row in enumerate(batch)}
    places = sorted(
        (place[row.tobytes()], i, label) for i in rows for row, label in zip(rows[i], labels[i], strict=True)
    )
    where, owner, truth = (np.array(each) for each in zip(*places, strict=True))
    inputs = [place[row.tobytes()] for row in asked]
    shown = Rows(votes[:, where], truth, owner, batch[where])
    known = Known(classes=2, rows=shown, inputs=batch[inputs], judges=np.array([ME]))
    expected = PeerReview(expert=None).final_votes(votes[:, inputs], known).votes[ME]
    assert (ballots_of(header, 1).unpack(found.ballot) == expected).all()
    assert right(header, found) > 0.9


def test_without_the_asker_nobody_knows_what_is_asked() -> None:
    header, first, *_ = reviewed([])
    del first[0][0]
    found = final_votes(header, N, ME, first, Knowledge(TRUTH[:50], TRUTH[:50]))
    assert (found.ballot, found.why) == (b"", "the asker has not told which inputs are its own")


KINDS: dict[str, Any] = {
    "labels": {"labels": ("a", "b", "c")},
    "probabilities": {"answers": "probabilities", "labels": ("a", "b", "c")},
    "numbers": {"answers": "numbers", "labels": ()},
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_no_table_is_too_odd(kind: str, data: Any) -> None:
    """Members that are absent, or vote on nothing, or all alike; of two inputs, or of many."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    inputs, n = data.draw(st.sampled_from([1, 2, 12])), data.draw(st.integers(1, 6))
    asked = Header(bytes(32), 0, bytes(16), 0.0, Terms(**{"believe": "own", **KINDS[kind]}), inputs)
    form = ballots_of(asked, 0)
    there = rng.random((n, inputs)) < data.draw(st.sampled_from([0.0, 0.3, 1.0]))
    labels = rng.integers(0, data.draw(st.integers(1, 3)), (n, inputs))
    truth: Any = rng.integers(0, 3, 30)
    said: Any = np.where(rng.random(30) < data.draw(st.sampled_from([0.0, 0.9])), truth, -1)
    record: Any = rng.integers(-1, 3, (n, 30))
    if kind == "labels":
        votes = np.where(there, labels, -1)
    elif kind == "probabilities":
        votes = np.where(
            there[:, :, None], levels_of(np.eye(3)[labels].reshape(-1, 3)).reshape(n, inputs, 3), 0
        )
    else:
        votes = np.where(there, labels * 10**6, NOTHING)
        truth, said = truth.astype(float), truth + rng.normal(size=30)
        record = np.where(record < 0, np.nan, record)
    first = {i: form.pack(votes[i]) for i in range(n) if rng.random() < 0.8}
    some = data.draw(st.booleans())
    knowledge = Knowledge(said, truth, record=record if some else None, record_truth=truth)
    found = final_votes(asked, n, 0, [first], knowledge)
    ballots_of(asked, 1).unpack(found.ballot)
