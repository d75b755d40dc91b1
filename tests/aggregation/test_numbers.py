"""Peer review of numbers in a world whose truth is known: biased, noisy and useless peers, and liars."""

import statistics
from dataclasses import replace

import numpy as np
import pytest

from folkmoot.aggregation import Known, PeerReview, Rows
from folkmoot.aggregation.numbers import NumberPanel, moved, weighted_middle
from folkmoot.aggregation.panel import PUBLIC
from folkmoot.arrays import Floats, Ints

N, TRIM = 16, 5


def _world(seed: int = 0, rows: int = 15, batch: int = 300) -> tuple[Floats, Floats, Ints, Floats, Floats]:
    """Half of the participants read half of the number, and add up: a mean keeps a half, a rule need not."""
    rng = np.random.default_rng(seed)
    count = N * rows + batch
    parts = rng.normal(size=(2, count))
    which = np.arange(N) % 2
    answers = parts[which] + 0.3 * rng.normal(size=(N, count))
    cut = N * rows
    truth = parts.sum(axis=0)[:, None]
    publisher = np.arange(cut) % N
    return answers[:, :cut, None], truth[:cut], publisher, answers[:, cut:, None], truth[cut:]


def _off(found: Floats, truth: Floats) -> float:
    return float(np.sqrt(((found - truth) ** 2).mean()))


class Judge:
    """A judge, with what it has learnt."""

    def __init__(self, panel: NumberPanel, judge: int) -> None:
        self.panel, self.review = panel, panel.review(judge)
        self.accepted, self.why = self.review.accepted, self.review.why

    def estimate(self, batch: Floats) -> Floats:
        return self.panel.estimate(self.review, batch)


def _reviews(answers: Floats, claims: Floats, publisher: Ints) -> list[Judge]:
    panel = NumberPanel(answers, claims, publisher, TRIM)
    return [Judge(panel, judge) for judge in range(len(answers))]


def test_a_rule_reads_what_a_mean_cannot() -> None:
    answers, claims, publisher, batch, truth = _world()
    by_mean = _off(batch.mean(axis=0), truth)
    assert by_mean > 0.6  # half of a sum of two
    for review in _reviews(answers, claims, publisher):
        assert review.why is None
        assert review.accepted.all()
        assert _off(review.estimate(batch), truth) < 1.05 * _best(batch, truth)


def _best(batch: Floats, truth: Floats) -> float:
    """What nobody can be better than who stays in the range of the numbers: it knows the truth."""
    kept = moved(batch, TRIM)
    return _off(np.clip(truth, kept.min(axis=0), kept.max(axis=0)), truth)


def _lie(kind: str, claims: Floats, liars: Ints, publisher: Ints) -> Floats:
    rng = np.random.default_rng(9)
    told, theirs = claims.copy(), np.isin(publisher, liars)
    real = claims[theirs]
    told[theirs] = {
        "inverted": -real,
        "shuffled": rng.permutation(real),
        "shifted": real + 5,
        "stretched": real * 8,
        "absurd": real * 1e12,
    }[kind]
    return told


@pytest.mark.parametrize("kind", ["inverted", "shuffled", "shifted", "stretched", "absurd"])
def test_a_third_that_publishes_false_numbers_costs_little(kind: str) -> None:
    answers, claims, publisher, batch, truth = _world(1)
    liars = np.arange(0, N, 3)[:TRIM]
    honest = [i for i in range(N) if i not in liars]
    plain = [_off(review.estimate(batch), truth) for review in _reviews(answers, claims, publisher)]
    reviews = _reviews(answers, _lie(kind, claims, liars, publisher), publisher)
    found = [_off(reviews[i].estimate(batch), truth) for i in honest if reviews[i].why is None]
    assert len(found) == len(honest)
    assert max(found) < max(plain) + 0.05
    if kind != "shuffled":  # some of which goes with the answers by chance
        assert not any(reviews[i].accepted[liars].any() for i in honest)


def test_who_spares_checked_rows_is_not_heard_on_the_batch() -> None:
    answers, claims, publisher, batch, truth = _world(2)
    liars = np.arange(TRIM)
    lies = batch.copy()
    lies[liars] = 1e6
    for review in _reviews(answers, claims, publisher)[TRIM:]:
        assert _off(review.estimate(lies), truth) < _off(moved(lies, TRIM).mean(axis=0), truth)


