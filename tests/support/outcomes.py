"""Outcomes of deliberations compared to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from folkmoot import deliberate
from folkmoot.outcome import Outcome
from folkmoot.protocols.snow import SnowProtocol


def same(one: Outcome, other: Outcome) -> bool:
    """Whether all that a deliberation came to is the same, bit for bit."""
    names = ("decisions", "converged", "rounds", "queries")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def assert_bits_depend_on_the_seed_alone(protocol: SnowProtocol[Any], options: dict[str, Any]) -> None:
    """The same seed gives the same bits whatever the threads; another seed, and each repetition, others."""
    votes = np.random.default_rng(1).integers(0, 2, (15, 300))
    one = deliberate(votes, protocol, seed=9, threads=1, repeats=3, **options)
    for threads in (2, 5, None):
        assert same(one, deliberate(votes, protocol, seed=9, threads=threads, repeats=3, **options))
    other = deliberate(votes, protocol, seed=10, repeats=3, **options)
    assert not np.array_equal(one.decisions, other.decisions)
    assert not np.array_equal(one.decisions[0], one.decisions[1])
