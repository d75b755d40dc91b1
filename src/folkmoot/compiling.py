"""``compiled``: functions that numba compiles and keeps.

Numba keeps them beside the source, in the user's cache folder where the source is read-only, or in the
folder that ``NUMBA_CACHE_DIR`` names. It compiles a function again when the time or size of the function's
file changes, and looks at no file of what that calls: after an edit of these, delete what is kept
(CONTRIBUTING.md). What is kept is code, which is run when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[Function], Function]:
    """``numba.njit`` with numba's own cache, where there is a folder for it."""

    def make(function: Function) -> Function:
        try:
            return cast(Function, numba.njit(cache=True, **options)(function))
        except RuntimeError:  # no folder can be written into: every process compiles it again
            return cast(Function, numba.njit(**options)(function))

    return make
