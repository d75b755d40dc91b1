"""The ``folkmoot`` command as users run it: a real process each time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any


def run(
    *arguments: object, env: dict[str, str] | None = None, seconds: float = 120, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """``folkmoot`` with these arguments."""
    return subprocess.run(
        [sys.executable, "-m", "folkmoot", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=seconds,
        input=stdin,
        env=os.environ | (env or {}),
    )


def run_json(*arguments: object) -> Any:
    """What it prints with ``--json``."""
    result = run(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def assert_refused(message: str, *arguments: object) -> None:
    """One line that says so, exit code 2, and nothing on stdout."""
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("folkmoot: ")
    assert message in line


def assert_control_c_is_quiet(*arguments: object, after: float) -> None:
    """Interrupted while it works, it leaves with 130 and without a word."""
    command = [sys.executable, "-m", "folkmoot", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(after)
        assert process.poll() is None, "it had ended already"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (130, "", "")
