"""How many threads can run at once: the cores that this process may use."""

from __future__ import annotations

import os


def cores() -> int:
    """The number of cores this process may use, at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
