"""The steps of the refinement, each by itself."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot.trust.refinement import _iterate, informedness, own_correlation


@pytest.mark.parametrize("colours", [2, 3])
def test_a_camp_that_is_unanimous_when_it_lies_is_believed_otherwise(colours: int) -> None:
    rng = np.random.default_rng(colours)
    inputs = 6000
    truth = rng.integers(0, colours, inputs)

    def witness(accuracy: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.where(
            rng.random(inputs) < accuracy, truth, (truth + rng.integers(1, colours, inputs)) % colours
        )

    lies = rng.random(inputs) < 0.3
    camp = np.where(lies, (truth + 1) % colours, witness(0.85))
    ahead = np.stack([witness(0.8), witness(0.75), camp])
    level = np.stack([np.full(inputs, 7), np.full(inputs, 7), np.where(lies, 7, 3)])
    start = np.full((colours, inputs), 0.3 / (colours - 1))
    start[ahead[0], np.arange(inputs)] = 0.7
    answer, score = _iterate(start, ahead, level, 30)
    right = answer.argmax(axis=0) == truth
    assert right[lies].mean() > 0.8
    assert right[~lies].mean() > 0.85
    np.testing.assert_allclose(answer.sum(axis=0), 1.0)
    np.testing.assert_array_equal(score.argmax(axis=0), answer.argmax(axis=0))


def test_informedness_is_youden_s_index_shrunk_by_two_errors() -> None:
    counts = np.array([[[80.0, 20.0], [30.0, 70.0]], [[100.0, 0.0], [100.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])
    shrunk, raw = informedness(counts)
    error = np.sqrt(0.8 * 0.2 / 100 + 0.7 * 0.3 / 100)
    np.testing.assert_allclose(raw, [0.5, 0.0, 0.0])
    np.testing.assert_allclose(shrunk, [0.5 - 2 * error, 0.0, 0.0])


def test_own_correlation_is_pearson_s_for_two_colours() -> None:
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 2, (4, 500))
    votes[1] = np.where(rng.random(500) < 0.8, votes[0], votes[1])
    votes[3] = 1
    one_hot = (votes[:, None, :] == np.arange(2)[None, :, None]).astype(np.float32)
    agreements = np.array([[(a == b).sum() for b in votes] for a in votes])
    found = own_correlation(0, one_hot, agreements)
    exact = np.asarray(np.corrcoef(votes[:3]))[0]
    noise = 2 / np.sqrt(500)
    np.testing.assert_allclose(found[:2], exact[:2] - noise, atol=1e-6)
    assert found[2] == pytest.approx(np.sign(exact[2]) * max(abs(exact[2]) - noise, 0), abs=1e-6)
    assert found[3] == 0
