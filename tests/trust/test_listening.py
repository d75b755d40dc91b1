"""Listening, where it is known who is how good: independent participants, and liars of every kind."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folkmoot.adversaries import colluding_votes, stealthy_votes
from folkmoot.trust import LEAST_INPUTS, Anchor, Trust, TrustWarning, decide, listen, listen_all
from folkmoot.votes import Votes

Ints = npt.NDArray[np.int64]
INPUTS = 2000
HONEST, LIARS = 21, 30  # most of the network lies
GOOD = Anchor.of_counts(15, 20)


def moot(seed: int = 0, colours: int = 2) -> tuple[Votes, Ints, npt.NDArray[np.float64]]:
    """Independent honest participants of accuracies 0.6 to 0.8, then liars, who vote honestly yet (0.7)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, colours, INPUTS)
    skill = np.concatenate([np.linspace(0.6, 0.8, HONEST), np.full(LIARS, 0.7)])
    right = rng.random((HONEST + LIARS, INPUTS)) < skill[:, None]
    off = rng.integers(1, colours, right.shape)
    return np.where(right, truth, (truth + off) % colours), truth, skill


def right_share(votes: Votes, trust: Trust, truth: Ints) -> float:
    return float((decide(votes, trust) == truth).mean())


def plurality(votes: Votes, colours: int) -> Ints:
    return np.asarray(np.stack([(votes == c).sum(axis=0) for c in range(colours)]).argmax(axis=0))


@pytest.mark.parametrize("colours", [2, 4])
def test_accuracies_of_independent_participants_are_found(colours: int) -> None:
    votes, truth, skill = moot(1, colours)
    trust = listen(0, votes, Anchor.of_counts(15, 20, colours), classes=colours)
    assert trust.anchored
    # The answer is right on nearly all inputs, so each accuracy is a binomial share; 4.5 standard errors.
    share = (votes == truth).mean(axis=1)
    assert np.abs(trust.accuracy - share).max() < 0.02
    assert (np.abs(trust.accuracy - skill) < 4.5 * trust.standard_error + 0.01).all()
    assert right_share(votes, trust, truth) >= (plurality(votes, colours) == truth).mean()
    # Independent voices have a voice each, and weigh by their log-odds.
    odds = np.log((colours - 1) * skill / (1 - skill))
    alone = trust.voice == 1
    assert alone.mean() > 0.7
    assert np.corrcoef(trust.weight[alone], odds[alone])[0, 1] > 0.9


def test_plain_trust_is_the_formula() -> None:
    votes, _, skill = moot(2)
    own = Anchor.of_counts(5999, 9998)  # participant 0 is right with 0.6
    trust = listen(0, votes, own, refined=False)
    assert (np.abs(trust.accuracy - skill) < 4.5 * trust.standard_error).all()
    share = (votes[5] == votes[0]).mean()
    p = (share - 0.4) / 0.2
    assert trust.accuracy[5] == pytest.approx(p)
    over = p - 0.5 - 2 * np.sqrt(share * (1 - share) / INPUTS) / 0.2
    assert trust.weight[5] == pytest.approx(np.log((0.5 + over) / (0.5 - over)))


def test_copies_share_one_voice_in_plain_trust_too() -> None:
    votes, _, _ = moot(2)
    alone = listen(0, votes, GOOD, refined=False).weight[5]
    votes[6:9] = votes[5]
    trust = listen(0, votes, GOOD, refined=False)
    assert trust.cliques == ((5, 6, 7, 8),)
    assert trust.weight[5:9].sum() == pytest.approx(alone)


def test_copies_of_one_lie_are_one_voice_that_weighs_nothing() -> None:
    votes, truth, _ = moot(3)
    votes[HONEST:] = colluding_votes(INPUTS, 2, seed=5)
    assert (plurality(votes, 2) == truth).mean() < 0.6  # the clique decides every vote
    for own in (0, 10, 20):
        trust = listen(own, votes, GOOD)
        assert trust.cliques == (tuple(range(HONEST, HONEST + LIARS)),)
        assert np.abs(trust.weight[HONEST:]).sum() < 0.2
        assert right_share(votes, trust, truth) > 0.97


