"""A thread for a model, or for other long work, that never keeps the process from ending."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from folkmoot.node.transports.transport import Result


class Worker:
    """Runs jobs one after the other and hands their results to the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self._loop, self._name = loop, name
        self._jobs: queue.SimpleQueue[list[tuple[Callable[[], Any], Callable[[Any], None]]] | None]
        self._jobs = queue.SimpleQueue()  # each a list of one job, or of none if it was cancelled
        self._closed = False
        self._thread: threading.Thread | None = None

    def put(self, job: Callable[[], Result], done: Callable[[Result], None]) -> Callable[[], None]:
        """Run a job and call ``done`` in the loop; returns what takes it back while it waits."""
        if self._thread is None:
            # A daemon: a model that never returns must not keep a node from stopping.
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        work: list[tuple[Callable[[], Any], Callable[[Any], None]]] = [(job, done)]
        self._jobs.put(work)
        return work.clear

    def close(self) -> None:
        """Take no more results."""
        self._closed = True
        self._jobs.put(None)

    def _run(self) -> None:
        while (work := self._jobs.get()) is not None:
            try:
                job, done = work.pop()
            except IndexError:  # cancelled
                continue
            try:
                result = job()
            except BaseException as error:  # a model may even call sys.exit: the next job is not to suffer
                context = {"message": f"the thread of {self._name} failed", "exception": error}
                self._call(self._loop.call_exception_handler, context)
            else:
                self._call(self._hand_over, done, result)

    def _call(self, function: Callable[..., object], *arguments: Any) -> None:
        if not self._closed:
            with suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(function, *arguments)

    def _hand_over(self, done: Callable[[Any], None], result: Any) -> None:
        if not self._closed:
            done(result)
