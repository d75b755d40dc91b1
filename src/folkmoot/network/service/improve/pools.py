"""Pools: inputs of others that a node keeps in a file, chunk by chunk, until its model was fitted to them.

A chunk is at its place in the file, and is checked against the motion when it is read: one that is missing or
damaged, as after a crash, is left out with its rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from folkmoot.arrays import Array
from folkmoot.network.wire.motion import Motion

MOST_BYTES: Final = 256 << 20  # of one pool
_SUFFIX: Final = ".pool"
_TRIES: Final = ".tries"
_NAME: Final = re.compile(rf"[0-9a-f]{{64}}\{_SUFFIX}")


def pool_bytes(motion: Motion) -> int:
    """How long the inputs of a motion are."""
    return motion.inputs * motion.columns * np.dtype(motion.dtype).itemsize


class Pool:
    """The inputs of one motion in a file."""

    def __init__(self, path: Path, motion: Motion) -> None:
        self._path, self._motion = path, motion
        self._step = motion.chunk_rows * motion.columns * np.dtype(motion.dtype).itemsize

    def keep(self, index: int, data: bytes) -> None:
        """Write a chunk to its place; called in the model's thread.

        One that cannot be written is missing from the pool, and no reason not to vote.
        """
        with suppress(OSError):
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.pwrite(handle, data, index * self._step)
            finally:
                os.close(handle)

    def chunks(self) -> Iterator[tuple[int, Array]]:
        """The first row and the rows of every chunk that is there."""
        motion = self._motion
        with self._path.open("rb") as file:
            for index in range(len(motion.chunks)):
                try:
                    rows = motion.read_chunk(index, os.pread(file.fileno(), self._step, index * self._step))
                except ValueError:
                    continue
                yield index * motion.chunk_rows, rows


class Pools:
    """The pools in a folder, by the names of their motions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, motion: bytes) -> Path:
        """The file of a pool."""
        return self._folder / f"{motion.hex()}{_SUFFIX}"

    def has(self, motion: bytes) -> bool:
        """Whether a pool is kept."""
        return self.path(motion).is_file()

    def begin(self, motion: bytes) -> None:
        """Make room for a pool."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self.path(motion).touch(mode=0o600)

    def names(self) -> list[bytes]:
        """The motions whose pools are kept, in the order in which they were begun."""
        found = [path for path in self._folder.glob(f"*{_SUFFIX}") if _NAME.fullmatch(path.name)]
        found.sort(key=lambda path: (path.stat().st_mtime_ns, path.name))
        return [bytes.fromhex(path.name.removesuffix(_SUFFIX)) for path in found]

    def tried(self, motion: bytes) -> int:
        """Count one more try to fit a model to a pool; returns how many there were, with this one."""
        path = self.path(motion).with_suffix(_TRIES)
        with path.open("ab") as file:
            file.write(b".")
            file.flush()
            os.fsync(file.fileno())
        return path.stat().st_size

    def discard(self, motion: bytes) -> None:
        """The pool is not needed any more."""
        path = self.path(motion)
        path.unlink(missing_ok=True)
        path.with_suffix(_TRIES).unlink(missing_ok=True)
