"""Planted partitions: a truth that is known, and participants that err about it independently."""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Ints


def planted(
    participants: int, objects: int, clusters: int, error: float, seed: int, unseen: float = 0.0
) -> tuple[Ints, Ints]:
    """The partitions, each by names of its own, and the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, clusters, objects)
    rows = []
    for _ in range(participants):
        wrong = rng.random(objects) < error
        row = np.where(wrong, rng.integers(0, clusters, objects), truth)
        row = rng.permutation(clusters)[row]
        rows.append(np.where(rng.random(objects) < unseen, -1, row))
    return np.array(rows), truth
