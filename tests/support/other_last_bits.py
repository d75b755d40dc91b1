"""Give ``exp``, ``log``, ``power`` and their like other last bits, as another processor has them.

    PYTHONPATH=tests pytest -p support.other_last_bits tests/theory

numpy has its own kernels for processors with AVX-512. On any other processor this shows which tests depend on
the last bit: of the results that are no whole numbers, half (by a bit of each) become the next number.
Compiled kernels and BLAS are not reached.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

import conftest  # noqa: F401 (says where compiled code is kept, before numba is imported)

_UFUNCS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "float_power", "logaddexp",
    "tanh", "sin", "cos",
)  # fmt: skip
_FUNCTIONS = ("exp", "expm1", "log", "log2", "log10", "log1p", "pow", "lgamma", "gamma", "tanh", "sin", "cos")


class _Otherwise:
    """A ufunc with other last bits; whole numbers stay (exp(0), log(1)): every machine gets them right."""

    def __init__(self, ufunc: Any) -> None:
        self._ufunc = ufunc

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        result = self._ufunc(*arguments, **options)
        if getattr(result, "dtype", None) != np.float64:
            return result
        with np.errstate(all="ignore"):
            bits = np.asarray(result).view(np.int64)
            other = (bits + (bits >> 1 & 1)).view(np.float64)
            changed = np.where((result == np.rint(result)) | np.isnan(result), result, other)
        if isinstance(result, np.ndarray) and result.ndim:
            np.copyto(result, changed, where=options.get("where", True))
            return result
        return np.float64(changed)


def _otherwise(function: Callable[..., float]) -> Callable[..., float]:
    @functools.wraps(function)
    def changed(*arguments: Any) -> float:
        result = function(*arguments)
        if not math.isfinite(result) or result == round(result):
            return result
        (bits,) = struct.unpack("<q", struct.pack("<d", result))
        (other,) = struct.unpack("<d", struct.pack("<q", bits + (bits >> 1 & 1)))
        return float(other)

    return changed


def _change() -> None:
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()  # numba knows the functions by identity: it must see the true ones
    cpu_target.target_context.refresh()
    for name in _UFUNCS:
        setattr(np, name, _Otherwise(getattr(np, name)))
    for name in _FUNCTIONS:
        setattr(math, name, _otherwise(getattr(math, name)))


_change()
