"""``ConsensusClassifier(trust="peer-review")``: what is shown, and what is learnt from it."""

import pickle
import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from folkmoot import ConsensusClassifier
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.datasets import load_digits_moot, load_heart
from folkmoot.simulation.peer_reviewed import with_lies
from folkmoot.trust import PUBLIC
from support.shared_data import HEART, needs

pytestmark = pytest.mark.filterwarnings("ignore::folkmoot.learning.ParticipantWarning")

DATA = load_digits_moot(n_participants=20)
X, Y, GROUPS, X_TEST, Y_TEST = (
    np.asarray(part) for part in (DATA.X, DATA.y, DATA.groups, DATA.X_test, DATA.y_test)
)


def _moot(**options: Any) -> ConsensusClassifier:
    given: dict[str, Any] = {"trust": "peer-review", "random_state": 0} | options
    return ConsensusClassifier([DecisionTreeClassifier()], **given).fit(X, Y, groups=GROUPS)


@pytest.fixture(scope="module")
def moot() -> ConsensusClassifier:
    return _moot()


def test_it_is_right_more_often_than_a_vote_and_says_how_sure_it_is(moot: ConsensusClassifier) -> None:
    alone = _moot(trust=None)
    right, vote = (each.score(X_TEST, Y_TEST) for each in (moot, alone))
    assert right > vote + 0.01
    mine, theirs = (log_loss(Y_TEST, each.predict_proba(X_TEST)) for each in (moot, alone))
    assert mine < 0.6 * theirs


@pytest.mark.parametrize("publish", ["wrong", "right", "backing"])
def test_a_majority_of_liars_does_not_win(moot: ConsensusClassifier, publish: str) -> None:
    lying = clone(moot).set_params(liars_publish=publish)
    lying.__dict__.update({k: v for k, v in moot.__dict__.items() if k.endswith("_")})  # the same fit
    lying.set_params(adversaries=12)
    assert lying.score(X_TEST, Y_TEST) > 0.85  # always wrong, so they tell much


