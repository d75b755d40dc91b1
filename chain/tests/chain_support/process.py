"""``folkmoot-chain`` in a process of its own, for what nothing less can show: Ctrl-C, and being killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A thread that looks at the others and makes a file once one of them works where it should. What a shell
# starts in the background ignores Ctrl-C, and so does all that it starts: here it is heard.
_WATCHED = """
import signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)

def watch(inside, sign):
    seen, me = 0, threading.get_ident()
    while seen < 3:
        time.sleep(0.05)
        innermost = [frame.f_code.co_filename for who, frame in sys._current_frames().items() if who != me]
        seen = seen + 1 if any(inside in file for file in innermost) else 0
    open(sign, "w").close()

threading.Thread(target=watch, args=(sys.argv.pop(1), sys.argv.pop(1)), daemon=True).start()
from folkmoot_chain.cli.main import main
main()
"""


def start(*arguments: object) -> subprocess.Popen[str]:
    """``python -m folkmoot_chain`` with these arguments, not waited for."""
    return _started("-m", "folkmoot_chain", *arguments)


def assert_control_c_says_interrupted(*arguments: object, inside: str) -> None:
    """Interrupted while it works in a file of that name, it leaves with 130, and says so in one line.

    It is interrupted when the innermost Python frame of a thread is there, several times in a row: then
    imports are over.
    """
    with tempfile.TemporaryDirectory() as folder:
        sign, end = Path(folder) / "works", time.monotonic() + 120
        with _started("-c", _WATCHED, inside, sign, *arguments) as process:
            try:
                while not sign.exists():
                    assert process.poll() is None, f"it ended by itself: {process.communicate()}"
                    assert time.monotonic() < end, f"it was never seen to work in {inside}"
                    time.sleep(0.05)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=30)
            finally:
                process.kill()  # does nothing if it has ended
    assert (process.returncode, out, err) == (130, "", "folkmoot-chain: interrupted\n")


def _started(*command: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
