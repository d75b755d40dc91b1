"""Times as people type them: 30s, 2m, 500ms, 1h."""

from __future__ import annotations

import re

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


def seconds_of(text: str, option: str) -> float:
    """Seconds; ValueError with what was typed."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|)\s*", text)
    if match is None:
        raise ValueError(f"{option} must be a time such as 30s, 2m or 500ms: got {text!r}")
    return float(match[1]) * _UNITS[match[2]]
