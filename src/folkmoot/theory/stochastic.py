"""Powers of stochastic matrices that stay stochastic."""

from __future__ import annotations

import numpy as np

from folkmoot.arrays import Floats


def stochastic_power(matrix: Floats, exponent: int) -> Floats:
    """matrix ** exponent by squaring, rows brought back to sum 1 each time.

    Otherwise a rounding error in the row of a state that is almost never left would be raised to
    the exponent too. After 1e15 steps nothing would be left of the law.
    """
    result = np.eye(len(matrix))
    while exponent:
        if exponent & 1:
            result = result @ matrix
            result /= result.sum(axis=1, keepdims=True)
        matrix = matrix @ matrix
        matrix /= matrix.sum(axis=1, keepdims=True)
        exponent >>= 1
    return result
