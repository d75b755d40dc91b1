"""Copies and camps, against definitions written out."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.trust import agreement_counts, find_camps, pack_votes
from folkmoot.trust.camps import copies, link, residual_correlation
from folkmoot.votes import Votes

Floats = npt.NDArray[np.float64]


def one_hot(votes: Votes, colours: int) -> npt.NDArray[np.float32]:
    return np.asarray(votes[:, None, :] == np.arange(colours)[None, :, None], dtype=np.float32)


def agreements(votes: Votes, colours: int) -> npt.NDArray[np.int64]:
    return agreement_counts(pack_votes(votes, colours))


def test_copies_name_the_first_they_repeat() -> None:
    rng = np.random.default_rng(0)
    story, other = rng.integers(0, 2, (2, 1000))
    nearly = story.copy()
    nearly[:29] ^= 1  # 97.1% the same
    hardly = story.copy()
    hardly[:31] ^= 1
    votes = np.stack([other, story, nearly, hardly, other, np.full(1000, -1)])
    assert copies(agreements(votes, 2)).tolist() == [0, 1, 1, 3, 0, 5]


def test_who_votes_seldom_copies_nobody() -> None:
    votes = np.zeros((2, 100), dtype=np.int64)
    votes[1, 10:] = -1  # agrees wherever it votes
    assert copies(agreements(votes, 2)).tolist() == [0, 1]


def textbook_correlation(votes: Votes, colours: int, bins: list[list[int]]) -> list[list[float]]:
    n = len(votes)
    table = votes.tolist()

    def residual(j: int, k: int) -> float:
        total = 0.0
        for places, colour in itertools.product(bins, range(colours)):
            together = sum(table[j][i] == table[k][i] == colour for i in places)
            mine = sum(table[j][i] == colour for i in places)
            theirs = sum(table[k][i] == colour for i in places)
            total += together - mine * theirs / len(places)
        return total

    spread = [residual(j, j) for j in range(n)]
    return [[residual(j, k) / (spread[j] * spread[k]) ** 0.5 for k in range(n)] for j in range(n)]


@pytest.mark.parametrize("colours", [2, 3])
def test_residual_correlation_is_the_textbook_s(colours: int) -> None:
    rng = np.random.default_rng(colours)
    votes = rng.integers(-1, colours, (4, 151))
    score = rng.random((colours, 151))
    if colours == 2:
        order = sorted(range(151), key=lambda i: score[1, i] - score[0, i])
        bins = [[i for place, i in enumerate(order) if place * 3 // 151 == b] for b in range(3)]
    else:  # about fifty of each colour: one bin each, two for a colour with a hundred
        margin = [sorted(score[:, i])[-1] - sorted(score[:, i])[-2] for i in range(151)]
        bins = []
        for colour in range(colours):
            mine = sorted((i for i in range(151) if score[:, i].argmax() == colour), key=lambda i: margin[i])
            cuts = max(1, len(mine) // 50)
            bins += [
                [i for place, i in enumerate(mine) if place * cuts // len(mine) == b] for b in range(cuts)
            ]
    found = residual_correlation(one_hot(votes, colours), agreements(votes, colours), score)
    np.testing.assert_allclose(found, textbook_correlation(votes, colours, bins), atol=1e-5)


def test_agreement_because_of_easy_inputs_is_no_correlation() -> None:
    rng = np.random.default_rng(3)
    inputs = 20_000
    ease = rng.random(inputs)
    votes = (rng.random((3, inputs)) < ease).astype(np.int64)
    score = np.stack([-ease, ease])
    raw = np.asarray(np.corrcoef(votes))[0, 1]
    found = residual_correlation(one_hot(votes, 2), agreements(votes, 2), score)
    assert raw > 0.3
    assert np.abs(found[np.triu_indices(3, 1)]).max() < 4.5 / np.sqrt(inputs)


def naive_linkage(similarity: Floats, least: float) -> list[set[int]]:
    """Means over all pairs of the two groups, from scratch each time."""
    groups = [{i} for i in range(len(similarity))]
    while len(groups) > 1:
        mean, a, b = max(
            (np.mean([similarity[i, j] for i in a for j in b]), x, y)
            for (x, a), (y, b) in itertools.combinations(enumerate(groups), 2)
        )
        if mean < least:
            break
        groups = [g for k, g in enumerate(groups) if k not in (a, b)] + [groups[a] | groups[b]]
    return groups


@given(st.integers(1, 7), st.floats(-0.5, 0.9), st.integers(0, 10**6))
def test_link_is_average_linkage(n: int, least: float, seed: int) -> None:
    raw = np.random.default_rng(seed).uniform(-1, 1, (n, n))
    similarity = (raw + raw.T) / 2
    label = link(similarity, least)
    found = {frozenset(np.flatnonzero(label == k).tolist()) for k in range(label.max() + 1)}
    assert found == {frozenset(g) for g in naive_linkage(similarity, least)}


def test_a_camp_shares_its_voice_by_the_design_effect() -> None:
    rng = np.random.default_rng(4)
    inputs = 8000
    story = rng.integers(0, 2, inputs)
    own = rng.integers(0, 2, (10, inputs))
    joined = rng.random((10, inputs)) < 0.6
    votes = own.copy()
    votes[:6] = np.where(joined[:6], story, own[:6])  # pairs of these correlate by 0.36
    camps = find_camps(one_hot(votes, 2), agreements(votes, 2), np.zeros((2, inputs)))
    assert len(set(camps.label[:6].tolist())) == 1
    assert len(set(camps.label.tolist())) == 5
    assert camps.cliques == ()
    np.testing.assert_allclose(camps.voice[:6], 1 / (1 + 5 * 0.36), rtol=0.05)
    np.testing.assert_allclose(camps.voice[6:], 1.0)


def test_copies_share_one_voice_and_sides_do_not_mix() -> None:
    rng = np.random.default_rng(5)
    votes = rng.integers(0, 2, (5, 3000))
    votes[1] = votes[3] = votes[0]
    table, shared = one_hot(votes, 2), agreements(votes, 2)
    camps = find_camps(table, shared, np.zeros((2, 3000)))
    assert camps.cliques == ((0, 1, 3),)
    np.testing.assert_allclose(camps.voice, [1 / 3, 1 / 3, 1, 1 / 3, 1])
    flipped = votes.copy()
    flipped[4] = np.where(rng.random(3000) < 0.8, votes[2], flipped[4])
    table, shared = one_hot(flipped, 2), agreements(flipped, 2)
    together = find_camps(table, shared, np.zeros((2, 3000)))
    apart = find_camps(table, shared, np.zeros((2, 3000)), np.array([1, 1, 1, 1, -1]))
    assert together.label[2] == together.label[4]
    assert apart.label[2] != apart.label[4]
