"""What decided labels rest on: by fractions, by what is known of made-up participants, and among liars."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from folkmoot.trust.footing import announced_too, footing_of_decided, promised
from folkmoot.trust.own_rows import speaks_against


def test_what_labels_promise_and_others_say_are_the_plain_means() -> None:
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 16, (2, 5, 3))
    labels, old = rng.integers(0, 3, (2, 5)), rng.integers(-1, 3, (2, 5))
    for who, found in enumerate(promised(levels / 16, old, labels)):
        of_labels = [Fraction(int(row[c]), 16) for row, c in zip(levels[who], labels[who], strict=True)]
        of_old = [
            Fraction(int(row[c]), 16) if c >= 0 else Fraction(0)
            for row, c in zip(levels[who], old[who], strict=True)
        ]
        assert found == pytest.approx(float((sum(of_labels) - sum(of_old)) / 5), abs=1e-15)
    said, weights = rng.integers(-1, 3, (4, 5)), [2, 0, 3, 5]
    same = [Fraction(int((row == labels[0]).sum()), 5) for row in said]
    whole = sum(weight * share for q, (weight, share) in enumerate(zip(weights, same, strict=True)) if q != 2)
    assert announced_too(said, labels[0], np.array(weights, float), 2) == pytest.approx(float(whole / 7))
    assert announced_too(said, labels[0], np.array([0.0, 0, 3, 0]), 2) == 0.0, "nobody else counts"


def moot_of(right: list[float], seed: int, inputs: int = 600, classes: int = 4) -> tuple[Any, Any, Any, Any]:
    """First votes of participants that are right so often, the truth, the majority, and rows of the first."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, inputs)
    wrong = (truth + rng.integers(1, classes, (len(right), inputs))) % classes
    first = np.where(rng.random((len(right), inputs)) < np.array(right)[:, None], truth, wrong)
    counts = np.stack([(first == c).sum(axis=0) for c in range(classes)])
    own = rng.integers(0, classes, 60)
    said = np.where(rng.random(60) < right[0], own, (own + 1) % classes)
    return first, truth, counts.argmax(axis=0), (said, own)


@pytest.mark.parametrize("seed", range(3))
def test_the_promised_gain_is_near_the_one_that_the_labels_bring(seed: int) -> None:
    first, truth, labels, (said, own) = moot_of([0.6] * 9, seed)
    last = np.tile(labels, (9, 1))
    gained = (labels == truth).mean() - (first[0] == truth).mean()
    assert 0.2 < gained < 0.45
    steady, shared, gain = footing_of_decided(first, last, labels, 0, said, own, 4)
    assert (steady, shared) == (1.0, 1.0)
    assert gain == pytest.approx(gained, abs=0.1)


def test_labels_that_most_of_a_moot_has_lied_into_promise_a_loss() -> None:
    """Five of nine say one wrong class of each input, and hold it at last: a quorum has decided it."""
    first, truth, _, (said, own) = moot_of([0.7] * 9, 3)
    first[4:] = labels = (truth + 1) % 4
    last = np.tile(labels, (9, 1))
    *_, gain = footing_of_decided(first, last, labels, 0, said, own, 4)
    assert gain < -0.2
    better = np.ones(40, dtype=np.bool_)  # whatever own rows say of the new model
    assert speaks_against(~better, better, 4, 1.0, 1.0, gain) is not None


def test_inputs_that_are_not_to_count_and_the_silent_change_nothing() -> None:
    first, _, labels, (said, own) = moot_of([0.6] * 7, 4)
    last = np.tile(labels, (7, 1))
    labels[::5] = -1
    plain = footing_of_decided(first, last, labels, 0, said, own, 4)
    last[:, ::5] = 2
    assert footing_of_decided(first, last, labels, 0, said, own, 4) == plain
    silent = np.full((2, first.shape[1]), -1)
    more = footing_of_decided(np.vstack([first, silent]), np.vstack([last, silent]), labels, 0, said, own, 4)
    assert more == pytest.approx(plain, abs=1e-9)


def test_those_whom_own_rows_speak_against_dispute_nothing() -> None:
    """Two of seven are wrong on nearly everything and never give in: a third of the others, by number."""
    right = [0.8, 0.8, 0.8, 0.8, 0.8, 0.05, 0.05]
    first, truth, _, (said, own) = moot_of(right, 5)
    last = np.tile(truth, (7, 1))
    last[5:] = first[5:]
    _, shared, _ = footing_of_decided(first, last, truth, 0, said, own, 4)
    assert shared > 0.95
    # With rows that tell nothing of its own model all that voted count alike.
    _, alike, _ = footing_of_decided(first, last, truth, 0, np.full_like(said, -1), own, 4)
    assert alike == pytest.approx((4 + (last[5:] == truth).mean(axis=1).sum()) / 6)
