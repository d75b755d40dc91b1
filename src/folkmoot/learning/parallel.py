"""Work shared out by joblib, with results as they come: here, in processes, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed


def shared_out(
    do: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[tuple[int, Any]]:
    """``do(*arguments[i])`` for each i, in whatever order they are done, with their number.

    Some backends (Ray's) hand over whole lists only: then all come at once.
    """
    tasks = [delayed(_numbered)(i, do, each) for i, each in enumerate(arguments)]
    workers = None if n_jobs is None else max(1, min(effective_n_jobs(n_jobs), len(tasks)))
    backend, _ = get_active_backend()
    if backend.supports_return_generator:
        yield from Parallel(n_jobs=workers, return_as="generator_unordered")(tasks)
    else:
        yield from Parallel(n_jobs=workers)(tasks)


def _numbered(i: int, do: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[int, Any]:
    return i, do(*arguments)
