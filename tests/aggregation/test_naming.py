"""Aggregations as people type them."""

from __future__ import annotations

import numpy as np
import pytest

from folkmoot.aggregation import PeerReview, Plurality, Weighted, gold_known
from folkmoot.aggregation.naming import AGGREGATIONS, aggregation_called


@pytest.mark.parametrize("name", sorted(AGGREGATIONS))
def test_every_name_and_class_is_an_aggregation(name: str) -> None:
    kind = AGGREGATIONS[name]
    given = "(weights=[1, 2])" if kind is Weighted else ""
    for typed in (name, kind.__name__, name.replace("-", "_")):
        assert isinstance(aggregation_called(typed + given), kind)


def test_parameters_are_plain_values() -> None:
    assert aggregation_called("plurality( least = 3 )") == Plurality(least=3)
    assert aggregation_called("peer-review(rows='all')") == PeerReview(rows="all")


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("majority", "aggregation must be one of plurality, dawid-skene, .*: got 'majority'"),
        ("", "must be one of"),
        ("plurality(most=2)", "plurality has no 'most'; it takes least"),
        ("holdout-trust(x=1)", "holdout-trust has no 'x'; it takes"),
        ("weighted", "weighted needs weights=...; it takes weights"),
        ("plurality(2)", r"parameters must be as in plurality\(name=value, ...\): got '\(2\)'"),
        ("plurality(least=open('x'))", "parameters must be as in"),
        ("plurality(least=)", "parameters must be as in"),
        ("plurality(least=0)", "least must satisfy least >= 1"),
    ],
)
def test_what_is_none_is_refused_in_one_line(typed: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        aggregation_called(typed)
    assert "\n" not in str(caught.value)


def test_gold_is_truth_and_public_rows() -> None:
    known = gold_known(np.array([[0, 1, 1], [0, 0, -1]]), np.array([-1, 1, 0]), classes=2)
    assert known.truth is not None
    assert known.rows is not None
    assert known.truth.tolist() == [-1, 1, 0]
    assert known.rows.votes.tolist() == [[1, 1], [0, -1]]
    assert known.rows.truth.tolist() == [1, 0]
    assert (known.rows.owner == -1).all()
