"""What a reader is, and how it is shown damaged frames."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

INPUTS = 30


@dataclass(frozen=True)
class Reader:
    """A reader: whatever it is shown, it refuses it in words or has read something that holds together."""

    name: str
    read: Callable[[bytes], Any]
    pool: list[bytes]  # what it takes
    whole: Callable[[bytes, Any], None]  # fails if what was read does not hold together
    covers: tuple[str, ...]  # decoders and functions of folkmoot.network and folkmoot.web, by module
    refuses: tuple[type[Exception], ...] = (ValueError,)
    quick: int = 1000  # damaged ones in make test


def damaged(reader: Reader, frames: int, mutate: Callable[[random.Random, bytes, list[bytes]], bytes]) -> int:
    """Show a reader so many damaged ones; how many of them it read."""
    rng, read, silent = random.Random(f"damaged {reader.name}"), 0, 0
    for _ in range(frames):
        data = mutate(rng, rng.choice(reader.pool), reader.pool)
        try:
            found = reader.read(data)
        except reader.refuses as error:
            silent += not str(error)
            continue
        read += 1
        reader.whole(data, found)
    assert silent == 0, "refused without a word"
    return read
