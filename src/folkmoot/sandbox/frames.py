"""Frames over a pipe: eight bytes of length, then so many bytes; the length is looked at before the rest.

A worker reads and writes without haste. Its parent waits no longer than it wants an answer, and takes no more
than it can hold. The other end may be hostile.
"""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Callable
from typing import Final

_LENGTH: Final = struct.Struct("<Q")
_PART: Final = 1 << 20
_LOOK: Final = 0.25  # seconds after which it is asked again whether the answer is still wanted


class TooSlowError(Exception):
    """The other end did not answer in time, or its answer is not wanted any more."""


def read(file: int) -> bytes:
    """The next frame; EOFError when there is none."""
    (size,) = _LENGTH.unpack(_read_exactly(file, _LENGTH.size))
    return _read_exactly(file, size)


def write(file: int, frame: bytes) -> None:
    """Send a frame."""
    for part in (_LENGTH.pack(len(frame)), frame):
        view = memoryview(part)
        while view:
            view = view[os.write(file, view) :]


def _read_exactly(file: int, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        part = os.read(file, min(_PART, size - len(found)))
        if not part:
            raise EOFError
        found += part
    return bytes(found)


def exchange(
    to: int, back: int, frame: bytes | None, *, most: int, seconds: float, wanted: Callable[[], bool]
) -> bytes:
    """Send a frame, if any, and wait for the answer; both pipes must not block.

    TooSlowError when time is over or the answer is no longer wanted. EOFError when the other end is gone,
    ValueError when its answer is longer than ``most`` bytes.
    """
    end = time.monotonic() + seconds
    out, found = memoryview(b"" if frame is None else _LENGTH.pack(len(frame)) + frame), bytearray()
    size, poll = _LENGTH.size, select.poll()
    poll.register(back, select.POLLIN)
    if out:
        poll.register(to, select.POLLOUT)
    while len(found) < size:
        wait = min(_LOOK, end - time.monotonic())
        if wait <= 0 or not wanted():
            raise TooSlowError
        ready = dict(poll.poll(1000 * wait))
        if to in ready:
            out = out[_written(to, out) :]
            if not out:
                poll.unregister(to)
        if back in ready:
            part = os.read(back, min(_PART, size - len(found)))
            if not part:
                raise EOFError
            found += part
        if len(found) == size == _LENGTH.size:
            (length,) = _LENGTH.unpack(found)
            if length > most:
                raise ValueError(f"its answer has {length:,} bytes, and {most:,} is the most")
            size += length
    return bytes(found[_LENGTH.size :])


def _written(file: int, data: memoryview) -> int:
    try:
        return os.write(file, data[:_PART])
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        raise EOFError from None
