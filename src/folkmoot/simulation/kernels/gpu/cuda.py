"""A GPU by CUDA: ``deliberation.cu`` compiled by NVRTC through CuPy, which is imported at the first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from folkmoot.arrays import Array
from folkmoot.machine import to_install
from folkmoot.simulation.kernels.gpu.runner import Form, Step, There

SOURCE: Final = Path(__file__).with_name("deliberation.cu")
_BLOCK_ROOM: Final = 1024  # bytes of shared memory that a block takes for itself
_LARGEST_TABLE: Final = 32 << 10  # bytes of chances that every block keeps for itself
_FEWEST_LANES: Final = 512  # of a multiprocessor, that its memory must have room for


@dataclass(frozen=True)
class Tuning:
    """The layout of lanes, measured (docs/gpu.md)."""

    block: int = 256  # lanes of a block
    blocks: int = 6  # of a multiprocessor, at most
    chunk: int = 96  # turns of two-class Slush between two looks at whether a run is over
    short_chunk: int = 24  # where runs are short: at most 32 participants, or other walks
    together: int = 12  # turns whose random words are made side by side


def why_not() -> str | None:
    """Why no GPU can be used, with the line to type; None if one can."""
    try:
        cuda()
    except (ModuleNotFoundError, RuntimeError) as error:
        return str(error)
    return None


@cache
def cuda() -> Cuda:
    """The GPU; ModuleNotFoundError without CuPy, RuntimeError without a driver or without NVRTC."""
    try:
        import cupy
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"CUDA needs CuPy, which is not installed: {to_install('gpu')} (CUDA 13) or "
            f"{to_install('gpu12')} (CUDA 12)",
            name=error.name,
        ) from None
    except ImportError as error:  # CuPy is there, what it is built on is not
        raise RuntimeError(f"CUDA's libraries are not found ({_line(error)}): {to_install('gpu')}") from None
    try:
        found = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        raise RuntimeError(
            f"CUDA finds no driver or no GPU ({_line(error)}): nvidia-smi should list one; "
            "on Debian: apt-get install nvidia-driver"
        ) from None
    if not found:
        raise RuntimeError("CUDA finds no GPU: nvidia-smi should list one; CUDA_VISIBLE_DEVICES may hide it")
    try:
        cupy.cuda.nvrtc.getVersion()
    except Exception as error:
        raise RuntimeError(
            f"CUDA's compiler NVRTC cannot be loaded ({_line(error)}): {to_install('gpu')} brings it"
        ) from None
    return Cuda(cupy)


def _line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


class Cuda:
    """A GPU, as a runner."""

    def __init__(self, cupy: Any, tuning: Tuning | None = None) -> None:
        self.cupy = cupy
        self.tuning = tuning or Tuning()
        self._compiled: dict[tuple[str, ...], Any] = {}
        properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
        self.name: str = properties["name"].decode()
        self.processors = int(properties["multiProcessorCount"])
        self.shared_memory = int(properties["sharedMemPerMultiprocessor"])
        self.shared_block = int(properties["sharedMemPerBlockOptin"])

    def launch(self, form: Form, jobs: int) -> _Launch:
        """A walk, with as many lanes as the GPU holds, or as there are jobs for."""
        table = 8 * form.chances if 8 * form.chances <= _LARGEST_TABLE else 0
        lane = 4 * form.counts
        shared, block, fits = True, self.tuning.block, 0
        for block in (self.tuning.block, 128, 64):
            fits = self._fits(table + 64 + block * (lane + 4 * form.words))
            if fits * block >= _FEWEST_LANES:
                break
        else:
            shared, block = False, self.tuning.block
            fits = self._fits(table + 64 + block * lane)
            if not fits:
                block = 64
                fits = max(1, self._fits(table + 64 + block * lane))
        blocks = min(fits, max(1, self.tuning.blocks * self.tuning.block // block))
        room = max(1, self.free() // 4 // (form.lane_bytes * block))
        grid = max(1, min(self.processors * blocks, -(-jobs // block), room))
        defines = {
            "PLAY_FLIP" if form.walk == "flip" else "PLAY_TABLE": 1,
            "KERNEL_LOCAL": int(form.local),
            "KERNEL_BITS": form.bits,
            "KERNEL_LOCKSTEP": int(form.lockstep),
            "KERNEL_WINS": int(form.wins > 0),
            "NODES_SHARED": int(shared),
            "TABLE_SHARED": int(table > 0),
            "BLOCK": block,
            "BLOCKS": blocks,
            "CHUNK": self.tuning.chunk if form.walk == "flip" and form.words > 1 else self.tuning.short_chunk,
            "TOGETHER": self.tuning.together,
        }
        function = self._function(form.walk, defines)
        size = table + 64 + block * (lane + (4 * form.words if shared else 0))
        function.max_dynamic_shared_size_bytes = size
        return _Launch(self.cupy, function, grid, block, size)

    def _fits(self, size: int) -> int:
        """Blocks with so much shared memory that a multiprocessor holds."""
        return 0 if size > self.shared_block else self.shared_memory // (size + _BLOCK_ROOM)

    def _function(self, name: str, defines: dict[str, int]) -> Any:
        options = ("-std=c++14", *(f"-D{key}={value}" for key, value in defines.items()))
        if options not in self._compiled:
            code = SOURCE.read_text(encoding="utf-8")
            self._compiled[options] = self.cupy.RawModule(code=code, options=options)
        return self._compiled[options].get_function(name)

    def step(self, name: Step, count: int, arguments: Sequence[Any]) -> None:
        """One thread each, or one for several."""
        function = self._function(name, {})
        blocks = max(1, min(-(-count // 256), 64 * self.processors))
        function((blocks,), (256,), _passed(arguments))

    def array(self, values: Array) -> There:
        """A copy in the memory of the GPU."""
        return self.cupy.asarray(np.ascontiguousarray(values))

    def empty(self, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> There:
        """Room in the memory of the GPU."""
        return self.cupy.empty(shape, dtype=dtype)

    def back(self, array: There) -> Array:
        """A copy in the memory of this machine."""
        return np.asarray(self.cupy.asnumpy(array))

    def any_busy(self, jobs: There) -> bool:
        """Whether some lane has a job in hand."""
        return bool((self.back(jobs) >= 0).any())  # CuPy would first compile it, for seconds

    def free(self) -> int:
        """Bytes that can be had: free ones, and those that CuPy keeps for us."""
        free = int(self.cupy.cuda.runtime.memGetInfo()[0])
        return free + int(self.cupy.get_default_memory_pool().free_bytes())


class _Launch:
    """A compiled walk and how many lanes play it."""

    def __init__(self, cupy: Any, function: Any, grid: int, block: int, shared: int) -> None:
        self.cupy, self.function = cupy, function
        self.grid, self.block, self.shared = grid, block, shared
        self.lanes = grid * block
        self.seconds = 0.0  # that the GPU has played, by its own clock

    def __call__(self, arguments: Sequence[Any]) -> float:
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        self.function((self.grid,), (self.block,), _passed(arguments), shared_mem=self.shared)
        end.record()
        end.synchronize()
        seconds = float(self.cupy.cuda.get_elapsed_time(start, end)) / 1000
        self.seconds += seconds
        return seconds


def _passed(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Whole numbers as 64 bits; no array is a null pointer."""
    return tuple(
        np.uint64(0) if each is None else np.int64(each) if isinstance(each, int) else each
        for each in arguments
    )
