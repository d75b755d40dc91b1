"""What to type when a package of an extra is not installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from folkmoot.extras import to_install


@contextmanager
def needed(extra: Literal["chain", "chain-local"]) -> Iterator[None]:
    """Imports inside; ModuleNotFoundError with the line to type if one is missing.

    These packages let everybody recurse a hundred times as deep as Python would, which overflows the stack
    where others rely on the limit. Nothing here nests deeply, so the limit is put back.
    """
    limit = sys.getrecursionlimit()
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"folkmoot chain needs {error.name}, which is not installed: {to_install(extra)}",
            name=error.name,
        ) from None
    finally:
        sys.setrecursionlimit(limit)
