"""Stacking leaves out whole groups: a patient's other rows tell who it is, not what is right of strangers."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot import compare
from folkmoot.comparing.stacking import stacked, stacked_numbers


def patients(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forty patients of twenty rows: models' numbers tell the patient, and nothing of its level."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(40), 20)
    level, marks = rng.normal(size=40), rng.normal(size=(30, 40))
    sent = marks[:, who] + 0.1 * rng.normal(size=(30, len(who)))
    return sent, level[who] + 0.1 * rng.normal(size=len(who)), who


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_strange_patients_are_not_known(seed: int) -> None:
    sent, truth, who = patients(seed)
    random = stacked_numbers(sent[:, :, None], truth[:, None], 0)
    by_group = stacked_numbers(sent[:, :, None], truth[:, None], 0, groups=who)
    assert random is not None
    assert by_group is not None
    constant = ((truth - truth.mean()) ** 2).mean()
    assert ((random[:, 0] - truth) ** 2).mean() < 0.7 * constant
    assert ((by_group[:, 0] - truth) ** 2).mean() > 0.9 * constant


def test_labels_of_strange_patients_are_not_known() -> None:
    sent, truth, who = patients(0)
    votes, labels = (sent > 0).astype(int), (truth > 0).astype(int)
    random, by_group = stacked(votes, labels, 2, 0), stacked(votes, labels, 2, 0, groups=who)
    assert random is not None
    assert by_group is not None
    assert (random == labels).mean() > 0.8
    assert (by_group == labels).mean() < 0.7


def test_one_group_teaches_nothing() -> None:
    sent, truth, who = patients(0)
    assert stacked_numbers(sent[:, :, None], truth[:, None], 0, groups=np.zeros_like(who)) is None
    assert stacked((sent > 0).astype(int), (truth > 0).astype(int), 2, 0, groups=np.zeros_like(who)) is None


def test_a_report_says_why_there_is_no_stacking() -> None:
    votes, truth = np.array([[0, 1, 1, 2], [1, 1, 1, 0], [0, 0, 1, 1]]), np.array([0, 1, 1, 2])
    line = next(each for each in compare(votes, truth=truth, stacking=True).lines if each.name == "stacking")
    assert (line.score, line.note) == (None, "needs more inputs of some class")
