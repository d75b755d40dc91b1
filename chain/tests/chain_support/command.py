"""``folkmoot-chain`` as it is typed, called in this process."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from typing import Any
from unittest.mock import patch

from folkmoot_chain.cli.main import INTERRUPTED, main


def run(*arguments: object) -> CompletedProcess[str]:
    """Its exit code and what it said, with nobody at a terminal."""
    typed = ["folkmoot-chain", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", typed),
        patch.object(sys, "stdin", io.StringIO()),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    if code == INTERRUPTED:  # by whoever watches the tests: it made an exit code of Ctrl-C
        raise KeyboardInterrupt
    return CompletedProcess(typed, code, out.getvalue(), err.getvalue())


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
    assert line.startswith("folkmoot-chain: ")
    assert message in line
