"""``folkmoot`` in processes of its own, for what nothing less can show."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

# Where a signal makes Python write what each thread is doing: a test can tell when the work is under way.
_WATCHED = """
import faulthandler, signal, sys
stacks = open(sys.argv.pop(1), "w")
faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)
stacks.write("ready\\n")
stacks.flush()
"""
_COMMAND = "from folkmoot.cli.main import main\nmain()\n"


def run_process(
    *arguments: object,
    env: Mapping[str, str] | None = None,
    seconds: float = 120,
    stdin: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """``python -m folkmoot`` with these arguments."""
    return subprocess.run(
        [sys.executable, "-m", "folkmoot", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=seconds,
        input=stdin,
        env=os.environ | dict(env or {}),
    )


def start(*arguments: object, new_session: bool = False) -> subprocess.Popen[str]:
    """The same, not waited for; in a new session, it and its children can be told from other processes."""
    return _started(["-m", "folkmoot", *map(str, arguments)], new_session)


def assert_control_c_is_quiet(*arguments: object, inside: str) -> None:
    """Interrupted while it works in a file of that name, it leaves with 130 and without a word."""
    assert interrupted(_COMMAND, *arguments, inside=inside) == (130, "", "")


def interrupted(code: str, *arguments: object, inside: str, seconds: float = 60.0) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of code that Ctrl-C hits while it works in a file of that name.

    It does when the innermost Python frame of a thread is there, several times in a row: then imports and
    compilation are over, and a compiled kernel that it calls, which has no frame, is under way.
    """
    with tempfile.TemporaryDirectory() as folder:
        stacks = Path(folder) / "stacks"
        with _started(["-c", _WATCHED + code, str(stacks), *map(str, arguments)]) as process:
            try:
                _wait(process, lambda: stacks.exists() and stacks.stat().st_size > 0, "it starts", seconds)
                _wait(process, lambda: _works(process, stacks, inside), f"it works in {inside}", seconds)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=30)
            finally:
                process.kill()  # does nothing if it has ended
        return process.returncode, out, err


def _works(process: subprocess.Popen[str], stacks: Path, inside: str) -> bool:
    for _ in range(3):
        before = stacks.stat().st_size
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.05)
        innermost = re.findall(r'most recent call first\):\n  File "([^"]+)"', stacks.read_text()[before:])
        if not any(inside in file for file in innermost):
            return False
    return True


def _started(command: list[str], new_session: bool = False) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=new_session,
    )


def _wait(process: subprocess.Popen[str], holds: Callable[[], bool], what: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert process.poll() is None, f"it ended by itself: {process.communicate()}"
        assert time.monotonic() < end, what
        time.sleep(0.05)
