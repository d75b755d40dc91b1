"""Arrays that come of a hostile file: those of numpy's plain types, or a ValueError."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from folkmoot.sandbox.messages import Numbers


@pytest.mark.parametrize("dtype", [*map("".join, product("<>|=", "biufcOSU", "01248"))])
def test_a_type_is_a_plain_one_of_numpy_or_refused(dtype: str) -> None:
    try:
        known = np.dtype(dtype)
    except TypeError:
        known = None
    if known is None or known.kind not in "biuf" or dtype[0] == "=" or dtype.endswith("0"):
        with pytest.raises(ValueError, match="an array that is none"):
            _ = Numbers(dtype, (0,), b"").array
    else:
        assert Numbers(dtype, (2,), bytes(2 * known.itemsize)).array.dtype == known
