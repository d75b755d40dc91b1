"""Finished cells on disk, one file each: written whole or not at all, so an interrupted run can go on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import msgspec

from folkmoot.experiments.experiment import Cell

MISSING: Final = object()


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
            self.complaints.append(f"{path} is not a whole result ({error}); computing it again")
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