def _allowed(answers: Floats, truth: Floats, owner: Ints, honest: Ints, trim: int) -> tuple[float, float]:
    """How far truths of honest owners lie below and above others' answers, but for a tenth of the rows."""
    below, above = [], []
    for one in honest.tolist():
        apart = []
        for row in np.flatnonzero(owner == one).tolist():
            ranked = sorted(np.delete(answers[:, row], one).tolist())[trim : len(answers) - 1 - trim]
            apart.append((max(ranked[0] - truth[row], 0.0), max(truth[row] - ranked[-1], 0.0)))
        low, high = np.quantile(apart, 0.9, axis=0).tolist()
        below.append(low)
        above.append(high)
    return max(below), max(above)


@pytest.mark.parametrize("seed", range(5))
def test_estimates_leave_the_honest_range_no_further_than_truths_do(seed: int) -> None:
    answers, claims, publisher, batch, _ = _world(3, batch=40)
    rng = np.random.default_rng(seed)
    liars = rng.permutation(N)[:TRIM]
    honest = np.setdiff1d(np.arange(N), liars)
    lies, told = batch.copy(), claims.copy()
    lies[liars] = rng.normal(size=(TRIM, 40, 1)) * 10.0 ** rng.integers(-3, 9)
    told[np.isin(publisher, liars)] *= -3
    below, above = _allowed(answers[:, :, 0], claims[:, 0], publisher, honest, TRIM)
    low, high = lies[honest].min(axis=0) - below, lies[honest].max(axis=0) + above
    for review in _reviews(answers, told, publisher):
        if review.why is None:
            found = review.estimate(lies)
            assert ((low - 1e-9 <= found) & (found <= high + 1e-9)).all()


def test_moved_is_that_of_a_loop() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=(7, 6))
    values[rng.integers(0, 7, 6), np.arange(6)] = np.nan
    found = moved(values, 2)
    for column in range(6):
        there = np.sort(values[:, column][~np.isnan(values[:, column])])
        for j in range(7):
            wanted = (
                np.nan if np.isnan(values[j, column]) else min(max(values[j, column], there[2]), there[-3])
            )
            np.testing.assert_equal(found[j, column], wanted)


def test_a_weighted_middle_is_that_of_a_loop_and_stays_in_the_honest_range() -> None:
    rng = np.random.default_rng(5)
    values, weights = rng.normal(size=(7, 20, 1)), rng.random(7)
    values[:2, 10:] = 1e6
    found = weighted_middle(values, weights, 2)[:, 0]
    for i in range(20):
        said = values[:, i, 0].tolist()
        middle = statistics.median(said)
        usual = statistics.median(abs(each - middle) for each in said)
        counts = [w / (1 + ((v - middle) / usual) ** 2) for w, v in zip(weights.tolist(), said, strict=True)]
        mean = sum(c * v for c, v in zip(counts, said, strict=True)) / sum(counts)
        assert found[i] == pytest.approx(min(max(mean, sorted(said)[2]), sorted(said)[-3]))
    honest = values[2:, 10:, 0]
    assert ((honest.min(axis=0) <= found[10:]) & (found[10:] <= honest.max(axis=0))).all()


def test_public_rows_teach_everybody() -> None:
    answers, claims, publisher, batch, truth = _world(5)
    for review in _reviews(answers, claims, np.full_like(publisher, PUBLIC)):
        assert review.why is None
        assert _off(review.estimate(batch), truth) < 1.05 * _best(batch, truth)


def test_several_outputs_in_units_of_their_own() -> None:
    answers, claims, publisher, batch, truth = _world(6)
    two = [np.concatenate([each, each * 1000 + 7], axis=-1) for each in (answers, claims, batch, truth)]
    review = _reviews(two[0], two[1], publisher)[0]
    one = _reviews(answers, claims, publisher)[0]
    found, wanted = review.estimate(two[2]), one.estimate(batch)
    np.testing.assert_allclose(found[:, 0], wanted[:, 0], atol=0.05)
    np.testing.assert_allclose((found[:, 1] - 7) / 1000, found[:, 0], atol=1e-3)


def test_own_rows_that_speak_against_a_rule_keep_it_from_being_used() -> None:
    answers, claims, publisher, _, _ = _world(7)
    told = claims.copy()
    told[publisher == 3] = answers.mean(axis=0)[publisher == 3]  # its own world is the mean
    review = _reviews(answers, told, publisher)[3]
    assert review.why is not None
    assert review.why.startswith("on its own 15 rows the rule is off by")


