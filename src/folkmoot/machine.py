"""The machine: cores, compiled functions, and optional packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["EXTRAS", "Extra", "ExtraName", "to_install"]

Function = TypeVar("Function", bound=Callable[..., Any])
_pools: tuple[int, ThreadpoolController] | None = None  # of how many modules, and what these had loaded


def cores() -> int:
    """The number of cores this process may use, at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_thread() -> AbstractContextManager[Any]:
    """BLAS and OpenMP with one thread: on small matrices several would mostly wait for each other.

    To find these libraries takes milliseconds, so they are looked for again only when more was imported.
    """
    global _pools
    from threadpoolctl import ThreadpoolController

    modules = len(sys.modules)
    if _pools is None or _pools[0] != modules:
        _pools = modules, ThreadpoolController()
    found: AbstractContextManager[Any] = _pools[1].limit(limits=1)
    return found


def _tolerant(dispatcher: Any) -> Any:
    """The compiled function, which takes what is kept of a former version for nothing.

    Numba reads which types a kept function was compiled for before it looks whether that is out of date. A
    type that has been renamed since would be an error of every call.
    """
    kept = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if kept is not None:
        load = kept._load_index

        def index() -> Any:
            try:
                return load()
            except (AttributeError, ImportError):
                return {}

        kept._load_index = index
    return dispatcher


def compiled(**options: Any) -> Callable[[Function], Function]:
    """``numba.njit`` with numba's own cache, where there is a folder for it.

    Numba keeps compiled functions beside the source, in the user's cache folder where the source is
    read-only, or in the folder that ``NUMBA_CACHE_DIR`` names. It compiles a function again when the time or
    size of the function's file changes. Files of called functions are not checked: after an edit of these,
    delete what is kept (CONTRIBUTING.md). Kept files are code, which is run when it is loaded.
    """
    import numba

    def make(function: Function) -> Function:
        try:
            return cast(Function, _tolerant(numba.njit(cache=True, **options)(function)))
        except RuntimeError:  # no folder can be written into: every process compiles it again
            return cast(Function, numba.njit(**options)(function))

    return make


ExtraName = Literal[
    "boost", "data", "embedding", "gpu", "gpu12", "onnx", "page", "plots", "ray", "torch", "uvloop"
]  # fmt: skip


@dataclass(frozen=True)
class Extra:
    """One of the ``[project.optional-dependencies]`` that users may want."""

    modules: tuple[str, ...]  # the modules that it brings, by the names under which they are imported
    purpose: str


EXTRAS: Final[dict[ExtraName, Extra]] = {
    "boost": Extra(("lightgbm", "xgboost"), "boosted trees in experiments/"),
    "data": Extra(("pooch", "pyarrow"), "downloads of datasets, and parquet files"),
    "embedding": Extra(("wordllama",), "choices among texts by meaning: choose = 'embedding'"),
    "gpu": Extra(("cupy",), "runs on a GPU, by CUDA 13: device='cuda'"),
    "gpu12": Extra(("cupy",), "the same by CUDA 12"),
    "onnx": Extra(("onnxruntime",), "nodes with a model in an .onnx file"),
    "page": Extra(("prometheus_client", "starlette", "uvicorn"), "a node's socket, page and metrics"),
    "plots": Extra(("matplotlib",), "pictures: plot(), --plot, and those of reports"),
    "ray": Extra(("ray",), "experiments/ on a Ray cluster"),
    "torch": Extra(("torch",), "convolutional networks in experiments/"),
    "uvloop": Extra(("uvloop",), "a faster event loop for nodes"),
}


def to_install(extra: ExtraName) -> str:
    """Return the line that installs an extra."""
    return f'pip install "folkmoot[{extra}]"'


def absent(error: ModuleNotFoundError) -> str:
    """One line for a package that is not installed: what to type if an extra brings it."""
    module = (error.name or "").partition(".")[0]
    for name, extra in EXTRAS.items():
        if module in extra.modules:
            return f"this needs {module}, which is not installed: {to_install(name)}"
    return str(error)