def test_a_clique_with_noise_is_a_camp() -> None:
    votes, truth, _ = moot(4)
    rng = np.random.default_rng(4)
    noise = rng.random((LIARS, INPUTS)) < 0.2
    votes[HONEST:] = np.where(noise, rng.integers(0, 2, noise.shape), colluding_votes(INPUTS, 2, seed=6))
    trust = listen(3, votes, GOOD)
    assert trust.cliques == ()
    assert len(set(trust.camps[HONEST:].tolist())) <= 2
    assert trust.voice[HONEST:].sum() < 3
    assert right_share(votes, trust, truth) > 0.97


@pytest.mark.parametrize("colours", [2, 3])
def test_those_who_are_always_wrong_are_read_backwards(colours: int) -> None:
    votes, truth, _ = moot(5, colours)
    votes[HONEST:] = (truth + 1) % colours
    trust = listen(2, votes, Anchor.of_counts(15, 20, colours), classes=colours)
    assert trust.accuracy[HONEST:].max() < 0.1
    assert (trust.weight[HONEST:] < 0).all()
    assert right_share(votes, trust, truth) > 0.97


def test_trusted_and_distrusted_share_no_camp() -> None:
    rng = np.random.default_rng(17)
    truth = rng.integers(0, 2, INPUTS)
    ease = rng.uniform(0.3, 1.0, INPUTS)
    votes = np.where(rng.random((HONEST + LIARS, INPUTS)) < ease, truth, 1 - truth)
    votes[HONEST:] = np.where(rng.random((LIARS, INPUTS)) < 0.25, truth, 1 - truth)
    trust = listen(3, votes, GOOD)
    assert trust.anchored
    assert right_share(votes, trust, truth) > 0.95
    liars = set(trust.camps[HONEST:].tolist())
    assert (trust.weight[HONEST:] < 0).all()
    assert not liars & set(trust.camps[:HONEST].tolist())


def test_constant_and_random_voters_weigh_nothing_even_where_a_colour_is_common() -> None:
    rng = np.random.default_rng(6)
    truth = (rng.random(INPUTS) < 0.2).astype(np.int64)
    right = rng.random((HONEST + 8, INPUTS)) < 0.75
    votes = np.where(right, truth, 1 - truth)
    votes[HONEST : HONEST + 4] = 0  # right on 80%
    votes[HONEST + 4 :] = rng.integers(0, 2, (4, INPUTS))
    trust = listen(0, votes, GOOD)
    assert trust.accuracy[HONEST] == pytest.approx(0.8, abs=0.03)
    assert (trust.weight[HONEST : HONEST + 4] == 0).all()
    assert np.abs(trust.weight[HONEST + 4 :]).max() < 0.15
    assert trust.prior[1] == pytest.approx(truth.mean(), abs=0.03)
    assert right_share(votes, trust, truth) > 0.95


def test_traitors_who_lie_together_on_a_tenth_are_found_out() -> None:
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 2, 2 * INPUTS)
    # Inputs differ in difficulty, as real ones do: else those lied about stand apart by the count alone.
    right = rng.random((50, 2 * INPUTS)) < rng.uniform(0.3, 1.0, 2 * INPUTS)
    votes = np.where(right, truth, 1 - truth)
    traitors = slice(30, 50)
    votes[traitors] = stealthy_votes(votes[traitors], truth, 2, share=0.1, seed=8)
    struck = (votes[traitors] != truth).all(axis=0)
    trust = listen(0, votes, GOOD)
    decided = decide(votes, trust)
    assert (plurality(votes, 2) == truth)[struck].mean() < 0.35
    assert (decided == truth)[struck].mean() > 0.5
    assert (decided == truth).mean() > (plurality(votes, 2) == truth).mean() + 0.02
    assert trust.voice[traitors].sum() < 0.4 * trust.voice[:30].sum()


def test_all_who_anchor_agree() -> None:
    votes, truth, _ = moot(8)
    votes[HONEST:] = (truth + 1) % 2
    anchors: list[Anchor | None] = [GOOD] * HONEST + [None] * LIARS
    trusts = listen_all(votes, anchors)
    decided = np.stack([decide(votes, trust) for trust in trusts[:HONEST]])
    assert (decided == decided[0]).mean() > 0.98
    assert not any(trust.anchored for trust in trusts[HONEST:])
    for own in (0, 7):
        alone = listen(own, votes, GOOD)
        np.testing.assert_array_equal(alone.weight, trusts[own].weight)
        assert alone.why == trusts[own].why


