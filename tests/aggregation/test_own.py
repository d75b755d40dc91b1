"""Own aggregations: what a judge may use, that it always decides, and that labels are only names."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from experiments.mechanism.frozen import Setting, measured
from experiments.mechanism.frozen import settings as frozen
from folkmoot import Council, aggregate, deliberate
from folkmoot.aggregation import HoldoutTrust, Known, Listen, PeerReview, Plurality, Rows
from folkmoot.aggregation.expert import fitted_expert
from folkmoot.aggregation.interface import OwnAggregation
from folkmoot.aggregation.own import watching
from folkmoot.aggregation.panel import mixture
from folkmoot.arrays import Floats
from folkmoot.outlook import QuorumSet
from folkmoot.votes import Votes
from support.strategies import vote_tables


def drawn(
    seed: int, accuracies: list[float], inputs: int, held: int, classes: int = 2
) -> tuple[Votes, Votes, Rows]:
    """Votes and truth of the inputs, and rows that each owns; those of accuracy 0 tell one story."""
    rng = np.random.default_rng(seed)
    n, rows = len(accuracies), held * len(accuracies)
    truth = rng.integers(0, classes, inputs + rows)
    right = rng.random((n, inputs + rows)) < np.array(accuracies)[:, None]
    other = (truth + rng.integers(1, classes, right.shape)) % classes
    other[np.array(accuracies) == 0] = (truth + 1) % classes
    votes = np.where(right, truth, other)
    shown = Rows(votes[:, inputs:], truth[inputs:], np.arange(rows) % n)
    return votes[:, :inputs], truth[:inputs], shown


def held_back(rows: Rows) -> Rows:
    """The same rows with votes of their owners alone."""
    own = rows.owner == np.arange(len(rows.votes))[:, None]
    return Rows(np.where(own, rows.votes, -1), rows.truth, rows.owner)


RULES: list[OwnAggregation] = [HoldoutTrust(), PeerReview()]


def known_to(rule: OwnAggregation, rows: Rows, **more: Any) -> Known:
    return Known(rows=held_back(rows) if isinstance(rule, HoldoutTrust) else rows, **more)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_few_honest_judges_are_right_among_many_liars(rule: OwnAggregation) -> None:
    votes, truth, rows = drawn(0, [0.8] * 9 + [0.0] * 12, 600, 20)
    final = rule.final_votes(votes, known_to(rule, rows, judges=np.arange(9)))
    assert (aggregate(votes).decision == truth).mean() < 0.2
    assert (final.votes[:9] == truth).mean() > 0.97
    assert (final.votes[9:] == -1).all()  # those that are no judges have no final votes
    assert final.weights is not None
    assert (final.weights[:9, :9].mean(axis=1) > final.weights[:9, 9:].mean(axis=1)).all()
    assert final.probabilities is not None
    np.testing.assert_allclose(final.probabilities[:9].sum(axis=2), 1)
    assert np.isnan(final.probabilities[9:]).all()


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_who_cannot_tell_takes_the_plurality_and_says_why(rule: OwnAggregation) -> None:
    votes, _, rows = drawn(1, [0.7] * 5, 60, 10)
    plain = aggregate(votes, Plurality()).decision
    nothing = Rows(np.empty((5, 0), dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    for nobody in (None, nothing):
        final = rule.final_votes(votes, Known(rows=nobody))
        assert (final.votes == plain).all()
        assert set(final.fell_back) == set(range(5))
        assert all(final.fell_back.values())
    one = Rows(rows.votes[:, rows.owner == 2], rows.truth[rows.owner == 2], rows.owner[rows.owner == 2])
    assert {0, 1, 3, 4} <= set(rule.final_votes(votes, known_to(rule, one)).fell_back)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_five_good_models_and_few_inputs_decide_everything(rule: OwnAggregation, seed: int) -> None:
    votes, truth, rows = drawn(seed, [0.95] * 5, 109, 20)
    answers = rule.aggregate(votes, known_to(rule, rows))
    assert (answers.decision >= 0).all()
    plurality = (aggregate(votes).decision == truth).mean()
    assert (answers.decision == truth).mean() >= plurality - 0.05


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_every_judge_holds_a_vote_wherever_one_class_is_ahead(data: st.DataObject) -> None:
    votes, classes = data.draw(vote_tables())
    n, inputs = votes.shape
    owner = np.array(data.draw(st.lists(st.integers(-1, n - 1), min_size=inputs, max_size=inputs)))
    truth = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=inputs, max_size=inputs)))
    ahead = aggregate(votes).decision >= 0
    for rule in RULES:
        rows = Rows(votes, truth, owner)
        final = rule.final_votes(votes, Known(rows=held_back(rows), classes=classes)).votes
        assert (final[:, ahead] >= 0).all()
        assert (final[:, (votes < 0).all(axis=0)] == -1).all()


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_labels_are_only_names(rule: OwnAggregation) -> None:
    votes, _, rows = drawn(2, [0.5, 0.6, 0.7, 0.7, 0.8, 0.0, 0.0], 900, 30, classes=3)
    votes[1, ::3] = -1
    named = np.array([4000, 17, 216])
    renamed = np.where(votes < 0, -1, named[votes])
    new = Rows(np.where(rows.votes < 0, -1, named[rows.votes]), named[rows.truth], rows.owner)
    one = rule.final_votes(votes, known_to(rule, rows, classes=3)).votes
    two = rule.final_votes(renamed, known_to(rule, new, classes=5000)).votes
    expected = np.where(one < 0, -1, named[one])
    assert (two == expected).mean() > 0.999  # sums in another order differ in last bits, so ties may turn


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_hundreds_of_labels(rule: OwnAggregation) -> None:
    votes, truth, rows = drawn(3, [0.6] * 10, 300, 30, classes=216)
    answers = rule.aggregate(votes, known_to(rule, rows, classes=5000))
    plurality = (aggregate(votes).decision == truth).mean()
    assert (answers.decision == truth).mean() >= plurality - 0.02


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_some_judges_hold_what_they_hold_among_all(rule: OwnAggregation) -> None:
    votes, _, rows = drawn(4, [0.6, 0.7, 0.8, 0.7, 0.0, 0.0], 200, 20)
    everybody = rule.final_votes(votes, known_to(rule, rows))
    some = rule.final_votes(votes, known_to(rule, rows, judges=np.array([3, 1])))
    assert (some.votes[[1, 3]] == everybody.votes[[1, 3]]).all()
    assert (some.votes[[0, 2, 4, 5]] == -1).all()
    assert set(some.fell_back) == set(everybody.fell_back) & {1, 3}


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_absent_votes(rule: OwnAggregation) -> None:
    votes, truth, rows = drawn(5, [0.8] * 9, 300, 20)
    rng = np.random.default_rng(5)
    votes[rng.random(votes.shape) < 0.3] = -1
    votes[3] = -1  # one says nothing at all
    votes[:, 7] = -1  # and nobody anything of one input
    final = rule.final_votes(votes, known_to(rule, rows))
    assert (final.votes[:, 7] == -1).all()
    assert (np.delete(final.votes, 7, axis=1) == np.delete(truth, 7)).mean() > 0.9


def test_nobody_uses_the_truth_of_the_table() -> None:
    votes, truth, rows = drawn(6, [0.7] * 6, 120, 20)
    for rule in RULES:
        plain = rule.final_votes(votes, known_to(rule, rows)).votes
        assert (rule.final_votes(votes, known_to(rule, rows, truth=1 - truth)).votes == plain).all()


def test_a_judge_of_holdout_trust_uses_rows_of_its_own_alone() -> None:
    votes, _, rows = drawn(7, [0.7] * 6, 200, 20)
    mine = np.array([2])
    plain = HoldoutTrust().final_votes(votes, Known(rows=held_back(rows), judges=mine)).votes
    strange = rows.owner != 2
    other = Rows(
        np.where(strange, 1 - rows.votes, rows.votes),
        np.where(strange, 1 - rows.truth, rows.truth),
        rows.owner,
    )
    assert (HoldoutTrust().final_votes(votes, Known(rows=other, judges=mine)).votes == plain).all()


def test_sure_probabilities_are_labels() -> None:
    votes, _, rows = drawn(8, [0.6, 0.7, 0.8, 0.7, 0.6, 0.0], 150, 20, classes=3)
    sure = np.where((votes >= 0)[..., None], np.eye(3)[votes], np.nan)
    likely = PeerReview().final_votes(sure, Known(rows=Rows(np.eye(3)[rows.votes], rows.truth, rows.owner)))
    assert (likely.votes == PeerReview().final_votes(votes, Known(rows=rows)).votes).all()


def test_rows_told_with_noise_teach_less_but_something() -> None:
    votes, truth, rows = drawn(9, [0.8] * 9 + [0.0] * 5, 300, 30)
    rng = np.random.default_rng(9)
    flipped = np.where(rng.random(len(rows.truth)) < 0.75, rows.truth, 1 - rows.truth)
    noisy = Rows(rows.votes, flipped, rows.owner, kept=0.75)
    final = PeerReview(label_epsilon=float(np.log(3))).final_votes(
        votes, Known(rows=noisy, judges=np.arange(9))
    )
    assert (final.votes[:9] == truth).mean() > 0.9


def test_a_site_s_own_kind_of_inputs_is_answered_by_what_it_knows() -> None:
    """Each of four knows its own inputs and guesses on the others': all together know no more than chance."""
    rng = np.random.default_rng(5)
    owner, truth = np.repeat(np.arange(4), 100), rng.integers(0, 2, 400)
    votes = np.where(owner == np.arange(4)[:, None], truth, rng.integers(0, 2, (4, 400)))
    shown = np.tile(np.arange(100) < 20, 4)
    known = Known(rows=Rows(votes[:, shown], truth[shown], owner[shown]), classes=2)
    for site in range(4):
        mine = ~shown & (owner == site)
        likely = PeerReview().likely_of_own(votes[:, mine], known, site)
        assert (likely.argmax(axis=1) == truth[mine]).mean() > 0.95
        np.testing.assert_allclose(likely.sum(axis=1), 1)


