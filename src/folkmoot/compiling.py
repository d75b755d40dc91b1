"""``compiled``: functions that numba compiles, kept in the cache folder of the user.

Numba would keep them beside the source, which may be read-only, and it looks at the file of a function alone,
not at those of what it calls: after an edit it would go on with old code. So they are kept by version of
folkmoot, numba and Python and by the content of all that is compiled. The files are code, run when they are
loaded: a folder that others can write into is not used.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba

import folkmoot

# What is compiled, and what that calls.
SOURCES: Final = ("protocols", "simulation", "theory", "trust/conduct.py")


Function = TypeVar("Function", bound=Callable[..., Any])
_CONFIG: Final[Any] = numba.config  # has what the environment said when numba was imported


class CompilingWarning(UserWarning):
    """Compiled functions cannot be kept: every process compiles them again."""


def compiled(**options: Any) -> Callable[[Function], Function]:
    """``numba.njit`` with a cache, where there can be one."""
    folder = cache_folder()

    def make(function: Function) -> Function:
        if folder is None:
            return cast(Function, numba.njit(**options)(function))
        with _kept_in(folder):
            return cast(Function, numba.njit(cache=True, **options)(function))

    return make


def user_cache() -> Path:
    """The folder for caches of this user: where this system has them."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    told = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return told if told.is_absolute() else Path.home() / ".cache"


def kernel_folder() -> Path:
    """Where compiled functions of this version belong; ``NUMBA_CACHE_DIR`` goes before the user's cache."""
    told = _CONFIG.CACHE_DIR
    above = Path(told) if told else user_cache() / "folkmoot" / "kernels"
    python = ".".join(map(str, sys.version_info[:3]))
    return above / f"{folkmoot.__version__}-{_content()}-numba-{numba.__version__}-python-{python}"


@cache
def cache_folder() -> Path | None:
    """That folder, made for this user alone; None, after one warning, where it cannot be made or written."""
    try:
        folder = kernel_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
        if sys.platform != "win32" and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
            raise PermissionError(errno.EPERM, "others can write into it", str(folder))
        tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError) as error:  # the latter from Path.home(), where a user has none
        why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        warnings.warn(
            f"compiled code is not kept ({why}): every run compiles it again, half a minute at most; set "
            "NUMBA_CACHE_DIR to a folder of your own",
            CompilingWarning,
            stacklevel=2,
        )
        return None
    return folder


@contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    """Numba asks for the folder when a function is decorated; other users of numba keep theirs."""
    before = _CONFIG.CACHE_DIR
    _CONFIG.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        _CONFIG.CACHE_DIR = before


@cache
def _content(package: Path = Path(folkmoot.__file__).parent) -> str:
    told = hashlib.sha256()
    for name in SOURCES:
        path = package / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            told.update(f"{file.relative_to(package).as_posix()}\n".encode())
            told.update(file.read_bytes())
    return told.hexdigest()[:12]