def test_colours_may_be_renamed() -> None:
    votes, truth, _ = moot(9, 3)
    renamed = np.array([2, 0, 1])
    anchor = Anchor.of_counts(15, 20, 3)
    before, after = (listen(1, table, anchor, classes=3) for table in (votes, renamed[votes]))
    np.testing.assert_allclose(after.accuracy, before.accuracy, atol=0.01)
    assert (renamed[decide(votes, before)] == decide(renamed[votes], after)).mean() > 0.99
    assert right_share(votes, before, truth) > 0.95


def test_missing_votes_are_no_lies() -> None:
    votes, truth, skill = moot(10)
    votes[np.random.default_rng(10).random(votes.shape) < 0.3] = -1
    votes[7] = -1
    trust = listen(4, votes, GOOD)
    heard = np.arange(len(votes)) != 7
    assert np.abs(trust.accuracy - skill)[heard].max() < 0.06
    assert np.isnan(trust.accuracy[7])
    assert trust.weight[7] == 0
    assert right_share(votes, trust, truth) > 0.97


def test_a_model_that_is_upside_down_here_is_doubted() -> None:
    votes, truth, _ = moot(11)
    votes[0] = np.where(np.random.default_rng(11).random(INPUTS) < 0.35, truth, 1 - truth)
    trust = listen(0, votes, GOOD)
    assert not trust.anchored
    assert "holdout is not like these inputs" in trust.why
    assert trust.recognition > 0.1
    assert decide(votes, trust).tolist() == [-1] * INPUTS
    sure = listen(0, votes, GOOD, doubt=np.inf)
    assert sure.anchored
    assert right_share(votes, sure, truth) < 0.05  # the mirror image


@pytest.mark.parametrize("seed", range(6))
def test_a_model_that_knows_nothing_here_finds_no_answer(seed: int) -> None:
    votes, _, _ = moot(12)
    votes[0] = np.random.default_rng(seed).integers(0, 2, INPUTS)
    trust = listen(0, votes, GOOD)
    assert not trust.anchored
    assert "recognition" in trust.why or "nobody agrees" in trust.why


@pytest.mark.parametrize(
    ("anchor", "why"),
    [
        (None, "held nothing out"),
        (Anchor.of_counts(0, 0), "held nothing out"),
        (Anchor.of_counts(6, 10), "6 of 10 right on its holdout does not show it better than chance"),
        (Anchor.of_confusion([[9, 0], [0, 0]]), "does not show it better than chance"),
    ],
)
def test_without_an_anchor_it_says_so_and_stays_uncoloured(anchor: Anchor | None, why: str) -> None:
    votes, _, _ = moot(13)
    trust = listen(0, votes, anchor)
    assert not trust.anchored
    assert why in trust.why
    assert not trust.weight.any()
    assert np.isnan(trust.accuracy).all()
    assert decide(votes, trust).tolist() == [-1] * INPUTS


def test_few_inputs_mean_equal_trust_and_a_warning() -> None:
    votes, _, _ = moot(14)
    few = votes[:, : LEAST_INPUTS - 1]
    with pytest.warns(TrustWarning, match=r"at least 50 inputs .* got 49, so .* known to 0\.\d\d"):
        trust = listen(0, few, GOOD)
    assert not trust.anchored
    assert trust.weight.tolist() == [1.0] * len(votes)
    np.testing.assert_array_equal(decide(few, trust), plurality(few, 2))
    assert np.nanmedian(trust.standard_error) > 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        listen(0, votes[:, :LEAST_INPUTS], GOOD)


def test_identical_votes_everywhere() -> None:
    story = colluding_votes(100, 2, seed=1)
    trust = listen(1, np.tile(story, (4, 1)), GOOD)
    assert trust.anchored
    assert trust.cliques == ((0, 1, 2, 3),)
    assert "everybody votes alike" in trust.why
    np.testing.assert_array_equal(decide(np.tile(story, (4, 1)), trust), story)


