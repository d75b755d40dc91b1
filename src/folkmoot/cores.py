"""How many threads can run at once: the cores that this process may use, and one where matrices are small."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

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
