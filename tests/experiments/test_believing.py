"""``whom-to-believe``: liars lie as they should, rivals are what they are called, a run has figures."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.believing import rivals
from experiments.believing.moots import ALONE, AUTO, EXPERIMENT, LIES, BelievingResult, Config, lied, voted
from experiments.believing.sites import LABELS, NUMBERS, there
from folkmoot.aggregation import Rows


def test_a_small_run_has_every_way_and_auto_beside_its_candidates() -> None:
    result = EXPERIMENT.run(Config(data=("wine, 6 alike", "diabetes, 6 alike"), lies=("nobody",), seeds=1), 0)
    assert isinstance(result, BelievingResult)
    labels, numbers = result.score["wine, 6 alike; nobody"], result.score["diabetes, 6 alike; nobody"]
    assert {ALONE, AUTO, "plurality", "peer review", *rivals.LABELS} <= set(labels)
    assert {ALONE, AUTO, "constant", "trimmed mean", *rivals.NUMBERS} <= set(numbers)
    assert all(0 <= value <= 1 for value in labels.values())
    assert labels[AUTO] > 0.7 > 1 - labels[AUTO]
    assert numbers[AUTO] < numbers["constant"]
    assert len(result.findings) == 2
    assert set(EXPERIMENT.figures(result)) == {"whom-to-believe"}


@pytest.mark.parametrize("lie", LIES)
def test_liars_lie_where_they_should(lie: str) -> None:
    met = voted(LABELS["wine, 6 alike"](3), 3)
    done = lied(met, lie, 3)
    lying = ~done.honest
    assert lying.sum() == int(LIES[lie] * 6)
    np.testing.assert_array_equal(done.table[done.honest], met.table[done.honest])
    np.testing.assert_array_equal(done.rows.votes[done.honest], met.rows.votes[done.honest])
    mine = lying[met.rows.owner]
    np.testing.assert_array_equal(done.rows.truth[~mine], met.rows.truth[~mine])
    if lie == "sparing":
        assert (done.table[lying] != met.truth).all()
        np.testing.assert_array_equal(done.rows.votes, met.rows.votes)
    if lie in ("backed", "in their region"):
        assert (done.rows.truth[mine] != met.rows.truth[mine]).all()
        assert (done.rows.votes[np.ix_(lying, mine)] != met.rows.truth[mine]).all()


def test_liars_in_numbers_are_far_away() -> None:
    met = voted(NUMBERS["diabetes, 6 alike"](3), 3)
    done = lied(met, "sparing", 3)
    np.testing.assert_allclose(done.table[~done.honest] - met.truth, 3 * met.truth.std())


def test_knora_u_counts_the_nearest_rows() -> None:
    X = np.arange(20.0).reshape(-1, 1)
    truth = np.zeros(20, dtype=int)
    votes = np.array([[0] * 10 + [1] * 10, [1] * 10 + [0] * 10])
    rows = Rows(votes, truth, np.arange(20) % 2, X)
    asked = np.array([[1.0], [18.0]])
    said = rivals.knora_u(rows, np.array([[0, 1], [1, 0]]), asked, 2)
    assert said.tolist() == [0, 0]


def test_tables_of_r_are_not_required() -> None:
    assert there("wine, 6 alike")
    assert set(Config().data) == {*LABELS, *NUMBERS}
