"""What ``deliberate`` refuses: one line each that names the place."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest

from folkmoot import Everyone, Neighbours, Others, Slush, StrongConfidence, deliberate
from folkmoot.adversaries import ConstantClass, PerfectlyMalicious, Silent
from folkmoot.adversaries.behaviours import Copycat

GOOD = np.zeros((12, 3), dtype=np.int64)
TRUST = np.ones((12, 12))


@pytest.mark.parametrize(
    ("votes", "protocol", "options", "message"),
    [
        (np.zeros(5, dtype=int), Slush(3, 2), {}, "shape"),
        (np.zeros((0, 3), dtype=int), Slush(3, 2), {}, "at least one vote"),
        (GOOD + 5, Slush(3, 2), {"classes": 2}, r"votes\[0, 0\] must satisfy -1 <= class < 2: got 5"),
        (GOOD - 2, Slush(3, 2), {}, r"votes\[0, 0\] must satisfy -1 <= class: got -2"),
        (GOOD, Slush(12, 7), {}, r"1 <= k <= n-1 .*got k=12, n=12"),
        (GOOD, Slush(13, 7), {"sampling": Everyone()}, "1 <= k <= n: got k=13, n=12"),
        (GOOD, Slush(3, [2] * 11), {}, r"one threshold per participant \(12\): got 11"),
        (GOOD, Slush(3, StrongConfidence([0.5] * 5)), {}, r"one threshold per participant \(12\): got 5"),
        (GOOD, Slush(3, 2, weights=[1.0] * 3), {}, r"one weight per participant \(12\): got 3"),
        (GOOD, Slush(3, 2), {"truth": [0, 1]}, r"one class per input \(3\): got shape \(2,\)"),
        (
            GOOD,
            Slush(3, 2),
            {"truth": [0, 1, 2], "classes": 2},
            r"truth\[2\] must satisfy 0 <= class < 2: got 2",
        ),
        (
            GOOD,
            Slush(3, 2),
            {"adversaries": {4: PerfectlyMalicious()}},
            "participant 4 is PerfectlyMalicious",
        ),
        (GOOD, Slush(3, 2), {"adversaries": {12: Silent()}}, "participants 0..11: got 12"),
        (GOOD, Slush(3, 2), {"adversaries": {i: Silent() for i in range(12)}}, "at least one participant"),
        (GOOD, Slush(3, 2), {"adversaries": {0: ConstantClass(2)}}, "0 <= choice < 2: got choice=2"),
        (GOOD, Slush(3, 2), {"sampling": Neighbours(networkx.path_graph(12))}, "node 0 has 1"),
        (GOOD, Slush(1, 1), {"sampling": Neighbours(networkx.path_graph(11))}, r"per participant \(12\)"),
        (GOOD, Slush(3, 2), {"schedule": "all"}, "schedule must be 'one' or 'lockstep': got 'all'"),
        (GOOD, Slush(3, 2), {"batch": "big"}, "batch must be 'independent' or 'shared': got 'big'"),
        (GOOD, Slush(3, 2), {"rounds": -1}, "rounds >= 0"),
        (GOOD, Slush(3, 2), {"repeats": 0}, "repeats >= 1"),
        (GOOD, Slush(3, 2), {"threads": 0}, "threads >= 1"),
        (GOOD, Slush(3, 2), {"seed": -1}, "seed >= 0"),
        (GOOD, Slush(3, 2), {"seed": 2**63}, r"seed < 2\^63"),
        (GOOD, Slush(3, 2), {"rounds": 10**20}, "rounds <= 1,000,000,000"),
        (np.full((12, 3), 2**63 + 1, dtype=np.uint64), Slush(3, 2), {}, r"above 2\^63"),
    ],
)
def test_bad_input(votes: Any, protocol: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        deliberate(votes, protocol, **options)


def test_bad_types() -> None:
    with pytest.raises(TypeError, match="votes must be integers"):
        deliberate(np.zeros((5, 2)), Slush(3, 2))
    with pytest.raises(TypeError, match="protocol must be"):
        deliberate(GOOD, "slush")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Adversary"):
        deliberate(GOOD, Slush(3, 2), adversaries={0: "malicious"})  # type: ignore[dict-item]
    for sampling in ("others", Others, networkx.path_graph(12)):
        with pytest.raises(TypeError, match="sampling must be"):
            deliberate(GOOD, Slush(3, 2), sampling=sampling)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="adversaries must map"):
        deliberate(GOOD, Slush(3, 2), adversaries=[1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="target must be an integer"):
        deliberate(GOOD, Slush(3, 2), adversaries={0: Copycat(1.5)})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="truth must be integers"):
        deliberate(GOOD, Slush(3, 2), truth=[0.0, 0.5, 0.0])
