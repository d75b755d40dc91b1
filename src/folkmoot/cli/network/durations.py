"""Times and sizes as people type them: 30s, 2m, 500ms, 1h; 500MB, 2GB."""

from __future__ import annotations

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
_SIZES = {"MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_LEAST = 10 << 20


def seconds_of(text: str, option: str) -> float:
    """Seconds; ValueError with what was typed."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|)\s*", text)
    if match is None:
        raise ValueError(f"{option} must be a time such as 30s, 2m or 500ms: got {text!r}")
    return float(match[1]) * _UNITS[match[2]]


def bytes_of(text: str, option: str) -> int:
    """Bytes, 10MB at least; ValueError with what was typed."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(MB|GB|TB)\s*", text, re.IGNORECASE)
    size = int(float(match[1]) * _SIZES[match[2].upper()]) if match else 0
    if size < _LEAST:
        raise ValueError(f"{option} must be a size of at least 10MB, such as 500MB or 2GB: got {text!r}")
    return size