def test_all_peers_uncoloured() -> None:
    votes = np.full((4, 100), -1)
    votes[2] = colluding_votes(100, 2, seed=2)
    trust = listen(2, votes, GOOD)
    assert trust.anchored
    assert "no peer has voted" in trust.why
    np.testing.assert_array_equal(decide(votes, trust), votes[2])


def test_own_votes_of_one_colour() -> None:
    votes, _, _ = moot(15)
    votes[0] = 1
    trust = listen(0, votes, GOOD)
    assert not trust.anchored
    assert "one colour only" in trust.why


def test_bad_arguments_are_named() -> None:
    votes, _, _ = moot(16)
    with pytest.raises(ValueError, match="own must satisfy 0 <= own < 51"):
        listen(51, votes, GOOD)
    with pytest.raises(ValueError, match=r"as many colours as the votes \(2\): got 3"):
        listen(0, votes, Anchor.of_counts(9, 10, 3))
    with pytest.raises(ValueError, match=r"doubt must satisfy doubt >= 1: got doubt=0\.5"):
        listen(0, votes, GOOD, doubt=0.5)
    with pytest.raises(ValueError, match=r"one per participant \(51\): got 1"):
        listen_all(votes, [GOOD])


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(50, 120), st.integers(2, 4))
def test_whoever_anchors_recognises_itself(seed: int, n: int, inputs: int, colours: int) -> None:
    rng = np.random.default_rng(seed)
    votes = rng.integers(-1 if seed % 2 else 0, colours, (n, inputs))
    copied = rng.integers(0, n, n)
    votes = np.where(rng.random((n, 1)) < 0.5, votes, votes[copied])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrustWarning)
        trust = listen(0, votes, Anchor.of_counts(19, 20, colours), classes=colours)
    assert np.isfinite(trust.weight).all()
    assert trust.weight[(votes < 0).all(axis=1)].tolist() == [0.0] * int((votes < 0).all(axis=1).sum())
    np.testing.assert_allclose(trust.confusion.sum(axis=2), 1.0)
    assert ((trust.voice > 0) & (trust.voice <= 1)).all()
    if trust.anchored and not np.isnan(trust.recognition):
        assert trust.recognition >= 0.1
        assert trust.prior.sum() == pytest.approx(1.0)


def test_numpy_is_all_it_needs() -> None:
    code = "import sys, folkmoot.trust; print('scipy' in sys.modules, 'sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("refined", [None, True])
@pytest.mark.parametrize("n", [8, 25])
def test_few_participants_and_many_colours(n: int, refined: bool | None) -> None:
    """Ten colours, 30 inputs of each: inputs of one colour must not share a bin with those of others."""
    rng = np.random.default_rng(n)
    truth = rng.integers(0, 10, 300)
    slips = rng.integers(1, 10, (n, 300))
    votes = np.where(rng.random((n, 300)) < 0.7, truth, (truth + slips) % 10)
    liars = n // 2 + 1
    votes[-liars:] = (truth + 1) % 10
    for own in range(n - liars):
        trust = listen(own, votes, Anchor.of_counts(20, 30, 10), classes=10, refined=refined)
        assert trust.anchored
        assert trust.weight[-liars:].sum() < 0.05 * trust.weight[:-liars].sum()  # one voice, at the most
        assert (decide(votes, trust) == truth).mean() > 0.75  # a single participant is right on 0.7


@pytest.mark.parametrize(
    ("colours", "inputs", "views"),
    [(2, 60, 3), (2, 199, 3), (2, 200, 1), (4, 159, 2), (4, 160, 3), (4, 400, 1)],
)
def test_refined_where_the_inputs_allow(colours: int, inputs: int, views: int) -> None:
    """Alone from 100 inputs a colour on; before that one view of three, from ten for each pair of colours."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, colours, inputs)
    votes = np.where(rng.random((12, inputs)) < 0.7, truth, rng.integers(0, colours, (12, inputs)))
    anchor = Anchor.of_counts(18, 20, colours)
    found = listen(0, votes, anchor, classes=colours)
    assert found.why.count("%") == (views if views > 1 else 0)
    for refined in (True, False):
        told = listen(0, votes, anchor, classes=colours, refined=refined)
        assert np.array_equal(found.weight, told.weight) == (refined and views == 1)
