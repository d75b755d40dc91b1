"""Files that outlive a crash: what is written is on the disk, with its name, before a function returns."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def replace_file(path: Path, data: bytes, *, new_mode: int = 0o644) -> None:
    """Write beside the file, then put it in its place in one step; modes and links stay as they are."""
    place = path.resolve()
    mode = place.stat().st_mode & 0o777 if place.exists() else new_mode
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Make sure that the names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)  # names are on the disk only after this
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
