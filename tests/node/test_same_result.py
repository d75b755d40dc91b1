"""What members sign of a motion is the same with any kind of floating point.

A process plays 1,000 motions of every public aggregation as this processor computes, as one that can do next
to nothing, and with all values of functions off by one unit in the last place.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support.kinds_of_floats import NUDGED, WITHOUT, computed
from support.node.results import KINDS

SIGNED = "import json; from support.node.results import signed; print(json.dumps(signed(1000)))"


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return computed(SIGNED)


@pytest.mark.parametrize(
    ("first", "environment"),
    [("", WITHOUT), (NUDGED, {})],
    ids=["another processor", "other last bits"],
)
def test_members_sign_the_same(here: dict[str, str], first: str, environment: Mapping[str, str]) -> None:
    other = computed(SIGNED, first=first, environment=environment)
    assert {kind: other[kind] for kind in KINDS} == {kind: here[kind] for kind in KINDS}
    assert len({here[kind] for kind in KINDS}) == len(KINDS)
    if first:
        assert other["logarithms"] != here["logarithms"], "floats are others there"
