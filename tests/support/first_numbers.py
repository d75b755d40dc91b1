"""First numbers of participants, and who of them lies, for tests of approximate agreement."""

from __future__ import annotations

import numpy as np

from folkmoot.adversaries import NumberAdversary
from folkmoot.arrays import Floats


def numbers(participants: int, inputs: int, outputs: int | None = None, seed: int = 0) -> Floats:
    shape = (participants, inputs) if outputs is None else (participants, inputs, outputs)
    return np.random.default_rng(seed).normal(10.0, 3.0, size=shape)


def liars(count: int, adversary: NumberAdversary) -> dict[int, NumberAdversary]:
    """Every third participant, so that they sit among the honest ones."""
    return {3 * i + 1: adversary for i in range(count)}
