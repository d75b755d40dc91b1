"""Times as people type them, alike in prompt, Python and HTTP: "90s", "5m", "500ms"; a number is seconds."""

from __future__ import annotations

import math
import re
from typing import Final

UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "": 1.0}
PATTERN: Final = r"^\s*\d{1,12}(\.\d{1,12})?\s*(ms|s|m|h|d|)\s*$"
_FORM: Final = re.compile(r"\s*(\d{1,12}(?:\.\d{1,12})?)\s*(ms|s|m|h|d|)\s*", re.ASCII)


def seconds_of(value: object, name: str) -> float:
    """Seconds; ValueError with ``name`` and the value if it is no time.

    Examples
    --------
    >>> from folkmoot.node.durations import seconds_of
    >>> seconds_of("5m", "seconds"), seconds_of(2, "seconds")
    (300.0, 2.0)
    >>> seconds_of("soon", "seconds")
    Traceback (most recent call last):
        ...
    ValueError: seconds must be a time such as 30s, 5m or 500ms, or a number of seconds: got 'soon'
    """
    match = _FORM.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        return float(match[1]) * UNITS[match[2]]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf:
        return float(value)
    raise ValueError(
        f"{name} must be a time such as 30s, 5m or 500ms, or a number of seconds: got {value!r:.60}"
    )
