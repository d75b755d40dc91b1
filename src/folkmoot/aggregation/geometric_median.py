"""Geometric median: the point with the least sum of distances to all values.

Weiszfeld's iteration (1937) with the step of Vardi and Zhang, "The multivariate L1-median and associated
data depth" (2000). This goes on where the original divides by zero: at one of the values. Near a value it
crawls, so a step of Newton's is taken wherever that lowers the sum more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from folkmoot.aggregation.median import middle
from folkmoot.aggregation.rule import Rule, added, arranged, squared_distances
from folkmoot.arrays import Bools, Floats

# Stop where the m values pull at the point with a force of at most so much of m (at the median it is 0):
# the sum of distances is then within that share of m diameters of the least.
_PULL = 1e-10
# Values so near are met as one: a step between two of them would be no longer than they are apart.
_NEAR = 1e-11
# Random clouds of 3 to 100 values, a third of them far off or none, took at most 71 (most of them under 10).
_STEPS = 200


@dataclass(frozen=True)
class GeometricMedian(Rule):
    """The geometric median: the point with the least sum of distances to all values.

    In one dimension it is the median. In more it does not depend on the axes, but may leave the honest range.

    **No validity** in two dimensions or more: honest (-2, 0), (-1, 0), (1, 0), (2, 0) and a liar at (0, 1)
    meet above the line.

    The point is unique unless the values lie on one line and are even in number. Then it is the first of the
    values, by coordinates, with the least sum (in one dimension the median).

    Examples
    --------
    >>> from folkmoot.aggregation import GeometricMedian
    >>> GeometricMedian().combine([[0, 0], [2, 0], [1, 1], [1, -1], [9, 9]]).round(2)
    array([1.28, 0.34])
    """

    def _combine(self, block: Floats) -> Floats:
        centre = middle(block)
        if block.shape[2] == 1:
            return centre
        scale = np.abs(block - centre[:, None]).max(axis=(1, 2))
        apart = np.flatnonzero(scale > 0)  # elsewhere all values are one
        points = (arranged(block[apart]) - centre[apart, None]) / scale[apart, None, None]
        centre[apart] += _least_sum(points) * scale[apart, None]
        return centre


def _least_sum(points: Floats) -> Floats:
    """The geometric median of each row of (row, m, d), whose coordinates are within -1..1.

    From the best of the values: if a value is the median at all, it is this one and the first test ends
    there. If not, every step lowers the sum, so no value is met again.
    """
    at = _best_value(points)
    going = np.arange(len(points))
    for _ in range(_STEPS):
        cloud, here = points[going], at[going]
        inverse, met = _inverse_distances(cloud, here)
        pull = added((cloud - here[:, None]) * inverse[:, :, None])
        force = np.sqrt(added(pull**2))
        on = force > met + _PULL * points.shape[1]
        going, cloud, here, inverse, met, pull, force = (
            x[on] for x in (going, cloud, here, inverse, met, pull, force)
        )
        if not going.size:
            break
        weiszfeld = here + ((1.0 - met / force) / added(inverse))[:, None] * pull
        newton = here + _newton(cloud, here, inverse, pull)
        at[going] = np.where(_nearer(cloud, newton, weiszfeld)[:, None], newton, weiszfeld)
    return at


def _inverse_distances(cloud: Floats, at: Floats) -> tuple[Floats, Floats]:
    """One over the distance to each value, 0 for those that are met, and how many these are."""
    distance = np.sqrt(squared_distances(cloud, at))
    met = distance <= _NEAR
    return np.where(met, 0.0, 1.0 / np.where(met, 1.0, distance)), added(met)


def _newton(cloud: Floats, at: Floats, inverse: Floats, pull: Floats) -> Floats:
    """Newton's step. The curvature is the sum of (I - u u') / distance, u the direction to a value."""
    direction = (cloud - at[:, None]) * inverse[:, :, None]
    outer = direction[:, :, :, None] * direction[:, :, None, :] * inverse[:, :, None, None]
    weight = added(inverse)[:, None, None] * np.eye(cloud.shape[2])
    # On a line the curvature is singular: a trace of the identity keeps it solvable.
    return np.asarray(np.linalg.solve(weight * (1.0 + 1e-12) - added(outer), pull[:, :, None])[:, :, 0])


def _nearer(cloud: Floats, one: Floats, other: Floats) -> Bools:
    """(row,): whether ``one`` has the lower sum of distances.

    Distance by distance, |a| - |b| = (a - b)(a + b) / (|a| + |b|): far values must not swamp what is near.
    """
    both = np.sqrt(squared_distances(cloud, one)) + np.sqrt(squared_distances(cloud, other))
    middle_way = (cloud - one[:, None]) + (cloud - other[:, None])
    products = added(np.moveaxis((other - one)[:, None] * middle_way, 2, 1))
    return np.asarray(added(products / np.where(both > 0, both, 1.0)) < 0)


def _best_value(points: Floats) -> Floats:
    """The value with the least sum of distances; the first of equals."""
    sums = [added(np.sqrt(squared_distances(points, points[:, j]))) for j in range(points.shape[1])]
    return np.asarray(points[np.arange(len(points)), np.argmin(sums, axis=0)])
