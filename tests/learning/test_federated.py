"""``ConsensusClassifier(protocol=Federated(...))`` and ``compare`` by quorum sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from folkmoot import ConsensusClassifier, Slush, compare
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.comparison import OpenInputsWarning
from folkmoot.federated import Federated, QuorumSet, propose
from folkmoot.protocols import AnyProtocol
from folkmoot.sampling import Everyone
from folkmoot.simulation.peer_reviewed import Reviewing
from folkmoot.trust import Anchor, check_answers

NAMES = ["ada", "bo", "cy", "di", "ed"]


def rows(rng: np.random.Generator, many: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    y = rng.integers(0, 3, many)
    return rng.normal(y[:, None], 1.0, (many, 2)), y


@pytest.fixture(scope="module")
def protocol() -> Federated:
    four = QuorumSet(4, NAMES)
    return Federated(dict.fromkeys(reversed(NAMES), four))  # in another order than the models


@pytest.fixture(scope="module")
def moot(protocol: Federated) -> ConsensusClassifier:
    X, y = rows(np.random.default_rng(0), 300)
    models = [(name, GaussianNB()) for name in NAMES]
    return ConsensusClassifier(models, protocol=protocol, random_state=0).fit(X, y)


def test_an_estimator_decides_by_quorum_sets_of_its_participants(moot: ConsensusClassifier) -> None:
    X, y = rows(np.random.default_rng(1), 200)
    assert moot.protocol_.names == tuple(NAMES)
    outcome = moot.deliberate(X)
    votes = moot.votes(X)
    unanimous = (votes == votes[0]).all(axis=0)
    assert unanimous.sum() > 100
    np.testing.assert_array_equal(outcome.decision[unanimous], votes[0, unanimous])
    # Two equal first votes block a set of four of five; what nobody voted for is never decided.
    for i in np.flatnonzero(outcome.decision >= 0):
        assert (votes[:, i] == outcome.decision[i]).sum() >= 2
    assert moot.score(X, y) > 0.6
    assert moot.predict(X).shape == (200,)
    assert "Federated" in str(moot.report(X, y, repeats=1, stacking=False))


def test_parameters_can_be_listed_set_and_cloned(moot: ConsensusClassifier, protocol: Federated) -> None:
    assert moot.get_params()["protocol__delay"] == 1
    again = clone(moot).set_params(protocol__delay=2)
    assert again.protocol == Federated(protocol.quorum_sets, delay=2)


@pytest.mark.parametrize("trust", ["self-anchored", "peer-review"])
def test_trust_and_peer_review_say_what_is_preferred(protocol: Federated, trust: Any) -> None:
    rng = np.random.default_rng(2)
    X, y = rows(rng, 500)
    models = [(name, GaussianNB()) for name in NAMES]
    moot = ConsensusClassifier(models, protocol=protocol, trust=trust, random_state=0)
    X_test, y_test = rows(rng, 120)
    outcome = moot.fit(X, y).deliberate(X_test, y_test)
    assert outcome.opened is not None
    assert (outcome.opened >= 0).any()
    held = outcome.decisions[outcome.honest]
    assert (held == np.where(held >= 0, outcome.decision, -1)).all()  # what is decided is decided alike
    assert outcome.accuracy(moot.classes_.searchsorted(y_test)) > 0.6


def test_bad_combinations_are_refused_in_one_line(protocol: Federated) -> None:
    X, y = rows(np.random.default_rng(3), 60)
    models = [(name, GaussianNB()) for name in NAMES]
    four = [(name, GaussianNB()) for name in NAMES[:4]]
    cases: list[tuple[Callable[[], ConsensusClassifier], str]] = [
        (
            lambda: ConsensusClassifier(models, protocol=protocol, sampling=Everyone()),
            "sampling must be None",
        ),
        (lambda: ConsensusClassifier(models, protocol=protocol, voting="probabilities"), "protocol must be"),
        (lambda: ConsensusClassifier(four, protocol=protocol), "a set for 'ed', who is no participant"),
    ]
    for make, message in cases:
        with pytest.raises(ValueError, match=message) as caught:
            make().fit(X, y)
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="Federated has no turns"):
        ConsensusClassifier(models, protocol=protocol).fit(X, y).play(X)


class TestCompare:
    def test_it_stands_beside_other_protocols_and_goes_by_names(self) -> None:
        rng = np.random.default_rng(4)
        truth = rng.integers(0, 2, 150)
        votes = np.where(rng.random((9, 150)) < 0.75, truth, 1 - truth)
        names = [f"w{i}" for i in range(9)]
        sets = propose(rng.random(9), names, most=7)
        shuffled = {name: sets[name] for name in reversed(names)}
        talks: dict[str, AnyProtocol] = {"Slush": Slush(4, 3), "federated": Federated(shuffled)}
        liars = {0: PerfectlyMalicious()}
        report = compare(votes, talks, truth=truth, names=names, repeats=2, adversaries=liars)
        assert report.line("federated").standard_error == 0.0
        in_order = compare(votes, Federated(sets), truth=truth, repeats=1, adversaries=liars)
        assert report.accuracy("federated") == in_order.accuracy("consensus")
        assert in_order.queries == in_order.outcome.queries
        why = in_order.outcome.why(3)
        assert why.closeness is not None
        assert "quorum" in str(why)

    def test_a_talk_by_trust_prefers_what_each_holds(self) -> None:
        rng = np.random.default_rng(5)
        truth = rng.integers(0, 2, 300)
        votes = np.where(rng.random((9, 300)) < 0.75, truth, 1 - truth)
        names = [f"w{i}" for i in range(9)]
        protocol = Federated(dict.fromkeys(names, QuorumSet(6, names)))
        anchors = [Anchor(right=38, held_out=50, classes=2)] * 9
        report = compare(votes, protocol, truth=truth, anchors=anchors, repeats=1)
        assert report.anchored == 9
        assert (report.accuracy("consensus") or 0) > 0.9
        checked = check_answers(votes[:, :90], truth[:90], np.arange(90) % 9, classes=2)
        reviewed = compare(votes, protocol, truth=truth, anchors=Reviewing(checked), repeats=1)
        assert (reviewed.accuracy("consensus") or 0) > 0.9

    def test_many_open_inputs_are_told_of(self) -> None:
        votes = np.arange(5)[:, None] * np.ones((1, 20), dtype=int)  # five labels of five: none blocks
        names = list("abcde")
        protocol = Federated(dict.fromkeys(names, QuorumSet(4, names)))
        with pytest.warns(OpenInputsWarning, match="20 of 20 inputs stay open: no label was voted for"):
            report = compare(votes, protocol, repeats=1)
        assert "blocks a quorum" in str(report.outcome.why(0))
