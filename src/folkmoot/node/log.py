"""A node's log: one JSON object per line, on stderr by default, for people with grep and machines alike."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TextIO

import msgspec

from folkmoot.checks import ArgumentError
from folkmoot.files.terminal import printable

LEVELS: Final = ("debug", "info", "warning", "error")


class Journal:
    """Writes events at or above a level."""

    def __init__(self, level: str = "info", stream: TextIO | None = None) -> None:
        if level not in LEVELS:
            raise ArgumentError(
                "{log_level} must be one of {known!s}: got {log_level!r}",
                log_level=level,
                known=", ".join(LEVELS),
            )
        self._least = LEVELS.index(level)
        self._stream = stream

    def write(self, level: str, event: str, **fields: object) -> None:
        """One line: the time, the level, what happened, and its particulars."""
        if LEVELS.index(level) < self._least:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = printable(
            msgspec.json.encode({"time": now, "level": level, "event": event, **fields}).decode()
        )
        stream = self._stream or sys.stderr
        try:
            print(line, file=stream, flush=True)
        except (OSError, ValueError):  # nobody reads it any more; that must not end the node
            self._least = len(LEVELS)

    def bound(self, **always: object) -> Callable[..., None]:
        """A writer that adds the same fields to every line."""

        def write(level: str, event: str, **fields: object) -> None:
            self.write(level, event, **always, **fields)

        return write
