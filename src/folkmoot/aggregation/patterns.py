"""Inputs on which the same participants spoke, taken together: a rule combines the answers that there are."""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Bools, Ints


def patterns(said: Bools) -> list[tuple[Ints, Ints]]:
    """The speakers and their inputs, for each different set of participants that spoke at all."""
    if said.all():
        return [(np.arange(len(said)), np.arange(said.shape[1]))]
    columns, which = np.unique(said, axis=1, return_inverse=True)
    found = [(np.flatnonzero(columns[:, i]), np.flatnonzero(which == i)) for i in range(columns.shape[1])]
    return [(who, where) for who, where in found if who.size]
