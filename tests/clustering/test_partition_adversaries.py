"""Liars about clusters: each by what its file says of it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from folkmoot.arrays import Ints
from folkmoot.clustering.adversaries import (
    PARTITION_ATTACKS,
    ColludingPartition,
    MaliciousView,
    MergedPartition,
    ShiftedPartition,
    partitions_handed_in,
)
from support.planted import planted

LIARS = (1, 3, 4)


@pytest.fixture(scope="module")
def honest() -> Ints:
    return planted(6, 400, 4, 0.2, seed=6)[0]


def revealed(honest: Ints, name: str) -> Ints:
    return partitions_handed_in(honest, dict.fromkeys(LIARS, PARTITION_ATTACKS[name]), clusters=4, seed=1)


@pytest.mark.parametrize("name", PARTITION_ATTACKS)
def test_honest_partitions_stay_and_the_seed_decides(honest: Ints, name: str) -> None:
    said = revealed(honest, name)
    for i in (0, 2, 5):
        assert adjusted_rand_score(said[i], honest[i]) == 1
    assert (said == revealed(honest, name)).all()


@pytest.mark.parametrize(
    ("name", "among", "least", "most"),
    [
        ("random", "liars", -0.02, 0.02),
        ("clique", "liars", 1, 1),
        ("noisy-clique", "liars", 0.3, 0.6),  # each keeps .85 of the objects, two of them .74
        ("merged", "liars", 1, 1),
        ("shifted", "liars", 1, 1),
        ("random", "own", -0.02, 0.02),
        ("clique", "own", -0.02, 0.02),
        ("merged", "own", 0.2, 0.6),  # true, but coarse
        ("shifted", "own", 0.1, 0.5),
        ("adaptive", "own", 1, 1),  # it lies in the talk alone
    ],
)
def test_how_alike_lies_are(honest: Ints, name: str, among: str, least: float, most: float) -> None:
    said = revealed(honest, name)
    one = said[1]
    other = said[3] if among == "liars" else honest[1]
    assert least - 1e-9 <= adjusted_rand_score(one, other) <= most + 1e-9


def test_shares_are_kept() -> None:
    own = np.arange(10_000) % 4
    view = MaliciousView(own, own[None], 4, shared=5, private=6)
    assert (ShiftedPartition(0.3).reveal(view) != own).mean() == pytest.approx(0.3, abs=0.02)
    shared = ColludingPartition().reveal(view)
    assert (ColludingPartition(0.2).reveal(view) != shared).mean() == pytest.approx(0.15, abs=0.02)
    assert sorted(set(MergedPartition().reveal(view))) == [0, 1]


def test_the_talk_of_a_turncoat_is_the_lie_of_the_clique(honest: Ints) -> None:
    view = MaliciousView(honest[0], honest[:2], 4, shared=5, private=6)
    turncoat = PARTITION_ATTACKS["adaptive"]
    assert (turncoat.announce(view) == ColludingPartition().reveal(view)).all()


@pytest.mark.parametrize("name", PARTITION_ATTACKS)
def test_gaps_do_not_give_liars_away(name: str) -> None:
    own = np.array([0, 1, -1, 1, -1, 0])
    view = MaliciousView(own, own[None], 2, shared=0, private=1)
    for said in (PARTITION_ATTACKS[name].reveal(view), PARTITION_ATTACKS[name].announce(view)):
        assert ((said < 0) == (own < 0)).all()


def test_bad_shares() -> None:
    with pytest.raises(ValueError, match="0 <= noise <= 1"):
        ColludingPartition(noise=2)
    with pytest.raises(ValueError, match="0 <= share <= 1"):
        ShiftedPartition(share=-1)
