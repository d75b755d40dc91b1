"""Other kinds of floating point than that of this process: the last bits of ``exp``, ``log`` and products.

Processors differ in them: numpy and OpenBLAS choose code by what the processor can do. ``WITHOUT`` is the
environment of a process that computes as if it could do next to nothing. ``NUDGED`` is code after which the
values of such functions are off by one unit in the last place, on any machine.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

_numpy: Any = importlib.import_module("numpy._core._multiarray_umath")
CHOSEN: Final = [name for name in _numpy.__cpu_dispatch__ if _numpy.__cpu_features__.get(name)]
WIDE: Final = any(name.startswith(("AVX512", "X86_V4")) for name in CHOSEN)  # has exp and log of its own
WITHOUT: Final = {
    "NPY_DISABLE_CPU_FEATURES": " ".join(CHOSEN),
    "OPENBLAS_CORETYPE": {"x86_64": "Prescott", "aarch64": "ARMV8"}.get(platform.machine(), ""),
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-AVX512F",  # of the mathematical library
}
COMPILED_WITHOUT: Final = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
NUDGED: Final = "from support.kinds_of_floats import nudge; nudge()"
_NUDGE: Final = 1 + 2.0**-52
_FUNCTIONS: Final = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logaddexp", "power", "tanh")


class _Nudged:
    """A function of numpy whose values are one unit in the last place too large."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, **options: Any) -> Any:
        return _nudged(self._function(*args, **options), options.get("out"))

    def reduce(self, *args: Any, **options: Any) -> Any:
        return _nudged(self._function.reduce(*args, **options), options.get("out"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def _nudged(value: Any, out: Any) -> Any:
    if np.asarray(value).dtype != np.float64:
        return value
    return value * _NUDGE if out is None else np.multiply(value, _NUDGE, out=value)


def nudge() -> None:
    """From now on ``numpy.exp``, ``math.log`` and their like are off in the last place."""
    import math

    import numba

    numba.njit(lambda x: x + 1)(1)  # it looks these functions up once, before they are replaced
    for name in _FUNCTIONS:
        if hasattr(np, name):
            setattr(np, name, _Nudged(getattr(np, name)))
    for name in ("exp", "expm1", "log", "log2", "log10", "log1p", "pow", "lgamma"):
        of = getattr(math, name)
        setattr(math, name, lambda *args, of=of: of(*args) * _NUDGE)


def computed(what: str, *, first: str = "", environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The JSON that code prints in a process of its own, after other code, in another environment."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    here = os.environ | {"PYTHONPATH": path} | dict(environment or {})
    told = subprocess.run(
        [sys.executable, "-c", f"{first}\n{what}"],
        env=here,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    found: dict[str, str] = json.loads(told.stdout.splitlines()[-1])
    return found
