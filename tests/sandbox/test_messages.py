"""Arrays that come of a hostile file: those of numpy's plain types, or a ValueError."""

from __future__ import annotations

from itertools import product

import msgspec
import numpy as np
import pytest

from folkmoot.sandbox.messages import Failed, Numbers, decoded


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


def test_what_a_worker_says_is_told_in_one_line() -> None:
    assert str(Failed("Odd\nError", "one\ntwo\x1b[2J")) == "Odd Error: one two [2J"
    with pytest.raises(ValueError, match=r"^[^\n]*something else than an answer[^\n]*$"):
        decoded(msgspec.msgpack.encode({"type": "Lam\nP"}), Numbers | Failed)  # type: ignore[arg-type]
