"""Call a program in this process, as if it had one of its own.

``called`` gives what a process would have: exit code, stdout and stderr (also of processes that the program
starts), and Python's own filters for warnings, not pytest's. Afterwards nothing that it set is left:
arguments, environment, folder, path, streams. It saves the imports, half a second to four each time.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, TextIO

import pytest


def called(
    program: Callable[[], object],
    arguments: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    cwd: Path | None = None,
    seconds: float = 600,
) -> CompletedProcess[str]:
    """The exit code of a program and what it said."""
    assert threading.current_thread() is threading.main_thread(), "beside other threads, use a process"
    with ExitStack() as stack:
        given, out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(3))
        given.write((stdin or "").encode())
        given.seek(0)
        stack.enter_context(_limit(arguments, seconds))
        with _streams(given, out, err), _state_of_python(arguments, env, cwd), _default_warnings():
            code = _exit_code(program)
        said, complained = (_text(file) for file in (out, err))
    return CompletedProcess(arguments, code, said, complained)


def _exit_code(program: Callable[[], object]) -> int:
    """What the program does not catch ends as in an interpreter of its own."""
    try:
        program()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode()).replace("\r\n", "\n")


@contextmanager
def _streams(*files: Any) -> Iterator[None]:
    """Put files in the place of stdin, stdout and stderr, for Python and for the processes it starts."""
    kept: tuple[TextIO, TextIO, TextIO] = (sys.stdin, sys.stdout, sys.stderr)
    for stream in kept[1:]:
        stream.flush()
    handles = [os.dup(number) for number in range(3)]
    for number, file in enumerate(files):
        file.flush()
        os.dup2(file.fileno(), number)
    sys.stdin = _stream(0, "r")
    sys.stdout = _stream(1, "w")
    sys.stderr = _stream(2, "w", errors="backslashreplace", line_buffering=True)
    mine = (sys.stdin, sys.stdout, sys.stderr)
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = kept
        for stream in mine[1:]:
            stream.flush()
        for number, handle in enumerate(handles):
            os.dup2(handle, number)
            os.close(handle)


def _stream(number: int, mode: str, errors: str = "strict", line_buffering: bool = False) -> TextIO:
    """Like the stream that Python opens when it starts: not a terminal, and closing it leaves the handle."""
    raw = io.FileIO(number, mode, closefd=False)
    buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    return io.TextIOWrapper(buffer, "utf-8", errors, line_buffering=line_buffering)


@contextmanager
def _state_of_python(
    arguments: Sequence[str], env: Mapping[str, str] | None, cwd: Path | None
) -> Iterator[None]:
    """Arguments, environment and folder of the program; afterwards nothing that it set is left."""
    before, path, hook = sys.argv, list(sys.path), sys.excepthook
    variables, folder = dict(os.environ), os.getcwd()  # noqa: PTH109
    sys.argv, sys.excepthook = list(arguments), sys.__excepthook__
    os.environ.update(env or {})
    os.chdir(cwd or folder)
    try:
        yield
    finally:
        sys.argv, sys.path[:], sys.excepthook = before, path, hook
        for name in set(os.environ) - set(variables):
            del os.environ[name]
        os.environ.update(variables)
        os.chdir(folder)


@contextmanager
def _default_warnings() -> Iterator[None]:
    """Python's own filters, each warning shown once on stderr: pytest's would turn it into an error."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        (file or sys.stderr).write(warnings.formatwarning(message, category, filename, lineno, line))

    with warnings.catch_warnings():
        warnings.resetwarnings()
        for category in (ResourceWarning, ImportWarning, PendingDeprecationWarning, DeprecationWarning):
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
        warnings.showwarning = show
        yield


@contextmanager
def _limit(arguments: Sequence[str], seconds: float) -> Iterator[None]:
    """The test fails, and the program ends, once it has taken this long."""

    def fail(_number: int, _frame: object) -> None:
        pytest.fail(f"{' '.join(arguments)} took more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
