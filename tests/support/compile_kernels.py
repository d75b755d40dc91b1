"""Compile what the tests need, once: else every worker does, at the same time, while the tests wait.

    PYTHONPATH=tests python -m support.compile_kernels

``make test`` runs it beside the checks. It only fills the cache; a test never needs it.
"""

from __future__ import annotations

import numpy as np

import conftest  # noqa: F401 (says where compiled code is kept)
from folkmoot import Slush, Snowball, agree, deliberate
from folkmoot.adversaries import PerfectlyMalicious, RandomColour
from folkmoot.aggregation import Mean
from folkmoot.theory import LocalSlushChain


def main() -> None:
    """Touch every kernel."""
    votes = np.random.default_rng(0).integers(0, 2, (12, 40))
    truth = np.ones(40, dtype=np.int64)
    trust = np.ones((12, 12))
    for protocol in (
        Slush(5, 3),
        Snowball(5, 3, 4),
        Slush(5, 3, weights=[1.0] * 12),
        Slush(5, 3, trust=trust),
    ):
        for batch in ("independent", "shared"):
            deliberate(votes, protocol, batch=batch, rounds=5)
            deliberate(votes, protocol, batch=batch, rounds=5, adversaries={0: RandomColour()})
            deliberate(
                votes, protocol, batch=batch, rounds=5, adversaries={0: PerfectlyMalicious()}, truth=truth
            )
    deliberate(votes, Slush(5, 3), rounds=5, record=True)
    deliberate(votes, Slush(5, 3), rounds=5, schedule="lockstep")
    numbers = np.random.default_rng(0).random((12, 3))
    agree(numbers, Mean())
    agree(numbers, Mean(), k=4)
    assert LocalSlushChain([3, 3, 4, 4, 4], 5).accuracy([0.6] * 5) > 0


if __name__ == "__main__":
    main()
