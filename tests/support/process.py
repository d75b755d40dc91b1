"""``folkmoot`` in processes of its own, for what nothing less can show."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

# A thread that looks at the others and makes a file once one of them works where it should.
_WATCHED = """
import sys, threading, time

def watch(inside, sign):
    seen, me = 0, threading.get_ident()
    while seen < 3:
        time.sleep(0.05)
        innermost = [frame.f_code.co_filename for who, frame in sys._current_frames().items() if who != me]
        seen = seen + 1 if any(inside in file for file in innermost) else 0
    open(sign, "w").close()

threading.Thread(target=watch, args=(sys.argv.pop(1), sys.argv.pop(1)), daemon=True).start()
"""
_COMMAND = "from folkmoot.cli.main import main\nmain()\n"


def run_process(
    *arguments: object,
    env: Mapping[str, str] | None = None,
    seconds: float = 600,
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


def assert_control_c_says_interrupted(
    *arguments: object, inside: str, more: Sequence[str] = (), then: Callable[[], object] = lambda: None
) -> None:
    """Interrupted while it works in a file of that name, it leaves with 130, and says so in one line."""
    said = "".join(["folkmoot: interrupted", *(f": {what}" for what in more)])
    assert interrupted(_COMMAND, *arguments, inside=inside, then=then) == (130, "", f"{said}\n")


def interrupted(
    code: str,
    *arguments: object,
    inside: str,
    seconds: float = 300.0,
    then: Callable[[], object] = lambda: None,
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of code that Ctrl-C hits while it works in a file of that name.

    ``then`` is called after Ctrl-C, to let go what the code waits for.

    It does when the innermost Python frame of a thread is there, several times in a row: then imports and
    compilation are over, and a compiled kernel that it calls, which has no frame, is under way.
    """
    with tempfile.TemporaryDirectory() as folder:
        sign, end = Path(folder) / "works", time.monotonic() + seconds
        with _started(["-c", _WATCHED + code, inside, str(sign), *map(str, arguments)]) as process:
            try:
                while not sign.exists():
                    assert process.poll() is None, f"it ended by itself: {process.communicate()}"
                    assert time.monotonic() < end, f"it was never seen to work in {inside}"
                    time.sleep(0.05)
                process.send_signal(signal.SIGINT)
                then()
                out, err = process.communicate(timeout=120)
            finally:
                process.kill()  # does nothing if it has ended
        return process.returncode, out, err


def _started(command: list[str], new_session: bool = False) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=new_session,
    )
