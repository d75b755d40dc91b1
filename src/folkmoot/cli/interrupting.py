"""Ctrl-C in a command that has begun something which goes on without it."""

from __future__ import annotations


class InterruptedCommandError(Exception):
    """Ctrl-C, and what becomes of what was begun; typer keeps nothing of a KeyboardInterrupt."""