def test_forecasts_are_mixed_as_fits_the_rows_best() -> None:
    """Held to a general optimiser: the likelihood of the rows, and of the beliefs one starts from."""
    likelihoods = np.random.default_rng(0).random((40, 3)) ** [1.0, 2.0, 0.5]
    beliefs = np.array([0.5, 0.1, 3.0])

    def loss(free: Floats) -> float:
        share = np.exp([*free, 0.0]) / np.exp([*free, 0.0]).sum()
        return -float(np.log(likelihoods @ share).sum() + (beliefs * np.log(share)).sum())

    free = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
    best = np.exp([*free, 0.0]) / np.exp([*free, 0.0]).sum()
    np.testing.assert_allclose(mixture(likelihoods), best, atol=0.002)


def test_an_expert_that_knows_the_inputs_is_heard() -> None:
    rng = np.random.default_rng(10)
    X = rng.normal(size=(520, 2))
    truth = (X[:, 0] > 0).astype(np.int64)
    votes = np.where(rng.random((6, 520)) < 0.65, truth, 1 - truth)
    rows = Rows(votes[:, :120], truth[:120], np.arange(120) % 6, X[:120])
    known = Known(rows=rows, inputs=X[120:])
    plain, helped = (
        (rule.final_votes(votes[:, 120:], known).votes == truth[120:]).mean()
        for rule in (PeerReview(expert=None), PeerReview(expert=LogisticRegression()))
    )
    assert helped > 0.93 > plain
    with pytest.raises(ValueError, match="expert learns from inputs"):
        PeerReview(expert=LogisticRegression()).final_votes(votes[:, 120:], Known(rows=rows))


