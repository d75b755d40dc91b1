"""Compile what the tests need, once: else every worker does, at the same time, while the tests wait.

    PYTHONPATH=tests python -m support.compile_kernels

``make test`` runs it beside the checks. It only fills the cache; a test never needs it.
"""

from __future__ import annotations

from itertools import islice, product
from typing import Any, get_args

import numpy as np

import conftest  # noqa: F401 (says where compiled code is kept)
from folkmoot import Neighbours, Others, Slush, Snowball, deliberate, sweep
from folkmoot.adversaries import PerfectlyMalicious
from folkmoot.adversaries.behaviours import RandomClass
from folkmoot.adversaries.interface import Adversary
from folkmoot.outcome import Batch
from folkmoot.protocols.sampling import Sampling
from folkmoot.protocols.snow import SnowProtocol
from folkmoot.theory import LocalSlushChain, SlushChain


def main() -> None:
    """Touch every kernel."""
    votes = np.random.default_rng(0).integers(0, 2, (12, 40))
    truth = np.ones(40, dtype=np.int64)
    talks: list[tuple[SnowProtocol[Any], Sampling]] = [
        (Slush(5, 3), Others()),
        (Snowball(5, 3, 4), Others()),
        (Slush(5, 3, weights=[1.0] * 12), Others()),
        (Slush(5, 3), Neighbours(np.ones((12, 12)) - np.eye(12))),
    ]
    liars: list[dict[int, Adversary]] = [{}, {0: RandomClass()}, {0: PerfectlyMalicious()}]
    for (protocol, law), batch, adversaries in product(talks, get_args(Batch), liars):
        deliberate(votes, protocol, sampling=law, batch=batch, rounds=5, adversaries=adversaries, truth=truth)
    deliberate(votes, Slush(5, 3), rounds=5, record=True)
    deliberate(votes, Slush(5, 3), rounds=5, schedule="lockstep")
    sweep(0.6, Slush(5, 3), n=12, repeats=5, rounds=5)
    next(islice(SlushChain(302, 4, 3).by_round(150), 1, None))
    assert LocalSlushChain([3, 3, 4, 4, 4], 5).accuracy([0.6] * 5) > 0


if __name__ == "__main__":
    main()
