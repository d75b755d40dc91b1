"""What to type when a package of an extra is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from folkmoot.extras import to_install


@contextmanager
def needed(extra: Literal["chain", "chain-local"]) -> Iterator[None]:
    """Imports inside; ModuleNotFoundError with the line to type if one is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"folkmoot chain needs {error.name}, which is not installed: {to_install(extra)}",
            name=error.name,
        ) from None
