"""``crowds``: crowds are what their kind says, and findings hold both ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from experiments.mechanism.crowds import EXPERIMENT, GOLD, Accuracy, Config, of_kind, result
from experiments.mechanism.kinds_of_crowds import KINDS, Kind, draw
from folkmoot.votes import NO_VOTE


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_crowds_have_the_sizes_of_their_kind(kind: Kind) -> None:
    crowd, again = draw(kind, 3), draw(kind, 3)
    np.testing.assert_array_equal(crowd.votes, again.votes)
    cast = (crowd.votes != NO_VOTE).sum(axis=0)
    assert crowd.votes.shape == (kind.workers, kind.tasks)
    assert kind.votes[0] <= cast.min() <= cast.max() <= kind.votes[1]
    assert len(set(crowd.gold.tolist())) == kind.gold
    assert crowd.votes.max() < kind.classes == crowd.classes


DENSE = Kind(classes=4, workers=30, tasks=500, votes=(30, 30))


def test_workers_are_as_their_natures_say() -> None:
    """Beta(6, 2.5) has the mean 12/17, Beta(2, 8) has 1/5; a constant worker has one answer."""
    shares = {}
    for name, natures in {
        "coin": (1, 0, 0, 0, 0),
        "constant": (0, 0, 0, 1, 0),
        "liar": (0, 0, 0, 0, 1),
    }.items():
        crowds = [draw(replace(DENSE, natures=natures), seed) for seed in range(4)]
        shares[name] = np.mean([(each.votes == each.truth).mean() for each in crowds])
        if name == "constant":
            assert all((each.votes == each.votes[:, :1]).all() for each in crowds)
    assert shares["coin"] == pytest.approx(12 / 17, abs=0.04)  # 120 accuracies of deviation .15
    assert shares["liar"] == pytest.approx(1 / 5, abs=0.04)


def test_hard_and_deceptive_tasks_and_copies() -> None:
    sure = replace(DENSE, skill=(500, 1))
    hard = draw(replace(sure, hard=1.0), 0)
    assert (hard.votes == hard.truth).mean() == pytest.approx(1 / 2 + 1 / 8, abs=0.02)  # half guess, of four
    turned = draw(replace(sure, deceptive=1.0), 0)
    right = (turned.votes == turned.truth).mean(axis=1)
    assert set(right.round().tolist()) == {0.0, 1.0}
    assert right.mean() < 0.5  # a fifth see through
    copied = draw(replace(sure, copies=0.5, skill=(2, 2)), 0)
    assert len(np.unique(copied.votes, axis=0)) in (15, 16)  # the one copied may be a copy


def test_findings_hold_both_ways_and_name_the_rival() -> None:
    rows = [
        Accuracy("one coin", "majority", (0.8, 0.9)),
        Accuracy("one coin", "Dawid-Skene", (0.7, 0.8)),
        Accuracy("one coin", GOLD, (0.84, 0.852)),
        Accuracy("one coin", "MACE", (0.9,)),
        Accuracy("one coin", "GLAD", (0.5,)),
    ]
    found = result(Config(("one coin",), draws=2, rivals=1), {"kinds": {"one coin": rows}})
    line = found.findings[0]
    assert line.holds  # .846 is .004 below .850
    assert line.ours == "0.846; of 1: 0.840, MACE 0.900"
    assert "ahead in 1, by at most 0.060" in found.verdict
    rows[2] = Accuracy("one coin", GOLD, (0.84, 0.84))
    worse = result(Config(("one coin",), draws=2, rivals=1), {"kinds": {"one coin": rows}}).findings[0]
    assert (worse.holds, worse.difference) == (
        False,
        "-0.010 ± 0.050",
    )  # .04 ahead on one, .06 behind on the other


def test_a_small_run() -> None:
    quick = replace(EXPERIMENT.quick, kinds=("seven workers",), draws=1)
    found = EXPERIMENT.run(quick, 0)
    assert [each.rule for each in of_kind("seven workers", 1000, 1, 0)] == ["majority", "Dawid-Skene", GOLD]
    assert len(found.findings) == 1
    assert "crowds" in EXPERIMENT.figures(found)
