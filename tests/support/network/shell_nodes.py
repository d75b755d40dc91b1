"""``folkmoot node run`` in processes of their own, with models that are functions in a module of the test."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

MODELS = '''
import time
import numpy


def odd(X):
    """Is the first column odd? It cannot take what is missing, and is slow on nine columns."""
    if not numpy.isfinite(X).all():
        raise ValueError("Input X contains NaN.")
    if X.shape[1] == 9:
        time.sleep(0.4)
    return numpy.where(X[:, 0].astype(int) % 2, "odd", "even")


def narrow(X):
    return odd(X)


odd.labels = narrow.labels = ["even", "odd"]
narrow.columns = 2
'''


class ShellNode:
    """One ``folkmoot node run``; leaving the block ends it."""

    def __init__(
        self, folder: Path, roster: Path | None = None, *options: object, model: str = "", cwd: Path
    ) -> None:
        """Without roster and model it runs by what its ``node.toml`` says."""
        said = [] if roster is None else ["--roster", str(roster), "--model", model]
        command = [sys.executable, "-m", "folkmoot", "node", "run", str(folder)]
        self._command = [*command, *said, *map(str, options)]
        self._cwd = cwd
        self.lines: list[str] = []

    def __enter__(self) -> ShellNode:
        self.process = subprocess.Popen(
            self._command, cwd=self._cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, bufsize=0
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(30)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def wait_for(self, event: str, seconds: float = 120.0) -> dict[str, Any]:
        """The line of the log that tells of an event."""
        assert self.process.stderr is not None
        handle, end, rest = self.process.stderr.fileno(), time.monotonic() + seconds, b""
        while time.monotonic() < end:
            if not select.select([handle], [], [], 0.2)[0]:
                continue
            data = os.read(handle, 1 << 16)
            if not data:
                break
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                self.lines.append(line.decode())
                if line.startswith(b"{") and json.loads(line)["event"] == event:
                    assert not rest, "a line was cut"
                    return dict(json.loads(line))
        raise AssertionError(f"no {event!r} in the log: {self.lines}")

    def leaves(self, number: int | None = None, seconds: float = 120.0) -> tuple[int, list[str]]:
        """After a signal, or by itself: the exit code, and the lines that were not read yet."""
        if number is not None:
            self.process.send_signal(number)
        _, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, err.decode().splitlines()


def stopped_quietly(node: ShellNode, number: int = signal.SIGINT) -> None:
    """A stop that was wished for is no failure, and the last thing in the log."""
    code, lines = node.leaves(number)
    assert code == 0, lines
    assert json.loads(lines[-1])["event"] == "stopped"
