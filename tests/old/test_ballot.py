"""Who cannot vote does not hold up the others, and odd answers are one participant's problem."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from folkmoot import Slush, StrongConfidence, Trusting
from folkmoot.adversaries import Copycat
from folkmoot.learning import ParticipantWarning
from folkmoot.old import ConsensusClassifier
from support.models import Broken, Threshold

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Y = (X[:, 0] > 0).astype(int)


class Duck:
    """No scikit-learn at all: it only predicts."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def fit(self, X: Any, y: Any) -> Duck:  # noqa: ARG002
        return self

    def predict(self, X: Any) -> Any:
        return self.answer(X)


def right(X: Any) -> Any:
    return (np.asarray(X)[:, 0] > 0).astype(int)


ODD = [
    lambda X: np.stack([right(X)] * 2, axis=1),  # two columns
    lambda X: right(X)[:, None, None],
    lambda X: right(X)[:-1],
    lambda X: None,  # noqa: ARG005
    lambda X: [{}] * len(X),
    lambda X: 1 / 0,  # noqa: ARG005
]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_answer_makes_one_participant_faulty(odd: Any) -> None:
    models = [("odd", Duck(odd)), *((f"good {i}", Duck(right)) for i in range(3))]
    moot = ConsensusClassifier(models, prefit=True, protocol=Slush(3, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParticipantWarning)  # about the same in fit
        moot.fit(X, Y)
    with pytest.warns(ParticipantWarning, match="'odd .*predict failed"):
        report = moot.report(X, Y, stacking=False)
    assert list(report.faulty) == ["odd"]
    assert report.accuracy() == 1
    assert report.undecided == 0


def test_answers_of_another_form_that_are_fine() -> None:
    forms = [lambda X: right(X).tolist(), lambda X: right(X)[:, None], lambda X: right(X).astype(float)]
    forms.append(lambda X: np.array(right(X).tolist(), dtype=object))
    moot = ConsensusClassifier([Duck(form) for form in forms], prefit=True, protocol=Slush(3, 2)).fit(X, Y)
    assert moot.accuracies_.tolist() == [1, 1, 1, 1]
    assert np.array_equal(moot.predict(X), Y)


def test_the_others_do_not_wait_for_who_is_faulty() -> None:
    # With k = alpha = 2 of three, one silent peer in the urn would keep the other two from ever agreeing.
    models = [("bad", Broken()), ("one", Threshold(0.0)), ("two", Threshold(0.5))]
    moot = ConsensusClassifier(models, prefit=True, protocol=Slush(2, 2)).fit()
    with pytest.warns(ParticipantWarning):
        outcome = moot.deliberate(X, record=True)
    assert outcome.undecided == 0
    assert outcome.honest.tolist() == [False, True, True]
    assert (outcome.decisions[0] == -1).all()
    split = int(np.flatnonzero((X[:, 0] > 0) & (X[:, 0] < 0.5))[0])
    assert {change.participant for change in outcome.turns(split).changes} <= {1, 2}
    with pytest.warns(ParticipantWarning):
        assert np.array_equal(moot.answer_law(X).sum(axis=1), np.ones(120))


def test_liars_keep_their_numbers_beside_a_faulty_one() -> None:
    models = [("bad", Broken()), *((f"m{i}", Threshold(0.0)) for i in range(4))]
    moot = ConsensusClassifier(models, prefit=True, protocol=Slush(3, 2), adversaries={4: Copycat(target=2)})
    with pytest.warns(ParticipantWarning):
        outcome = moot.fit().deliberate(X)
    assert outcome.honest.tolist() == [False, True, True, True, False]
    moot.set_params(adversaries={4: Copycat(target=0)})
    with (
        pytest.warns(ParticipantWarning),
        pytest.raises(ValueError, match="Copycat follows participant 0, which cannot answer"),
    ):
        moot.deliberate(X)


def test_trust_keeps_its_numbers_beside_a_faulty_one() -> None:
    # Everybody else trusts participant 2 only, which says 0 where they say 1; participant 0 cannot answer.
    models = [("bad", Broken()), ("a", Threshold(-9.0)), ("b", Threshold(9.0)), ("c", Threshold(-9.0))]
    trust = np.zeros((4, 4))
    trust[:, 2] = 1
    moot = ConsensusClassifier(models, prefit=True, protocol=Slush(3, 2), sampling=Trusting(trust))
    with pytest.warns(ParticipantWarning):
        outcome = moot.fit().deliberate(X)
    assert (outcome.decisions[1:] == 0).all()


def test_one_alone_cannot_talk() -> None:
    moot = ConsensusClassifier([Broken(), Threshold()], prefit=True, protocol=Slush(1, 1)).fit()
    with (
        pytest.warns(ParticipantWarning),
        pytest.raises(ValueError, match="at least two participants must be able to answer: got 1"),
    ):
        moot.predict(X)


@pytest.mark.filterwarnings("ignore::folkmoot.comparison.OpenInputsWarning")
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 9, 12])
def test_chances_add_up_also_where_nobody_can_move(n: int) -> None:
    models = [Threshold(i / n - 1e-9) for i in range(n)]
    inputs = np.array([[(b - 0.5) / n] for b in range(n + 1)])
    for alpha in range((n - 1) // 2 + 1, n):
        moot = ConsensusClassifier(models, prefit=True, protocol=Slush(n - 1, alpha)).fit()
        chances = moot.answer_law(inputs)
        assert np.abs(chances.sum(axis=1) - 1).max() < 1e-12
        assert np.abs(chances - chances[::-1, ::-1]).max() < 1e-12  # neither label is favoured
        outcome = moot.deliberate(inputs, repeats=200)
        sampled = (outcome.counts.argmax(axis=-1) == 1).mean(axis=0)
        sure = (chances[:, 1] < 1e-9) | (chances[:, 1] > 1 - 1e-9)
        assert np.array_equal(sampled[sure], chances[sure, 1].round())


@pytest.mark.parametrize("kind", [bool, float, np.int8, str])
def test_one_class_participants_of_every_kind_of_label(kind: type) -> None:
    y = np.zeros(120, dtype=int)
    y[:6] = 1
    with pytest.warns(ParticipantWarning, match="rows of one class only"):
        moot = ConsensusClassifier([GaussianNB()] * 12, random_state=0).fit(X, y.astype(kind))
    assert set(moot.predict(X).tolist()) <= set(y.astype(kind).tolist())
    constant = next(p for p in moot.participants_ if p.constant)
    assert np.isnan(constant.accuracy)  # on rows of one class it would be perfect, and knows nothing


def test_a_protocol_among_some_of_the_participants() -> None:
    assert Slush(4, 3).restricted([0, 2]) == Slush(4, 3)
    assert Slush(4, [3, 4, 3]).restricted([1, 2]).alpha == (4, 3)
    assert Slush(4, 3, weights=[1, 2, 4]).restricted([0, 2]).weights == (0.25, 1.0)
    chosen = Slush(10, StrongConfidence([0.5, 0.9, 0.7])).restricted([1, 2])
    assert chosen.thresholds(2).tolist() == [9, 7]


@pytest.mark.parametrize(
    ("protocol", "n", "expected"),
    [
        (Slush(10, 6), 11, Slush(10, 6)),
        (Slush(10, 6), 4, Slush(3, 2)),  # the least majority stays the least
        (Slush(10, 10), 4, Slush(3, 3)),  # unanimity stays unanimity
        (Slush(10, 8), 8, Slush(7, 6)),  # halfway between stays halfway
        (Slush(10, 6), 2, Slush(1, 1)),
        (Slush(2, 2), 2, Slush(1, 1)),
        (Slush(10, [6, 10, 8]), 3, Slush(2, [2, 2, 2])),
    ],
)
def test_a_protocol_for_few(protocol: Slush, n: int, expected: Slush) -> None:
    assert protocol.scaled(n) == expected