def test_nothing_to_learn_from() -> None:
    answers, claims, publisher, *_ = _world(8)
    few = publisher == 2
    reviews = _reviews(answers[:, few][:, :3], claims[few][:3], publisher[few][:3])
    assert all(review.why is not None for review in reviews)
    with pytest.raises(ValueError, match="participant 2 has no rule: numbers of only 0 others"):
        reviews[2].estimate(answers)


def _regions(seed: int, n: int = 12, batch: int = 300) -> tuple[Floats, Known, Floats]:
    """Participant i knows numbers of [i, i + 1), shows ten, and is off elsewhere, each to another side."""
    rng = np.random.default_rng([seed, 8])
    owner = np.repeat(np.arange(n), 10)
    where = np.concatenate([owner + rng.random(len(owner)), n * rng.random(batch)])
    truth = rng.normal(size=len(where))
    far = np.abs(np.floor(where) - np.arange(n)[:, None]) > 0
    said = truth + np.where(far, rng.normal(size=far.shape), 0.1 * rng.normal(size=far.shape))
    X, cut = where[:, None], len(owner)
    rows = Rows(said[:, :cut], truth[:cut], owner, X[:cut])
    return said[:, cut:], Known(rows=rows, inputs=X[cut:], judges=np.arange(n)), truth[cut:]


@pytest.mark.parametrize("seed", range(3))
def test_those_who_know_a_region_count_more_there(seed: int) -> None:
    table, known, truth = _regions(seed)
    near, everywhere = (PeerReview(local=each).final_votes(table, known).votes for each in (True, False))
    assert _off(near, truth) < 0.95 * _off(everywhere, truth)
    rows = known.rows
    assert rows is not None
    trim = (len(table) - 1) // 3
    below, above = _allowed(rows.votes, rows.truth, rows.owner, np.arange(len(table)), trim)
    kept = moved(table, trim)
    assert (near >= kept.min(axis=0) - below - 1e-9).all()
    assert (near <= kept.max(axis=0) + above + 1e-9).all()


def test_inputs_that_say_nothing_change_nothing() -> None:
    table, known, _ = _regions(0)
    assert known.rows is not None
    blind = replace(known, rows=replace(known.rows, inputs=None))
    found, plain = (
        PeerReview(local=each).final_votes(table, of).votes for each, of in ((True, blind), (False, known))
    )
    np.testing.assert_array_equal(found, plain)


def test_models_of_one_region_each_are_too_near_the_middle_and_the_rule_need_not_be() -> None:
    """Everybody says half of the number: a range of answers never holds it, and the rows say how far off."""
    rng = np.random.default_rng(11)
    truth = rng.normal(size=460)[:, None]
    answers = 0.5 * truth + 0.05 * rng.normal(size=(N, 460, 1))
    owner = np.arange(160) % N
    review = _reviews(answers[:, :160], truth[:160], owner)[0]
    kept = moved(answers[:, 160:], TRIM)
    in_range = np.clip(truth[160:], kept.min(axis=0), kept.max(axis=0))
    assert _off(review.estimate(answers[:, 160:]), truth[160:]) < 0.5 * _off(in_range, truth[160:])


@pytest.mark.parametrize("seed", range(3))
def test_one_of_three_that_lies_on_inputs_and_rows_is_not_believed(seed: int) -> None:
    """It says three deviations too much everywhere, and labels its own rows so."""
    rng = np.random.default_rng([seed, 12])
    truth = rng.normal(size=230)
    said = truth + 0.4 * rng.normal(size=(3, 230))
    said[0] = truth + 3
    owner = np.arange(30) % 3
    told = truth[:30] + np.where(owner == 0, 3.0, 0.0)
    known = Known(rows=Rows(said[:, :30], told, owner), judges=np.array([1, 2]))
    final = PeerReview().final_votes(said[:, 30:], known).votes[1:]
    assert _off(final, truth[30:]) < 0.75 * _off(said[:, 30:].mean(axis=0), truth[30:])
    panel = NumberPanel(said[:, :30, None], told[:, None], owner, 0)
    assert [panel.review(judge).accepted.tolist() for judge in (1, 2)] == [[False, True, True]] * 2
