"""A port that stays ours while nobody listens on it yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from folkmoot.local.held_ports import HeldPorts


@contextmanager
def held_port() -> Iterator[int]:
    """One port, for a block."""
    ports = HeldPorts(1)
    try:
        yield ports.numbers[0]
    finally:
        ports.close()
