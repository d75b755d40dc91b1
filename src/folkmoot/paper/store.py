"""Finished cells on disk, one file each: written whole or not at all, so an interrupted run can go on."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Final

import msgspec

from folkmoot.paper.experiment import Cell

MISSING: Final = object()


def stamp(data: Path) -> str:
    """A name for the state of a file, or of the files in a folder: it changes when one of them does."""
    files = sorted(each for each in data.iterdir() if each.is_file()) if data.is_dir() else [data]
    state = [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in files]
    return f"data-{hashlib.blake2b(msgspec.json.encode(state), digest_size=6).hexdigest()}"


class Store:
    """A folder of cells. Half-written or foreign files are told (``complaints``) and computed again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.complaints: list[str] = []

    def load(self, cell: Cell) -> Any:
        """The stored result of a cell, or MISSING."""
        path = self._path(cell)
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return MISSING
        try:
            return msgspec.json.decode(text, type=cell.returns)
        except msgspec.DecodeError as error:
            self.complaints.append(f"{path} is damaged or cut off ({error}), so it is computed again")
            return MISSING

    def save(self, cell: Cell, result: Any) -> None:
        """Write beside, then move into place: a crash leaves the old file or the new one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(cell)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(msgspec.json.encode(result))
        part.replace(path)

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.json"
