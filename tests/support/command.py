"""The ``folkmoot`` command, and scripts, called in this process.

What only a process can show (Ctrl-C, closed pipes, imports, limits of the system) is in
``support/process.py``; ``tests/cli/test_process.py`` holds the two to the same output.
"""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from folkmoot.cli.main import INTERRUPTED, main
from support.in_process import called


def run(
    *arguments: object,
    env: Mapping[str, str] | None = None,
    seconds: float = 600,
    stdin: str | None = None,
) -> CompletedProcess[str]:
    """``folkmoot`` with these arguments, through its entry point: its exit code and what it said."""
    result = called(main, ["folkmoot", *map(str, arguments)], env=env, seconds=seconds, stdin=stdin)
    if result.returncode == INTERRUPTED:  # by whoever watches the tests: it made an exit code of Ctrl-C
        raise KeyboardInterrupt
    return result


def run_json(*arguments: object) -> Any:
    """What it prints with ``--json``."""
    result = run(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def assert_refused(message: str, *arguments: object) -> None:
    """One line that says so, exit code 2, and nothing on stdout."""
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("folkmoot: ")
    assert message in line


def run_script(
    script: Path, *arguments: object, cwd: Path | None = None, seconds: float = 600
) -> CompletedProcess[str]:
    """A file of Python, as ``python SCRIPT`` runs it: a namespace of its own, beside its own folder."""

    def program() -> None:
        sys.path.insert(0, str(script.parent))
        runpy.run_path(str(script), run_name="__main__")

    return called(program, [str(script), *map(str, arguments)], cwd=cwd, seconds=seconds)
