"""The rules of a centre by name, against what each is by itself."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot.accuracy import log_odds
from folkmoot.baselines import dawid_skene, majority, supermajority, weighted_majority
from folkmoot.comparison import RULES, central_decisions, judged_accuracies

RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, 300)
VOTES = np.where(RNG.random((15, 300)) < RNG.uniform(0.5, 0.9, 15)[:, None], TRUTH, 1 - TRUTH)


def test_every_rule_is_what_its_name_says() -> None:
    found = central_decisions(VOTES, 2)
    assert tuple(found) == RULES
    expected = {
        "majority": majority(VOTES),
        "supermajority": supermajority(VOTES),
        "weighted majority": weighted_majority(VOTES, log_odds(dawid_skene(VOTES, 2).accuracies)),
        "Dawid-Skene": dawid_skene(VOTES, 2).decision,
    }
    for name, decision in found.items():
        np.testing.assert_array_equal(decision, expected[name])


def test_skills_weigh_votes() -> None:
    skills = np.full(15, 0.5)
    skills[4] = 0.9  # alone has a weight
    found = central_decisions(VOTES, 2, skills, ["weighted majority"])
    np.testing.assert_array_equal(found["weighted majority"], VOTES[4])
    skills[:] = np.nan
    skills[7] = 0.2  # the others do not know; this one is read backwards
    found = central_decisions(VOTES, 2, skills, ["weighted majority"])
    np.testing.assert_array_equal(found["weighted majority"], 1 - VOTES[7])
    assert central_decisions(VOTES, 2, np.full(15, np.nan))["weighted majority"] is None


def test_only_what_is_wanted() -> None:
    assert list(central_decisions(VOTES, 2, rules=["Dawid-Skene", "majority"])) == ["majority", "Dawid-Skene"]
    assert central_decisions(VOTES, 2, rules=[]) == {}
    assert "supermajority" not in central_decisions(VOTES[:2], 2)
    with pytest.raises(ValueError, match=r"rules must be among majority, .*: got 'plurality'"):
        central_decisions(VOTES, 2, rules=["plurality"])  # type: ignore[list-item]


def test_judged_accuracies() -> None:
    votes = np.vstack([VOTES, np.full(300, -1)])
    assert judged_accuracies(votes, 2, TRUTH).tolist() == [*(VOTES == TRUTH).mean(axis=1), 0.5]
    estimated = judged_accuracies(votes, 2)
    assert np.abs(estimated[:15] - (VOTES == TRUTH).mean(axis=1)).max() < 0.1
    assert estimated[15] == 0.5
