from __future__ import annotations

import math

import numpy as np
import pytest

from folkmoot.baselines import (
    centralised,
    dawid_skene,
    log_odds,
    majority,
    participant_accuracies,
    supermajority,
    weighted_majority,
)
from folkmoot.outcome import share_right


def test_accuracies_are_over_votes_cast_on_inputs_with_a_truth() -> None:
    votes = np.array([[0, 1, -1, 1], [1, 1, 1, 1], [-1, -1, -1, 0]])
    truth = [0, 1, 1, -1]
    assert participant_accuracies(votes, truth)[:2].tolist() == [1.0, pytest.approx(2 / 3)]
    assert math.isnan(participant_accuracies(votes, truth)[2])
    assert share_right([0, -1, 1, 0], truth) == pytest.approx(2 / 3)


def test_every_line_is_what_its_name_says() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    right = rng.random((15, 300)) < rng.uniform(0.5, 0.9, 15)[:, None]
    votes = np.where(right, truth, 1 - truth)
    honest = np.arange(15) < 12
    lines = {line.name: line for line in centralised(votes, 2, truth, honest)}
    skills = dawid_skene(votes, 2).accuracies
    expected = {
        "majority": majority(votes),
        "supermajority": supermajority(votes),
        "weighted majority": weighted_majority(votes, log_odds(skills, 2)),
        "Dawid-Skene": dawid_skene(votes, 2).labels,
    }
    for name, labels in expected.items():
        assert lines[name].accuracy == (labels == truth).mean()
        assert lines[name].undecided == (labels == -1).sum()
    each = (votes == truth).mean(axis=1)[:12]
    assert lines["mean participant"].accuracy == pytest.approx(each.mean())
    assert lines["best participant"].accuracy == each.max()


def test_without_truth_only_what_is_open_is_known() -> None:
    votes = np.array([[0, 1], [0, 0], [1, 1], [1, -1]])
    lines = centralised(votes, 2, None, np.ones(4, dtype=np.bool_))
    assert [line.name for line in lines] == ["majority", "supermajority", "weighted majority", "Dawid-Skene"]
    assert all(line.accuracy is None for line in lines)
    assert lines[0].undecided == 1
