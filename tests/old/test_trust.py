"""``trust="self-anchored"``: votes that are known, so that every step can be done by hand."""

from __future__ import annotations

import pickle
from typing import Any, Final

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from folkmoot import Others, Slush, Trusting, deliberate
from folkmoot.adversaries import PerfectlyMalicious, handed_in
from folkmoot.old import ConsensusClassifier
from folkmoot.trust import Anchor, TrustWarning, decide, listen_all, sampling_weights
from folkmoot.votes import vote_keys
from support.models import Broken, Column

N, INPUTS, HELD_OUT = 101, 200, 25
TRUST: Final = "self-anchored"


def rows_of_votes(count: int, accuracy: Any, seed: int) -> tuple[Any, Any]:
    """Rows whose column j is what participant j will say, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, count)
    right = rng.random((count, N)) < accuracy
    return np.where(right, truth[:, None], 1 - truth[:, None]), truth


X, Y = rows_of_votes(INPUTS, 0.7, 0)
OWN, OWN_Y = rows_of_votes(N * HELD_OUT, 0.7, 1)
GROUPS = np.repeat(np.arange(N), HELD_OUT)
MODELS = [(f"p{i:03}", Column(i)) for i in range(N)]


@pytest.fixture(scope="module")
def moot() -> ConsensusClassifier:
    names = np.array([name for name, _ in MODELS])
    return ConsensusClassifier(MODELS, prefit=True, trust=TRUST, random_state=0).fit(
        OWN, OWN_Y, names[GROUPS]
    )


def by_hand(moot: ConsensusClassifier, repeats: int = 1) -> tuple[Any, Any]:
    """Decisions and who anchored, from the library's parts; each row of GROUPS is its owner's holdout."""
    order = np.random.default_rng(moot.seed_).permutation(N)
    liars = {int(i): PerfectlyMalicious() for i in order[: moot.adversaries or 0]}
    seen = handed_in(X.T, liars, Y, 2)
    anchors = []
    for i in range(N):
        own = np.equal(GROUPS, i)
        table = np.zeros((2, 2), dtype=int)
        np.add.at(table, (OWN_Y[own], OWN[own, i]), 1)
        anchors.append(None if i in liars else Anchor.of_confusion(table))
    trusts = listen_all(seen, anchors, classes=2)
    anchored = np.array([trust.anchored for trust in trusts])
    held = np.full((N, INPUTS), -1)
    for i in range(N):
        held[i] = X.T[i] if i in liars else decide(seen, trusts[i])
    there = np.flatnonzero([anchored[i] or i in liars for i in range(N)])
    law = sampling_weights(trusts, np.isin(np.arange(N), there))[np.ix_(there, there)]
    outcome = deliberate(
        held[there],
        Slush(10, 6),
        sampling=Trusting(law),
        adversaries={k: PerfectlyMalicious() for k, i in enumerate(there) if i in liars},
        truth=Y,
        classes=2,
        keys=vote_keys(held),
        batch="shared",
        seed=moot.seed_,
        repeats=repeats,
    )
    return outcome, anchored


@pytest.mark.parametrize("liars", [0, 60])
def test_by_hand(moot: ConsensusClassifier, liars: int) -> None:
    moot.adversaries = liars
    expected, anchored = by_hand(moot)
    outcome = moot.deliberate(X, Y)
    np.testing.assert_array_equal(outcome.honest, anchored)
    np.testing.assert_array_equal(outcome.decision, expected.decision)
    np.testing.assert_array_equal(outcome.settled, expected.settled)
    assert (outcome.decisions[~anchored] == -1).all()
    assert [trust.anchored for trust in moot.trusts(X, Y)] == anchored.tolist()
    assert moot.score(X, Y) == pytest.approx((expected.counts.argmax(axis=-1) == Y).mean())


def test_sixty_liars_of_a_hundred_and_one(moot: ConsensusClassifier) -> None:
    moot.adversaries = 60
    report = moot.report(X, Y, repeats=3, stacking=False)
    _, anchored = by_hand(moot)
    assert report.accuracy("majority") == 0
    assert report.accuracy("talk without trust") == 0
    assert report.accuracy("consensus") > 0.95  # type: ignore[operator]
    assert report.agreement > 0.99
    assert report.anchored == anchored.sum() > 30
    assert report.to_dict()["anchored"] == anchored.sum()
    assert f"trust: {anchored.sum()} of 41 honest participants anchor by their holdout" in str(report)
    assert "Slush, k=10, alpha=6, self-anchored trust" in report.title
    # Single participants are all the honest ones, whoever anchors.
    order = np.random.default_rng(moot.seed_).permutation(N)
    assert report.accuracy("mean participant") == pytest.approx(np.mean(X[:, order[60:]] == Y[:, None]))


def test_without_trust_nothing_changes(moot: ConsensusClassifier) -> None:
    plain = clone(moot).set_params(trust=None, adversaries=None).fit(OWN, OWN_Y)
    report = plain.report(X, Y, repeats=2, stacking=False)
    assert report.anchored is None
    assert [line.name for line in report.lines][-2:] == ["Dawid-Skene", "consensus"]
    assert "trust" not in str(report)


def test_predict_and_its_law(moot: ConsensusClassifier) -> None:
    moot.adversaries = None
    answers = moot.predict(X)
    expected, _ = by_hand(moot)
    np.testing.assert_array_equal(answers, expected.counts.argmax(axis=-1))
    law = moot.answer_law(X)
    np.testing.assert_allclose(law.sum(axis=1), 1)
    many, _ = by_hand(moot, repeats=100)
    np.testing.assert_allclose(law[:, 1], (many.decision == 1).mean(axis=0), atol=0.2)
    assert (law.argmax(axis=1) == answers).mean() > 0.97
    moot.adversaries = 3
    with pytest.raises(ValueError, match="must know the truth"):
        moot.predict(X)
    with pytest.raises(ValueError, match="must know the truth"):
        moot.trusts(X)


def test_the_rows_of_fit_are_the_holdout() -> None:
    everybody = ConsensusClassifier(MODELS[:3], prefit=True, trust=TRUST, protocol=Slush(2, 2)).fit(
        OWN, OWN_Y
    )
    for i, participant in enumerate(everybody.participants_):
        assert participant.held_out == len(OWN)
        table = {(true, said): times for true, said, times in participant.confusion}
        assert table == {
            (true, said): (np.equal(OWN_Y, true) & (OWN[:, i] == said)).sum()
            for true in (0, 1)
            for said in (0, 1)
        }


def test_five_folds_where_there_is_no_holdout() -> None:
    rng = np.random.default_rng(0)
    rows, coin = rng.normal(size=(600, 3)), rng.integers(0, 2, 600)
    model = KNeighborsClassifier(1)  # knows every row it has seen, and nothing else
    moot = ConsensusClassifier([model] * 12, trust=TRUST, holdout=None, random_state=0).fit(rows, coin)
    assert [p.rows for p in moot.participants_] == [50] * 12
    assert [p.held_out for p in moot.participants_] == [50] * 12
    assert 0.4 < moot.accuracies_.mean() < 0.6
    with pytest.warns(TrustWarning, match=r"nobody can anchor its trust|do not anchor") as caught:
        moot.predict(rng.normal(size=(60, 3)))
    assert len(caught) == 1
    kept = clone(moot).set_params(holdout=0.2).fit(rows, coin)
    assert [p.held_out for p in kept.participants_] == [10] * 12
    apart = (rows[:, 0] > 0).astype(int)
    able = ConsensusClassifier([GaussianNB()] * 12, trust=TRUST, holdout=0, random_state=0).fit(rows, apart)
    assert able.accuracies_.mean() > 0.9
    few = ConsensusClassifier(
        [GaussianNB()] * 3, trust=TRUST, holdout=None, protocol=Slush(2, 2), random_state=0
    )
    few.fit(rows[:9], [0, 1] * 4 + [0])  # three rows each: three folds
    assert [p.held_out for p in few.participants_] == [3] * 3


def test_an_answer_depends_on_its_batch(moot: ConsensusClassifier) -> None:
    moot.adversaries = None
    with pytest.warns(TrustWarning, match="at least 50 inputs in a batch: got 40"):
        small = moot.predict(X[:40])
    plain = clone(moot).set_params(trust=None).fit(OWN, OWN_Y)
    np.testing.assert_array_equal(small, plain.predict(X[:40]))
    with pytest.warns(TrustWarning, match="got 40"):
        report = moot.report(X[:40], Y[:40], repeats=2, stacking=False)
    assert report.anchored == 0
    assert "0 of 101 honest participants anchor by their holdout; so trust is left out" in str(report)
    assert "talk without trust" not in [line.name for line in report.lines]
    with pytest.warns(TrustWarning, match="got 40"):
        assert moot.trusts(X[:40]) == []


def test_who_cannot_answer_is_not_heard() -> None:
    broken = Broken()
    broken.classes_ = np.arange(2)
    models = [*MODELS[:30], ("broken", broken)]
    with pytest.warns(UserWarning, match="'broken': cannot predict the rows given to fit"):
        moot = ConsensusClassifier(models, prefit=True, trust=TRUST, random_state=0).fit(OWN, OWN_Y)
    with pytest.warns(UserWarning, match="the disk of this hospital is full"):
        report = moot.report(X, Y, repeats=2, stacking=False)
    assert report.anchored == 30
    assert list(report.faulty) == ["broken"]
    assert report.accuracy("consensus") > 0.9  # type: ignore[operator]


def test_more_labels_than_the_moot_knows(moot: ConsensusClassifier) -> None:
    moot.adversaries = None
    report = moot.report(X, np.where(np.arange(INPUTS) < 5, 7, Y), repeats=2, stacking=False)
    assert report.classes == 3
    assert report.anchored is not None
    assert report.anchored > 60


def test_scikit_learn_ways() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 4))
    labels = np.where(rows[:, 0] + rows[:, 1] > 0, "yes", "no")
    moot = ConsensusClassifier([GaussianNB()] * 5, protocol=Slush(4, 3), trust=TRUST, random_state=0)
    search = GridSearchCV(moot, {"trust": [None, TRUST], "protocol__alpha": [3, 4]}, cv=2).fit(rows, labels)
    assert search.best_score_ > 0.9
    fitted = clone(moot).fit(rows, labels)
    assert fitted.get_params()["trust"] == TRUST
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    np.testing.assert_array_equal(again.predict(rows), fitted.predict(rows))
    fitted.set_params(trust=None)  # concerns the talk only
    assert fitted.report(rows, labels, repeats=2, stacking=False).anchored is None


@pytest.mark.parametrize("wrong", ["yes", True, 1, "Self-Anchored", np.ones(3)])
def test_what_trust_can_be(wrong: Any) -> None:
    with pytest.raises(ValueError, match="trust must be 'self-anchored' or 'peer-review' or None: got"):
        ConsensusClassifier(MODELS, prefit=True, trust=wrong).fit(OWN, OWN_Y)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="needs rows that the models were not fitted on: fit"):
        ConsensusClassifier(MODELS, prefit=True, trust=TRUST).fit()
    with pytest.raises(ValueError, match="'self-anchored' already says who is asked: set sampling=None"):
        ConsensusClassifier(MODELS, prefit=True, trust=TRUST, sampling=Others()).fit(OWN, OWN_Y)