def test_so_many_rows_are_shown_and_no_more(moot: ConsensusClassifier) -> None:
    checked = moot.checked_
    rows = np.array([(group == GROUPS).sum() for group in np.unique(GROUPS)])
    shown = np.bincount(checked.publisher, minlength=20)
    assert shown.tolist() == np.minimum(10, rows // 2).tolist()
    everything = _moot(check_rows="all").checked_
    assert np.bincount(everything.publisher).tolist() == rows.tolist()
    few = _moot(check_rows=10_000).checked_
    assert np.bincount(few.publisher).tolist() == (rows // 2).tolist()


def test_what_is_shown_are_the_publishers_own_rows_and_labels(moot: ConsensusClassifier) -> None:
    assert moot.shown_ is not None
    names = np.array([participant.name for participant in moot.participants_])
    by_row = {row.tobytes(): (str(g), y) for row, g, y in zip(X, GROUPS, Y, strict=True)}
    for row, publisher, truth in zip(
        moot.shown_.X, moot.checked_.publisher, moot.checked_.truth, strict=True
    ):
        group, label = by_row[row.tobytes()]
        assert (names[publisher], moot.classes_[truth]) == (group, label)


def test_nothing_is_shown_unless_it_is_asked_for_by_name() -> None:
    for trust in (None, "self-anchored"):
        with pytest.raises(AttributeError, match="no rows were shown"):
            _ = _moot(trust=trust).checked_


def test_votes_on_shown_rows_are_those_of_the_models(moot: ConsensusClassifier) -> None:
    assert moot.shown_ is not None
    by_hand = np.stack([model.predict(moot.shown_.X) for model in moot.estimators_])
    others = np.arange(20)[:, None] != moot.checked_.publisher
    assert (moot.classes_[moot.checked_.votes] == by_hand)[others].all()


def test_among_few_a_publisher_votes_on_its_own_rows_without_having_seen_them() -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(120, 2)), rng.integers(0, 2, 120)
    # nothing to learn: one neighbour knows what it has seen, and nothing else
    moot = ConsensusClassifier(
        [KNeighborsClassifier(1)] * 4, trust="peer-review", check_rows="all", random_state=0
    ).fit(rows, labels)
    checked = moot.checked_
    own = checked.votes[checked.publisher, np.arange(checked.rows)]
    assert abs((own == checked.truth).mean() - 0.5) < 0.15
    seen = np.stack([model.predict(moot.shown_.X) for model in moot.estimators_])  # type: ignore[union-attr]
    assert (seen[checked.publisher, np.arange(checked.rows)] == checked.truth).all()


def test_predict_proba_is_the_mean_of_those_who_anchor(moot: ConsensusClassifier) -> None:
    inputs = X_TEST[:100]
    votes = moot.votes(inputs)
    views = [review.probabilities(votes) for review in moot.reviews(inputs) if review.anchored]
    assert len(views) > 10
    np.testing.assert_allclose(moot.predict_proba(inputs), np.mean(views, axis=0), atol=1e-6)


def test_probabilities_do_not_hang_on_the_other_rows(moot: ConsensusClassifier) -> None:
    whole = moot.predict_proba(X_TEST[:60])
    np.testing.assert_allclose(moot.predict_proba(X_TEST[:7]), whole[:7], atol=1e-6)


def test_votes_in_probabilities_tell_more() -> None:
    soft, hard = (
        ConsensusClassifier([GaussianNB()], trust="peer-review", voting=voting, random_state=0).fit(
            X, Y, groups=GROUPS
        )
        for voting in ("probabilities", "labels")
    )
    assert soft.checked_.votes.shape == (20, soft.checked_.rows, 10)
    losses = [log_loss(Y_TEST, each.predict_proba(X_TEST)) for each in (soft, hard)]
    assert losses[0] < losses[1] + 0.02
    soft.set_params(adversaries=8)
    assert soft.score(X_TEST, Y_TEST) > 0.8


def test_a_model_without_probabilities_hands_in_its_label() -> None:
    moot = ConsensusClassifier(
        [LinearSVC(), *[GaussianNB()] * 5], trust="peer-review", voting="probabilities", random_state=0
    ).fit(X, Y)
    assert moot.score(X_TEST, Y_TEST) > 0.8


def test_a_public_reference_is_enough() -> None:
    reference = X_TEST[:100], Y_TEST[:100]
    moot = ConsensusClassifier(
        [DecisionTreeClassifier()], trust="peer-review", check_rows=0, random_state=0
    ).fit(X, Y, groups=GROUPS, reference=reference)
    assert (moot.checked_.publisher == PUBLIC).all()
    plain = _moot(trust=None)
    rest = X_TEST[100:], Y_TEST[100:]
    assert moot.score(*rest) > plain.score(*rest)


def test_truths_that_come_later_are_learnt_from() -> None:
    moot = _moot(check_rows=2)
    rest, right = X_TEST[200:], Y_TEST[200:]
    before = log_loss(right, moot.predict_proba(rest))
    assert moot.learn_truth(X_TEST[:200], Y_TEST[:200]) is moot
    assert (moot.checked_.publisher == PUBLIC).sum() == 200
    assert log_loss(right, moot.predict_proba(rest)) < before


@pytest.mark.slow
@needs(HEART)
def test_no_hospital_is_worse_off_on_its_own_patients() -> None:
    """At most one standard error of the paired difference over splits (20 in docs/peer-review.md, 6 here)."""
    differences = []
    for seed in range(6, 12):
        data = load_heart(HEART, test_size=0.3, seed=seed)
        moot = ConsensusClassifier(
            [RandomForestClassifier(20)], trust="peer-review", check_rows="all", random_state=seed
        ).fit(data.X, data.y, groups=data.groups)
        row = []
        for participant in moot.participants_:
            own = np.asarray(data.groups_test).astype(str) == participant.name
            inputs, right = np.asarray(data.X_test)[own], np.asarray(data.y_test)[own]
            together = moot.classes_[moot.predict_proba_for(participant.name, inputs).argmax(axis=1)]
            row.append((together == right).mean() - (participant.predict(inputs) == right).mean())
        differences.append(row)
    mean, error = np.mean(differences, axis=0), np.std(differences, axis=0, ddof=1) / np.sqrt(6)
    assert (mean >= -error - 1e-9).all()


def test_own_inputs_of_one_among_many_are_answered_by_the_rule(moot: ConsensusClassifier) -> None:
    name = moot.participants_[3].name
    votes = moot.votes(X_TEST[:20])
    review = moot.reviews(X_TEST[:20])[3]
    np.testing.assert_allclose(
        moot.predict_proba_for(name, X_TEST[:20]), review.probabilities(votes), atol=1e-6
    )
    with pytest.raises(ValueError, match="participant must be one of"):
        moot.predict_proba_for("nobody", X_TEST[:2])


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_labels_by_randomised_response(epsilon: float) -> None:
    moot, plain = (_moot(check_rows="all", privacy=each) for each in (epsilon, None))
    told, real = moot.checked_.truth, plain.checked_.truth
    kept = np.exp(epsilon) / (np.exp(epsilon) + 9)
    error = 4.5 * np.sqrt(kept * (1 - kept) / len(real))
    assert abs((told == real).mean() - kept) < error
    assert moot.checked_.kept == pytest.approx(kept)
    others = np.bincount((told - real)[told != real] % 10, minlength=10)[1:]
    assert others.min() > 0.5 * others.mean()  # the rest is shared out evenly
    again = _moot(check_rows="all", privacy=epsilon).checked_.truth
    assert (again == told).all()  # drawn once, by random_state
    if epsilon == 3.0:  # a probability is of the label as it is, not as it was told
        shares = moot.predict_proba(X_TEST)
        assert (moot.classes_[shares.argmax(axis=1)] == Y_TEST).mean() > 0.85
        assert log_loss(Y_TEST, shares) < 0.7


def _fitted() -> list[Any]:
    return [GaussianNB().fit(X[i::6], Y[i::6]) for i in range(6)]


def test_public_rows_are_not_randomised() -> None:
    models = _fitted()
    plain, private = (
        ConsensusClassifier(models, prefit=True, trust="peer-review", privacy=epsilon, random_state=0).fit(
            X_TEST[:150], Y_TEST[:150]
        )
        for epsilon in (None, 0.5)
    )
    assert (private.checked_.truth == plain.checked_.truth).all()


def test_models_that_came_fitted() -> None:
    groups = np.arange(150) % 6
    models = [(str(i), model) for i, model in enumerate(_fitted())]
    by_groups = ConsensusClassifier(models, prefit=True, trust="peer-review").fit(
        X_TEST[:150], Y_TEST[:150], groups=groups.astype(str)
    )
    assert np.bincount(by_groups.checked_.publisher).tolist() == [25] * 6
    public = ConsensusClassifier(models, prefit=True, trust="peer-review").fit(X_TEST[:150], Y_TEST[:150])
    assert (public.checked_.publisher == PUBLIC).all()
    for moot in (by_groups, public):
        assert moot.score(X_TEST[150:], Y_TEST[150:]) > 0.75


def test_reports_name_it(moot: ConsensusClassifier) -> None:
    report = moot.report(X_TEST, Y_TEST, repeats=2, stacking=False)
    assert "peer review" in report.protocol
    by_trust, without = report.accuracy("consensus"), report.accuracy("talk without trust")
    assert by_trust is not None
    assert without is not None
    assert by_trust > without
    assert any("anchor by what all can check" in note for note in report.notes)


def test_it_can_be_cloned_pickled_and_asked_again(moot: ConsensusClassifier) -> None:
    assert clone(moot).get_params()["check_rows"] == 10
    first = moot.predict(X_TEST[:50])
    copy = pickle.loads(pickle.dumps(moot))  # noqa: S301
    assert (copy.predict(X_TEST[:50]) == first).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trust": "peers"}, "trust must be 'self-anchored' or 'peer-review' or None: got 'peers'"),
        ({"check_rows": "some"}, "check_rows must be a number of rows or 'all': got 'some'"),
        ({"check_rows": -1}, "check_rows must satisfy check_rows >= 0: got check_rows=-1"),
        ({"check_rows": 0}, "needs rows that are shown: check_rows of at least 2, or a reference"),
        ({"privacy": 0.0}, "privacy must be a positive epsilon, or None for labels as they are: got 0.0"),
        ({"liars_publish": "lies"}, "liars_publish must be 'wrong' or 'right' or 'backing': got 'lies'"),
    ],
)
def test_bad_options_are_told(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        _moot(**options)


def test_bad_references_are_told(moot: ConsensusClassifier) -> None:
    with pytest.raises(ValueError, match="reference is for peer review"):
        ConsensusClassifier([GaussianNB()] * 3).fit(X, Y, reference=(X, Y))
    with pytest.raises(TypeError, match="reference must be"):
        clone(moot).fit(X, Y, groups=GROUPS, reference=X)
    with pytest.raises(ValueError, match="got '77', which nobody has learnt"):
        moot.learn_truth(X_TEST[:1], [77])
    with pytest.raises(ValueError, match="learn_truth needs peer review"):
        _moot(trust=None).learn_truth(X_TEST[:1], [1])
    with pytest.raises(ValueError, match="there are reviews only with peer review"):
        _moot(trust=None).reviews(X_TEST[:1])


def test_an_expert_learns_from_shown_rows_and_the_rule_is_not_behind_it(moot: ConsensusClassifier) -> None:
    forest = RandomForestClassifier(20)
    both = _moot(expert=forest)
    assert both.shown_ is not None
    rows = RandomForestClassifier(20, random_state=0).fit(
        both.shown_.X, both.classes_[both.shown_.checked.truth]
    )
    right = both.score(X_TEST, Y_TEST)
    assert right > max(rows.score(X_TEST, Y_TEST), moot.score(X_TEST, Y_TEST))
    likely = both.predict_proba(X_TEST)
    assert log_loss(Y_TEST, likely) < log_loss(Y_TEST, moot.predict_proba(X_TEST))
    assert (both.classes_[likely.argmax(axis=1)] == Y_TEST).mean() == pytest.approx(right, abs=0.02)


def test_an_expert_does_not_learn_from_those_who_are_not_accepted() -> None:
    lying = _moot(expert=RandomForestClassifier(20), adversaries=12)
    believing = RandomForestClassifier(20, random_state=0)
    checked = with_lies(lying.checked_, dict.fromkeys(range(12), PerfectlyMalicious()))
    assert lying.shown_ is not None
    believing.fit(lying.shown_.X, lying.classes_[checked.truth])
    assert believing.score(X_TEST, Y_TEST) < 0.6  # most labels are wrong
    assert lying.score(X_TEST, Y_TEST) > 0.9


def test_truths_that_come_later_teach_the_expert() -> None:
    later = _moot(expert=RandomForestClassifier(20), check_rows=2)
    before = later.score(X_TEST[200:], Y_TEST[200:])
    later.learn_truth(X_TEST[:200], Y_TEST[:200])
    assert later.shown_ is not None
    assert len(later.shown_.X) == later.checked_.rows
    assert later.score(X_TEST[200:], Y_TEST[200:]) > before
    again = pickle.loads(pickle.dumps(later))  # noqa: S301
    assert not again.shown_.fitted
    assert np.array_equal(again.predict_proba(X_TEST[200:230]), later.predict_proba(X_TEST[200:230]))


def test_another_expert_is_not_taken_for_the_first() -> None:
    moot = _moot(expert=RandomForestClassifier(20))
    first = moot.predict_proba(X_TEST[:50])
    second = moot.set_params(expert__max_depth=1).predict_proba(X_TEST[:50])
    assert np.abs(first - second).max() > 0.05


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"expert": GaussianNB(), "trust": None}, "expert is for peer review: set trust='peer-review'"),
        ({"expert": "forest"}, "expert must be a model to fit to the rows that are shown"),
        ({"expert": GaussianNB}, "expert must be a model to fit to the rows that are shown"),
    ],
)
def test_what_is_wrong_with_an_expert_is_said(given: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(said)):
        _moot(**given)


def test_an_expert_that_cannot_learn_is_named() -> None:
    moot = _moot(expert=RandomForestClassifier(max_depth=-3))
    with pytest.raises(RuntimeError, match=re.escape("'expert' (RandomForestClassifier) cannot be fitted")):
        moot.predict(X_TEST)
