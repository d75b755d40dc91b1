"""Cells of experiments that ``joblib.Memory`` has on disk."""

from __future__ import annotations

from pathlib import Path


def kept(folder: Path, function: str = "*") -> dict[Path, int]:
    """The files of all finished cells, or of one function's, and when each was written."""
    return {
        path: path.stat().st_mtime_ns
        for path in sorted(folder.rglob("output.pkl"))
        if path.parents[1].match(function)
    }
