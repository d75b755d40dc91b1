"""The parent of a worker: starts it, asks it, bounds how long and how much, and ends it.

Between two requests the worker is stopped, so that it uses no processor while nobody asks it. One that does
not answer in time, dies, or answers with something else is ended; the next request starts another.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from folkmoot.arrays import Array
from folkmoot.sandbox import frames
from folkmoot.sandbox.confinement import Confinement
from folkmoot.sandbox.messages import Failed, Loaded, Reply, decoded, packed
from folkmoot.sandbox.readable import readable

Facts = TypeVar("Facts")

_BODY: Final = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from folkmoot.sandbox.worker import main; main(*map(int, sys.argv[2:]))"
)
_MOST_FACTS: Final = 16 << 20  # bytes of what a file says of itself
_MOST_WARNINGS, _LINE = 10, 1000  # that a file may cause when it is loaded, and characters of each
_KEPT: Final = (
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TZ",
)  # of the environment; it may hold secrets
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_STARTS, _EVERY = 4, 15.0  # starts at once, and seconds after which there may be one more


@dataclass(frozen=True)
class Limits:
    """Limits of a worker.

    ``memory`` is in bytes of address space, of which scikit-learn takes 0.5 GB.
    """

    memory: int = 4 << 30
    seconds_to_load: float = 120.0
    seconds: float = 60.0  # for one answer


class WorkerError(Exception):
    """The code in the file failed; the text comes from the file."""


class Sandboxed(Generic[Facts]):
    """A file that is loaded and asked in a process of its own."""

    def __init__(
        self,
        served: str,
        path: str | os.PathLike[str] | None,
        arguments: Sequence[object],
        facts: type[Facts],
        *,
        private: Sequence[Path] = (),
        working_folder: bool = False,
        ports: Sequence[int] = (),
        confined: bool = True,
        limits: Limits | None = None,
    ) -> None:
        """Start it.

        Parameters
        ----------
        served : str
            ``module:function``, called in the worker with the bytes of the file and the arguments; returns
            facts that msgspec can pack, and the methods that can be asked.
        path : path
            The file; kept open, so that a second start loads the same. None: there is none.
        arguments : sequence
            Anything that JSON has.
        facts : type
            Of what the function says of the file.
        private : sequence of Path
            Folders that the worker must not read.
        working_folder : bool
            Whether modules of the current folder may be imported.
        ports : sequence of int
            Of TCP that the worker may connect to, to ask a service; none: it has no network.
        confined : bool
            False: it is code of the owner, who wants a process that can be ended, and no sandbox.
        limits : Limits or None
            None is ``Limits()``.
        """
        self._facts_type, self._limits = facts, limits or Limits()
        self._order = {
            "served": served,
            "arguments": list(arguments),
            "readable": readable(private, working_folder=working_folder, network=bool(ports)),
            "ports": list(ports),
            "confined": confined,
            "memory": self._limits.memory,
            "parent": os.getpid(),
        }
        self._confined = confined
        own = [Path.cwd()] if working_folder or not confined else []
        self._path_of_modules = [*map(str, own), *(str(Path(each).resolve()) for each in sys.path if each)]
        self._lock = threading.Lock()
        self._wanted: Callable[[], bool] = lambda: True
        self._starts, self._counted = float(_STARTS), time.monotonic()
        self._file = os.open(os.devnull if path is None else path, os.O_RDONLY | os.O_CLOEXEC)
        self._closing = weakref.finalize(self, os.close, self._file)
        self._child: _Child | None = None
        self.confinement, self.facts = self._start()

    @contextmanager
    def during(self, wanted: Callable[[], bool]) -> Iterator[None]:
        """Give answers up when they are not wanted any more."""
        before, self._wanted = self._wanted, wanted
        try:
            yield
        finally:
            self._wanted = before

    def ask(
        self, method: str, *arrays: Array, reply: type[Reply], most: int, seconds: float | None = None
    ) -> Reply:
        """The answer of a method to these arrays, of so many bytes at most.

        ``seconds`` are those it has, if not as many as its limits say. WorkerError says what went wrong, in
        the file or in its process.
        """
        request = msgspec.msgpack.encode((method, [packed(each) for each in arrays]))
        with self._lock:
            if self._child is None:
                self._start()
            limit = self._limits.seconds if seconds is None else seconds
            found = self._exchanged(request, reply | Failed, most, limit)
        if isinstance(found, Failed):
            raise WorkerError(str(found))
        answer: Reply = found
        return answer

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()
            self._closing()

    # ---- the process -------------------------------------------------------------------------

    def _start(self) -> tuple[Confinement | None, Facts]:
        now = time.monotonic()
        self._starts = min(float(_STARTS), self._starts + (now - self._counted) / _EVERY)
        self._counted = now
        if self._starts < 1.0:
            wait = (1.0 - self._starts) * _EVERY
            raise WorkerError(f"its process has ended too often, and is started again in {wait:.0f} s")
        self._starts -= 1.0
        making = _spawner().submit(_Child, self._file, self._path_of_modules, confined=self._confined)
        self._child = making.result()
        seconds = self._limits.seconds_to_load
        told = self._raw(json.dumps(self._order).encode(), 4096, seconds, lambda: True)
        said = json.loads(told)
        if isinstance(said, str):
            self._end()
            raise WorkerError(f"its process could not be confined, so nothing was loaded: {said}")
        if said is None:
            confinement = None
        else:
            landlock, seccomp, memory, ports = said
            confinement = Confinement(landlock, seccomp, memory, tuple(ports))
        found: Any = self._exchanged(None, Loaded | Failed, _MOST_FACTS, seconds)
        if isinstance(found, Failed):
            self._end()
            raise ValueError(found.text) if found.kind == "ValueError" else WorkerError(str(found))
        for each in found.warnings[:_MOST_WARNINGS]:
            warnings.warn(each[:_LINE], stacklevel=5)
        try:
            return confinement, decoded(bytes(found.facts), self._facts_type)
        except ValueError as error:
            self._end()
            raise WorkerError(str(error)) from None

    def _exchanged(self, request: bytes | None, kind: Any, most: int, seconds: float) -> Any:
        wanted = self._wanted if request is not None else lambda: True
        frame = self._raw(request, most, seconds, wanted)
        try:
            return decoded(frame, kind)
        except ValueError as error:
            self._end()
            raise WorkerError(str(error)) from None

    def _raw(self, request: bytes | None, most: int, seconds: float, wanted: Callable[[], bool]) -> bytes:
        child = self._child
        if child is None:
            raise WorkerError("its process has ended")
        try:
            return child.exchange(request, most, seconds, wanted)
        except frames.TooSlowError:
            self._end()
            why = f"did not answer within {seconds:.0f} s" if wanted() else "was not done in time"
            raise WorkerError(f"its process {why}, and was ended") from None
        except EOFError:
            raise WorkerError(f"its process {self._end()}") from None
        except ValueError as error:
            self._end()
            raise WorkerError(str(error)) from None

    def _end(self) -> str:
        """End the process if it has not ended; returns how it did."""
        child, self._child = self._child, None
        return "has ended" if child is None else child.end()


class _Child:
    """A worker and its pipes."""

    def __init__(self, file: int, path: Sequence[str], *, confined: bool = True) -> None:
        theirs_in, self._to = os.pipe()
        self._back, theirs_out = os.pipe()
        given = theirs_in, theirs_out, file
        try:
            os.lseek(file, 0, os.SEEK_SET)
            self._process = subprocess.Popen(  # noqa: S603 (this interpreter, and a text of ours)
                [sys.executable, "-I", "-B", "-c", _BODY, json.dumps(path), *map(str, given)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                cwd="/" if confined else None, env=_environment() if confined else None, pass_fds=given,
                start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        for each in (self._to, self._back):
            os.set_blocking(each, False)
        self._finalizer = weakref.finalize(self, _ended, self._process, self._to, self._back)

    def exchange(self, request: bytes | None, most: int, seconds: float, wanted: Callable[[], bool]) -> bytes:
        """Wake it, ask it, and stop it when it has answered; None only waits for what it has to say."""
        self._signal(signal.SIGCONT)
        found = frames.exchange(self._to, self._back, request, most=most, seconds=seconds, wanted=wanted)
        self._signal(signal.SIGSTOP)
        return found

    def end(self) -> str:
        """Kill it; returns how it ended if it did by itself."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        code = self._process.poll()
        self._finalizer()
        if code is not None and code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return "has ended" if code is None else f"has ended with code {code}"

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)


def _ended(process: subprocess.Popen[bytes], *pipes: int) -> None:
    process.kill()
    for each in pipes:
        os.close(each)
    process.wait()


def _environment() -> dict[str, str]:
    """No more than it needs. One thread, unless the node was told otherwise, and no processes of joblib."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    threads = {name: os.environ.get(name, "1") for name in _THREADS}
    return kept | threads | {"JOBLIB_MULTIPROCESSING": "0", "PYTHONHASHSEED": "0"}


@functools.cache
def _spawner() -> ThreadPoolExecutor:
    """One thread that starts all workers: the kernel kills a worker when the thread that started it ends."""
    return ThreadPoolExecutor(1, "sandbox")
