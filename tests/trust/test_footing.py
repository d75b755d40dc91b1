"""What agreed labels rest on, by fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from folkmoot.trust.footing import announced_too, promised


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
