"""``ConsensusClassifier``: who sees which rows, what is answered, and by which law."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from folkmoot import Others, Slush, Snowball, StrongConfidence, Trusting, adversaries
from folkmoot.accuracy import wilson_bound
from folkmoot.learning import ProtocolWarning
from folkmoot.old import ConsensusClassifier, ConsensusRegressor
from support.models import Threshold, Witness
from support.oracles import exact as oracle
from support.statistics_of_agreement import assert_rate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=240) > 0, "yes", "no")
GROUPS = RNG.integers(0, 12, 240)


def row_keys(rows: Any) -> set[bytes]:
    return {row.tobytes() for row in np.ascontiguousarray(rows)}


def cuts(n: int, **options: Any) -> ConsensusClassifier:
    """n fitted models; on x in [0, 1) exactly the first floor(x n) + 1 say 1 (and at x < 0 none)."""
    models = [Threshold(i / n - 1e-9) for i in range(n)]
    return ConsensusClassifier(models, prefit=True, **options).fit()


# ---- whose rows are whose --------------------------------------------------------------------


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["shards", "groups"])
def test_every_participant_sees_its_own_rows_only(groups: Any) -> None:
    moot = ConsensusClassifier([Witness()] * 12, holdout=0.25, refit=False, random_state=0)
    moot.fit(X, Y, groups)
    seen = [row_keys(model.X_) for model in moot.estimators_]
    assert sum(map(len, seen)) == len(set.union(*seen))  # disjoint
    for i, participant in enumerate(moot.participants_):
        own = participant.rows + participant.held_out
        assert participant.rows == len(seen[i])
        assert abs(participant.held_out - own / 4) <= 1
        if groups is not None:
            theirs = X[groups == i]
            assert own == len(theirs)
            assert seen[i] <= row_keys(theirs)
            # Its accuracy is over the rows it did not see, by hand:
            kept_back = [j for j in np.flatnonzero(groups == i) if X[j].tobytes() not in seen[i]]
            right = sum(Y[j] == participant.model.answer_ for j in kept_back)
            assert (participant.right, participant.held_out) == (right, len(kept_back))
            assert moot.accuracies_[i] == right / len(kept_back)
    if groups is None:
        assert sum(p.rows + p.held_out for p in moot.participants_) == 240
        sizes = [p.rows + p.held_out for p in moot.participants_]
        assert max(sizes) - min(sizes) <= 1


def test_shards_are_stratified() -> None:
    y = np.repeat([0, 1, 2], [100, 30, 14])
    moot = ConsensusClassifier([Witness()] * 7, holdout=0, protocol=Slush(4, 3)).fit(np.zeros((144, 1)), y)
    counts = np.array([np.bincount(model.y_, minlength=3) for model in moot.estimators_])
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()
    assert counts.sum(axis=0).tolist() == [100, 30, 14]


def test_no_row_is_kept_after_fitting() -> None:
    secret = X.copy()
    moot = ConsensusClassifier([Threshold(classes=("no", "yes"))] * 12, random_state=0).fit(secret, Y, GROUPS)
    left = pickle.dumps(moot)
    assert not any(value.tobytes() in left for value in secret.ravel())
    assert moot.deliberate(secret).decisions.shape == (12, 240)


def test_models_are_cloned_and_groups_matched_by_name() -> None:
    models = [("b", Witness()), ("a", Threshold())]
    groups = np.where(np.arange(240) % 2, "a", "b")
    moot = ConsensusClassifier(models).fit(X, np.arange(240) % 3, groups)
    assert [p.name for p in moot.participants_] == ["a", "b"]
    assert isinstance(moot.named_estimators_["b"], Witness)
    assert not hasattr(models[0][1], "X_")


def test_one_model_serves_every_group() -> None:
    moot = ConsensusClassifier([DecisionTreeClassifier()], random_state=0).fit(X, Y, GROUPS)
    assert len(moot.participants_) == 12
    seeds = {model.random_state for model in moot.estimators_}
    assert len(seeds) == 12  # each has a seed of its own, drawn from random_state


def test_the_same_seed_gives_the_same_moot() -> None:
    def fitted(seed: int) -> Any:
        return ConsensusClassifier([RandomForestClassifier(5)] * 11, random_state=seed).fit(X, Y)

    assert np.array_equal(fitted(3).votes(X), fitted(3).votes(X))
    assert not np.array_equal(fitted(3).votes(X), fitted(4).votes(X))
    parallel = fitted(3).set_params(n_jobs=2).fit(X, Y)
    assert np.array_equal(parallel.votes(X), fitted(3).votes(X))


def test_sample_weights_reach_their_rows() -> None:
    weights = np.arange(240.0)
    moot = ConsensusClassifier([Witness()] * 12).fit(X, Y, GROUPS, sample_weight=weights)
    place = {row.tobytes(): i for i, row in enumerate(X)}
    for model in moot.estimators_:
        assert model.weights_.tolist() == [place[row.tobytes()] for row in model.X_]


# ---- what is answered, and by which law -------------------------------------------------------


def exact_blue(n: int, k: int, alpha: int) -> list[Fraction]:
    blue, red = oracle.absorption_sums(*oracle.rates(n, k, alpha, 0, self_sampling=False))
    return [Fraction(b, b + r) for b, r in zip(blue, red, strict=True)]


@pytest.mark.parametrize(("n", "k", "alpha"), [(7, 3, 2), (12, 4, 3), (25, 10, 6)])
def test_answer_law_is_the_exact_absorption(n: int, k: int, alpha: int) -> None:
    moot = cuts(n, protocol=Slush(k, alpha))
    inputs = np.array([[(b - 0.5) / n] for b in range(n + 1)])  # b of n say 1
    assert moot.votes(inputs).sum(axis=0).tolist() == list(range(n + 1))
    expected = np.array(exact_blue(n, k, alpha), dtype=float)
    chances = moot.answer_law(inputs)
    assert np.abs(chances[:, 1] - expected).max() < 1e-12
    assert np.abs(chances.sum(axis=1) - 1).max() < 1e-12


def test_a_moot_that_trusts_one_participant_follows_it() -> None:
    trust = np.zeros((9, 9))
    trust[1:, 0] = 1
    moot = cuts(9, protocol=Slush(3, 2), sampling=Trusting(trust))
    inputs = np.array([[0.05], [-1.0]])  # participant 0 alone says 1; nobody does
    assert clone(moot).get_params()["sampling"] == moot.sampling
    assert np.array_equal(moot.answer_law(inputs)[:, 1], [1, 0])
    assert moot.predict(inputs).tolist() == [1, 0]
    assert str(moot.report(inputs, [1, 0], stacking=False)).count("by trust") == 1
    for law in (None, Others()):
        assert moot.set_params(sampling=law).answer_law(inputs)[0, 1] == 0
    moot.set_params(sampling=Trusting(np.ones((8, 8))))
    with pytest.raises(ValueError, match=r"trust must have a row per participant \(9\): got 8"):
        moot.predict(inputs)
    with pytest.raises(TypeError, match="sampling must be"):
        moot.set_params(sampling="others").predict(inputs)


def test_predict_is_drawn_from_answer_law() -> None:
    # The smallest case with open inputs: 4 of 9 at first, over 1,000 seeds.
    moot = cuts(9, protocol=Slush(3, 2))
    inputs = np.array([[3.5 / 9]])
    says = 0
    for seed in range(1000):
        moot.seed_ = seed
        says += int(moot.predict(inputs)[0])
    assert_rate(says, 1000, float(exact_blue(9, 3, 2)[4]))


def test_repeated_deliberations_follow_the_same_law() -> None:
    # Three classes, of which nobody ever names the third: the sampled law has to be the two-class one.
    models = [Threshold(i / 9 - 1e-9) for i in range(9)]
    models[0] = Threshold(-1e-9, classes=(0, 1, 2))
    moot = ConsensusClassifier(models, prefit=True, protocol=Slush(3, 2)).fit()
    inputs = np.array([[3.5 / 9]])
    total = np.zeros(3)
    for seed in range(40):  # 100 deliberations each
        moot.seed_ = seed
        total += 100 * moot.answer_law(inputs)[0]
    assert total[2] == 0
    assert_rate(round(total[1]), 4000, float(exact_blue(9, 3, 2)[4]))


def test_an_input_keeps_its_answer_in_any_company() -> None:
    rng = np.random.default_rng(1)
    moot = cuts(15, protocol=Slush(3, 2))
    inputs = rng.uniform(0.3, 0.7, size=(200, 1))
    together = moot.predict(inputs)
    assert np.array_equal(moot.predict(inputs[::-1])[::-1], together)
    assert np.array_equal([moot.predict(row[None])[0] for row in inputs], together)
    assert np.array_equal(moot.deliberate(inputs).decision == 1, together == 1)


@pytest.mark.filterwarnings("ignore::folkmoot.comparison.OpenInputsWarning")
def test_undecided_is_none_and_not_the_last_class() -> None:
    """Without rounds of talk the votes decide: four of eight say yes at x = 0.45, which is no majority."""
    models = [(f"site {i}", Threshold(i / 8 - 1e-9, ("no", "yes"))) for i in range(8)]
    rows = np.linspace(-0.1, 0.99, 60)[:, None]
    moot = ConsensusClassifier(models, protocol=Slush(7, 4), prefit=True, rounds=0)
    moot.fit(rows, np.where(rows[:, 0] > 0.5, "yes", "no"))
    x = np.concatenate((rows, [[0.45]]))
    outcome = moot.deliberate(x)
    by_hand = []
    for column in outcome.decisions[outcome.honest].T.tolist():
        more = [colour for colour in (0, 1) if 2 * column.count(colour) > int(outcome.honest.sum())]
        by_hand.append(["no", "yes"][more[0]] if more else None)
    assert outcome.answers.tolist() == by_hand
    assert outcome.names == tuple(name for name, _ in models)
    assert outcome.labels is not None
    assert list(outcome.labels) == ["no", "yes"]
    assert moot.deliberate(x, repeats=3).answers.shape == (3, 61)
    assert outcome.answers[-1] is None
    assert moot.classes_[outcome.decision][-1] == "yes"  # the trap
    report = moot.report(rows, np.where(rows[:, 0] > 0.5, "yes", "never heard of"), repeats=1, stacking=False)
    assert np.asarray(report.outcome.labels).tolist() == ["no", "yes", "never heard of"]
    assert report.outcome.names == outcome.names


def test_score_is_the_accuracy_of_predict() -> None:
    moot = ConsensusClassifier([GaussianNB()] * 12, random_state=0).fit(X, Y)
    assert moot.score(X, Y) == np.mean(moot.predict(X) == Y)


def test_strong_confidence_takes_thresholds_from_the_holdout() -> None:
    local = Slush(4, StrongConfidence())
    moot = ConsensusClassifier([GaussianNB()], protocol=local, random_state=0).fit(X, Y, GROUPS)
    right, held_out = ([getattr(p, name) for p in moot.participants_] for name in ("right", "held_out"))
    bounds = wilson_bound(right, held_out, 0.8416).tolist()
    assert moot.protocol_.thresholds(12).tolist() == [max(3, math.ceil(4 * bound)) for bound in bounds]


def test_accuracies_for_the_thresholds_may_be_given_instead() -> None:
    told = StrongConfidence(np.linspace(0.5, 1, 12))
    moot = ConsensusClassifier([GaussianNB()] * 12, protocol=Snowball(4, told, 5), random_state=0).fit(X, Y)
    assert moot.protocol_ == Snowball(4, told, 5)
    moot.set_params(protocol__alpha=StrongConfidence())
    shown = [(p.right, p.held_out) for p in moot.participants_]
    assert moot.protocol_ == Snowball(4, StrongConfidence.of_holdout(*zip(*shown, strict=True)), 5)


def test_few_participants_scale_the_protocol() -> None:
    few = ConsensusClassifier([GaussianNB()] * 4, protocol=Slush(10, 6))
    with pytest.warns(ProtocolWarning, match="4 participants are too few to ask k=10 others.*k=3, alpha=2"):
        moot = clone(few).fit(X, Y)
    assert moot.protocol_ == Slush(3, 2)


@pytest.mark.filterwarnings("error::folkmoot.learning.ProtocolWarning")
@pytest.mark.parametrize(("n", "k", "alpha"), [(2, 1, 1), (4, 3, 2), (10, 9, 5), (11, 10, 6), (20, 10, 6)])
def test_the_default_protocol_fits_any_number_and_never_warns(n: int, k: int, alpha: int) -> None:
    for moot in (ConsensusClassifier([GaussianNB()] * n), clone(ConsensusClassifier([GaussianNB()] * n))):
        moot.fit(X, Y)
        assert moot.protocol is None
        assert moot.protocol_ == Slush(k, alpha) == Slush(10, 6).scaled(n)


def test_parts_of_the_default_protocol_can_be_set() -> None:
    models = [GaussianNB()] * 12
    assert ConsensusClassifier(models).set_params(protocol__alpha=8).protocol == Slush(10, 8)
    assert ConsensusClassifier(models).set_params(protocol__k=4).protocol == Slush(4, 3)
    assert ConsensusClassifier(models).set_params(protocol__k=4, protocol__alpha=4).protocol == Slush(4, 4)
    assert ConsensusClassifier(models, protocol=Slush(3, 2)).set_params(protocol=None).protocol is None
    with pytest.raises(
        ValueError, match="protocol has no parameter 'beta': expected one of k, alpha, weights"
    ):
        ConsensusClassifier(models).set_params(protocol__beta=3)
    with pytest.raises(TypeError, match="k must be an integer"):
        ConsensusClassifier(models).set_params(protocol__k="many")
    with pytest.raises(ValueError, match="has no parameter"):
        ConsensusRegressor([LinearRegression()] * 3).set_params(protocol__k=3)
    search = GridSearchCV(ConsensusClassifier(models, random_state=0), {"protocol__alpha": [6, 10]}, cv=2)
    search.fit(X, Y)
    assert search.best_estimator_.protocol_ == Slush(10, search.best_params_["protocol__alpha"])
    with pytest.warns(ProtocolWarning, match="4 participants"):  # this one was chosen
        ConsensusClassifier(models[:4]).set_params(protocol__alpha=10).fit(X, Y)


@pytest.mark.parametrize("seed", range(3))
def test_it_learns_real_data(seed: int) -> None:
    data = load_breast_cancer()
    train = np.random.default_rng(seed).permutation(569)[:400]
    test = np.setdiff1d(np.arange(569), train)
    models = [GaussianNB(), DecisionTreeClassifier(max_depth=3), KNeighborsClassifier()] * 4
    moot = ConsensusClassifier(models, random_state=seed).fit(data.data[train], data.target[train])
    each = [np.mean(m.predict(data.data[test]) == data.target[test]) for m in moot.estimators_]
    assert moot.score(data.data[test], data.target[test]) > np.mean(each)


def test_ten_classes() -> None:
    data = load_digits()
    moot = ConsensusClassifier([LogisticRegression(max_iter=300)] * 12, random_state=0)
    moot.fit(data.data[:1200] / 16, data.target[:1200])
    assert moot.score(data.data[1200:] / 16, data.target[1200:]) > 0.85
    chances = moot.answer_law(data.data[1200:1210] / 16)
    assert chances.shape == (10, 10)
    assert np.abs(chances.sum(axis=1) - 1).max() < 1e-12


# ---- liars -----------------------------------------------------------------------------------


def test_malicious_participants_are_drawn_and_count() -> None:
    moot = ConsensusClassifier([GaussianNB()] * 25, random_state=0, adversaries=3).fit(X, Y)
    outcome = moot.deliberate(X, Y)
    assert (~outcome.honest).sum() == 3
    honest = set(np.flatnonzero(~outcome.honest).tolist())
    more = moot.set_params(adversaries=8).deliberate(X, Y)
    assert honest < set(np.flatnonzero(~more.honest).tolist())  # who turned first stays turned
    assert moot.score(X, Y) <= moot.set_params(adversaries=0).score(X, Y)


@pytest.mark.filterwarnings("ignore::folkmoot.comparison.OpenInputsWarning")  # two are left, who may differ
def test_liars_by_name_or_number() -> None:
    models = [("a", GaussianNB()), ("b", GaussianNB()), ("c", GaussianNB())]
    moot = ConsensusClassifier(models, random_state=0)
    moot.set_params(protocol=Slush(2, 2), adversaries={"b": adversaries.ConstantClass(1)}).fit(X, Y)
    assert moot.deliberate(X).honest.tolist() == [True, False, True]
    moot.set_params(adversaries={2: adversaries.Silent()})
    assert moot.deliberate(X).honest.tolist() == [True, True, False]


def test_who_must_know_the_truth_cannot_predict() -> None:
    moot = ConsensusClassifier([GaussianNB()] * 12, adversaries=1, random_state=0).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"is PerfectlyMalicious, which must know the truth: use score\(X, y\)"
    ):
        moot.predict(X)