@pytest.mark.parametrize("labels", ["learnable", "at random"])
def test_a_forest_says_of_rows_what_it_had_not_seen(labels: str) -> None:
    """It knows by heart what it learnt: labels at random are right by chance where it had not seen them."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(300, 2))
    truth = (X[:, 0] > 0).astype(np.int64) if labels == "learnable" else rng.integers(0, 2, 300)
    rows = Rows(np.zeros((3, 300), dtype=np.int64), truth, np.arange(300) % 3, X)
    forest = fitted_expert(None, rows, truth, 2, Known(rows=rows, inputs=X))
    assert forest is not None
    accepted = np.array([True, True, False])
    said, heart = forest.on_rows(accepted), forest.on_inputs(accepted)
    taught = accepted[rows.owner]
    assert not said[~taught].any()
    assert (heart.argmax(axis=1) == truth)[taught].mean() > 0.99
    right = (said.argmax(axis=1) == truth)[taught].mean()
    assert right > 0.9 if labels == "learnable" else 0.4 < right < 0.6


@pytest.mark.parametrize("seed", range(3))
def test_a_forest_is_heard_with_few_rows_if_these_bear_it_out(seed: int) -> None:
    rng = np.random.default_rng([12, seed])
    X = rng.normal(size=(460, 2))
    truth = (X[:, 0] > 0).astype(np.int64)
    votes = np.where(rng.random((6, 460)) < 0.65, truth, 1 - truth)
    rows = Rows(votes[:, :60], truth[:60], np.arange(60) % 6, X[:60])
    known = Known(rows=rows, inputs=X[60:])
    without, heard = (
        (rule.final_votes(votes[:, 60:], known).votes == truth[60:]).mean()
        for rule in (PeerReview(expert=None), PeerReview())
    )
    assert heard > 0.9 > without
    rows = replace(rows, inputs=rng.normal(size=(60, 2)))  # which tell nothing
    without, heard = (
        (rule.final_votes(votes[:, 60:], replace(known, rows=rows)).votes == truth[60:]).mean()
        for rule in (PeerReview(expert=None), PeerReview())
    )
    assert heard > without - 0.05


def test_public_rows_alone_teach_all_the_same() -> None:
    votes, truth, rows = drawn(11, [0.75] * 8 + [0.0] * 12, 200, 3)
    public = Rows(rows.votes, rows.truth, np.full(len(rows.truth), -1))
    final = PeerReview().final_votes(votes, Known(rows=public))
    assert (final.votes == final.votes[0]).all()
    assert (final.votes[0] == truth).mean() > 0.9


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_numbers_of_better_participants_count_for_more(rule: OwnAggregation, outputs: int | None) -> None:
    rng = np.random.default_rng(12)
    shape = (400,) if outputs is None else (400, outputs)
    truth = rng.normal(size=shape)
    off = np.array([0.3, 0.3, 0.4, 3.0, 3.0, 3.0, 3.0]).reshape(-1, *[1] * truth.ndim)
    values = truth + off * rng.normal(size=(7, *shape))
    values[5, 200:210] = np.nan
    owner = np.arange(200) % 7
    votes = values[:, :200]
    if isinstance(rule, HoldoutTrust):
        own = owner == np.arange(7)[:, None]
        votes = np.where(own if outputs is None else own[..., None], votes, np.nan)
    final = rule.final_votes(values[:, 200:], Known(rows=Rows(votes, truth[:200], owner)))
    assert final.votes.shape == values[:, 200:].shape
    errors = [np.sqrt(((each - truth[200:]) ** 2).mean()) for each in final.votes]
    plain = np.sqrt(((np.nanmedian(values[:, 200:], axis=0) - truth[200:]) ** 2).mean())
    assert max(errors[:3]) < 0.7 * plain
    assert (
        rule.aggregate(values[:, 200:], Known(rows=Rows(votes, truth[:200], owner))).decision.shape
        == truth[200:].shape
    )


def test_listening_is_what_the_quorum_set_says() -> None:
    inner = QuorumSet(2, ["1", "2", "3"])
    sets = [QuorumSet(2, ["0", "4"], [inner]), inner, None, QuorumSet(3, ["0", "1", "4"]), inner]
    columns = np.array(list(itertools.product([-1, 0, 1, 2], repeat=5))).T
    final = Listen(sets).final_votes(columns, Known())
    plain = aggregate(columns)
    level = plain.tied_classes(3)
    for i, column in enumerate(columns.T.tolist()):
        for judge, each in enumerate(sets):
            if each is None:
                own = column[judge]
                expected = own if own >= 0 and level[i, own] else plain.decision[i]
            else:
                enough = [
                    v for v in range(3) if each.satisfied_by({str(j) for j in range(5) if column[j] == v})
                ]
                expected = enough[0] if len(enough) == 1 else -1
            assert final.votes[judge, i] == expected
    assert set(final.fell_back) == {2}
    never = Listen(QuorumSet(1, ["somebody else"])).final_votes(columns, Known())
    assert set(never.fell_back) == set(range(5))


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="rows must be a number of rows or 'all': got 'most'"):
        PeerReview(rows="most")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="label_epsilon must be positive"):
        PeerReview(label_epsilon=0.0)
    with pytest.raises(TypeError, match="expert must be a model"):
        PeerReview(expert=LogisticRegression)
    with pytest.raises(TypeError, match="quorum_set must be a QuorumSet"):
        Listen(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"names must hold one per participant \(2\): got 1"):
        Listen(QuorumSet(1, ["ada"]), names=["ada"]).final_votes(np.zeros((2, 1), dtype=np.int64), Known())


BESIDE = [
    *frozen(moots="cancer-5"),
    *frozen(moots="iris-7"),
    *frozen(moots="heart-4-logistic"),
    *frozen(moots="crowd-hard"),
    *frozen(moots="crowd-sparse4"),
    *frozen(moots="digits-20-trees", rules=("peer-10", "trust")),
]
SEEDS: dict[str, list[Setting]] = {}
for one in BESIDE:
    SEEDS.setdefault(f"{one.moot.rpartition('-s')[0]}/{one.rule}.{one.lie}", []).append(one)


@pytest.mark.parametrize("settings", SEEDS.values(), ids=list(SEEDS))
def test_as_good_as_in_0_2(settings: list[Setting]) -> None:
    """On the same votes: final votes of the judges that decided in 0.2, or the decision of gold reviewed.

    The mean over all seeds that are kept.
    """
    gains = []
    for setting in settings:
        decided = setting.old.get("right/decision") if "gold" in setting.rule else None
        if (old := setting.old.get("mean/final", decided)) is not None:
            new = measured(setting)
            gains.append(new.get("anchored", new["all"]) - old)
    assert not gains or np.mean(gains) >= -0.005


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_progress_is_told_judge_by_judge(rule: OwnAggregation) -> None:
    votes, _, rows = drawn(0, [0.8] * 6, 60, 10)
    told: list[tuple[int, int]] = []
    known = known_to(rule, rows)
    deliberate(votes, Council(), aggregation=rule, known=known, progress=lambda *at: told.append(at))
    assert told == [(done, 6) for done in range(1, 7)]


def test_whoever_watches_is_told_of_every_judge_until_it_is_over() -> None:
    rng = np.random.default_rng(0)
    votes, told = rng.integers(0, 2, (5, 80)), []
    known = Known(rows=Rows(votes[:, :30], votes[0, :30], np.arange(30) % 5), judges=np.array([1, 3, 4]))
    with watching(lambda done, whole: told.append((done, whole))):
        PeerReview().aggregate(votes[:, 30:], known)
        with watching(None):
            PeerReview().aggregate(votes[:, 30:], known)
    PeerReview().aggregate(votes[:, 30:], known)
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("rule", [PeerReview(), HoldoutTrust()])
def test_a_class_that_only_shown_rows_have_is_a_class(rule: PeerReview | HoldoutTrust) -> None:
    """Its number is above all in the table: as often where there are many classes and few shown rows."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    rows = rng.integers(0, 3, 60)
    votes = np.where(rng.random((6, 200)) < 0.8, truth, (truth + 1) % 3)
    answers = np.where(rng.random((6, 60)) < 0.8, rows, (rows + 1) % 3)
    rows[:5], answers[:4, :5] = 7, 7
    final = rule.final_votes(votes, Known(rows=Rows(answers, rows, np.arange(60) % 6)))
    assert (final.votes == truth).mean() > 0.85
    assert final.probabilities is not None
    assert final.probabilities.shape == (6, 200, 8)
    assert np.allclose(np.nansum(final.probabilities, axis=2), 1)
