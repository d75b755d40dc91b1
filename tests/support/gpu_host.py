"""``deliberation.cu`` compiled for this machine: lanes one after the other, as many as one likes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array
from folkmoot.simulation.kernels.gpu.cuda import SOURCE
from folkmoot.simulation.kernels.gpu.runner import Form, Step


@cache
def compiler() -> str | None:
    """A C++ compiler, if there is one."""
    return shutil.which("g++") or shutil.which("clang++")


def build(folder: Path, chunk: int) -> ctypes.CDLL:
    """The source as a library, with so many turns in a chunk."""
    program = compiler()
    assert program is not None
    path = folder / f"talk-{chunk}.so"
    options = ["-O1", "-shared", "-fPIC", "-std=c++14", f"-DCHUNK={chunk}", "-DTOGETHER=1"]
    subprocess.run([program, "-x", "c++", *options, str(SOURCE), "-o", str(path)], check=True)
    return ctypes.CDLL(str(path))


class Host:
    """A runner with so many lanes, each of which plays so many chunks in a launch at the most."""

    def __init__(self, library: ctypes.CDLL, lanes: int, chunks: int, free: int = 1 << 30) -> None:
        self.library, self.lanes, self.chunks, self.room = library, lanes, chunks, free
        self.launches = 0

    def launch(self, form: Form, jobs: int) -> _Launch:
        name = f"table_{form.bits}_{int(form.lockstep)}_{int(form.wins > 0)}"
        if form.walk == "flip":
            name = "flip_local" if form.local else "flip_global"
        return _Launch(self, name, min(self.lanes, jobs))

    def step(self, name: Step, count: int, arguments: Sequence[Any]) -> None:  # noqa: ARG002
        self.call(name, arguments)

    def array(self, values: Array) -> Array:
        return np.array(values, order="C")

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """Filled with what is no sensible value, so that nothing is right by chance."""
        return np.full(shape, 0x6B, dtype=dtype)

    def back(self, array: Array) -> Array:
        return array.copy()

    def any_busy(self, jobs: Array) -> bool:
        return bool((jobs >= 0).any())

    def free(self) -> int:
        return self.room

    def call(self, name: str, arguments: Sequence[Any]) -> None:
        passed = [
            ctypes.c_void_p(None if each is None else each.ctypes.data)
            if not isinstance(each, int)
            else ctypes.c_longlong(each)
            for each in arguments
        ]
        getattr(self.library, name)(*passed)


class _Launch:
    def __init__(self, host: Host, name: str, lanes: int) -> None:
        self.host, self.name, self.lanes = host, name, lanes

    def __call__(self, arguments: Sequence[Any]) -> float:
        self.host.launches += 1
        arguments = list(arguments)
        arguments[3] = min(arguments[3], self.host.chunks)
        self.host.call(self.name, arguments)
        return 0.1
