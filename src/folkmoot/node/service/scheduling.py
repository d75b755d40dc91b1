"""Turns at the node's own model: each asker has an equal share of its time.

There is one model and one thread for it, and anybody may put motions of 100,000 rows. So the model is asked
in slices, each about as long as ``SLICE`` at the pace of that asker's last ones. The next slice is of the
asker that has used the fewest seconds. An asker that had nothing to ask has saved up nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from folkmoot.node.service.interface import Meter, ModelStatus
from folkmoot.node.service.models import Model
from folkmoot.node.transports.transport import Transport

SLICE: Final = 0.075  # seconds
GROWTH: Final = 4  # times as many rows as in the slice before, at the most
MOST_ROWS: Final = 1 << 14  # of a slice
_LEAST: Final = 1e-4  # seconds that a slice counts, however quick it was


SliceAnswer = TypeVar("SliceAnswer")  # the answers to the rows of a slice, such as ``voting.ModelVotes``


@dataclass(frozen=True)
class Answered(Generic[SliceAnswer]):
    """The outcome of a question."""

    parts: list[SliceAnswer]  # what was said of the slices, in the order of the rows
    trouble: str  # how asking went wrong, if it did: then the parts after that are missing
    seconds: float  # for how long the model was asked


@dataclass(eq=False)
class Question(Generic[SliceAnswer]):
    """Something that the model is asked, such as votes on a chunk of inputs; as far as it has come."""

    motion: bytes  # the name of the motion
    asker: bytes  # the fingerprint of the member that put it, whose share of time it takes
    rows: int  # how many there are
    # ``ask(model, start, stop, wanted)`` asks about a slice of the rows, in the model's thread, and may
    # take one model for some slices and another for the rest. ``wanted()`` says whether an answer is
    # still wanted. An exception ends the question.
    ask: Callable[[Model, int, int, Callable[[], bool]], SliceAnswer]
    # Is given what came of it, in the node's thread; never called after ``Scheduler.cancel``.
    done: Callable[[Answered[SliceAnswer]], None]
    of_model: bool = True  # whether the model is asked, and this is not another long job
    chunk: int = 0  # which of the motion's inputs these are
    parts: list[SliceAnswer] = field(default_factory=list, init=False)
    asked: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False)
    live: bool = field(default=True, init=False)


@dataclass(eq=False)
class _Asker:
    """What an asker wants, and has had."""

    tasks: list[Question[Any]] = field(default_factory=list)
    used: float = 0.0  # seconds; more, if others had as many while it wanted nothing
    rows: int = 1  # of its next slice


class Scheduler:
    """Asks the node's own model, in turn for all askers.

    The transport runs one slice at a time (``work``); its ``now`` measures them, in the model's thread. The
    meter is told of every question that was answered.
    """

    def __init__(self, model: Model, transport: Transport[Any], meter: Meter | None = None) -> None:
        self._transport, self._meter = transport, meter
        self._askers: dict[bytes, _Asker] = {}
        self._running = False
        self._floor = 0.0  # seconds that the asker of the last slice had used before it
        self.swap(model)

    def swap(self, model: Model) -> None:
        """Ask another model from the next slice on; what is counted begins anew."""
        self.model = model
        self._loaded = self._transport.clock()
        self._chunks = self._failed = self._late = 0
        self._seconds = self._slowest = 0.0
        self._trouble = ""
        for asker in self._askers.values():
            asker.rows = 1

    def ask(self, question: Question[Any]) -> None:
        """Ask the model as soon as it is this asker's turn."""
        asker = self._askers.setdefault(question.asker, _Asker())
        if not asker.tasks:
            asker.used = max(asker.used, self._floor)
        asker.tasks.append(question)
        self._next()

    def work(
        self, motion: bytes, asker: bytes, job: Callable[[], Any], done: Callable[[Answered[Any]], None]
    ) -> None:
        """Run another long job of a motion in the same thread, in the same turn: ``parts`` has its result."""
        self.ask(Question(motion, asker, 1, lambda *_: job(), done, of_model=False))

    def so_far(self, motion: bytes) -> dict[int, list[Any]]:
        """Answers to questions that are not over, by chunk."""
        tasks = [task for asker in self._askers.values() for task in asker.tasks if task.motion == motion]
        return {task.chunk: task.parts for task in tasks if task.of_model}

    def cancel(self, motion: bytes) -> None:
        """Nothing more is wanted for a motion; if the model was still to be asked, it was late."""
        late = False
        for asker in self._askers.values():
            for task in [task for task in asker.tasks if task.motion == motion]:
                task.live = False
                asker.tasks.remove(task)
                late = late or task.of_model
        self._late += late

    def status(self) -> ModelStatus:
        """How the model does, since it was loaded."""
        return ModelStatus(
            self.model.spec, self._loaded, self.model.labels, self.model.confinement, self._chunks,
            self._failed, self._late, self._seconds, self._slowest, self._trouble, self.model.usage,
        )  # fmt: skip

    def _next(self) -> None:
        """Begin a slice, unless one is under way."""
        wanting = [asker for asker in self._askers.values() if asker.tasks]
        if self._running or not wanting:
            return
        asker = min(wanting, key=lambda each: each.used)
        task = min(asker.tasks, key=lambda each: each.rows - each.asked)  # its small motions before large
        self._running, self._floor = True, asker.used
        start = task.asked
        stop = task.asked = min(task.rows, start + max(asker.rows, self.model.at_once))
        model, now = self.model, self._transport.now

        def job() -> tuple[Any, str, float]:
            began = now()
            try:
                part, trouble = task.ask(model, start, stop, lambda: task.live), ""
            except BaseException as error:  # a model may even call sys.exit
                part, trouble = None, f"{type(error).__name__}: {' '.join(str(error).split())}"[:1000]
            return part, trouble, now() - began

        self._transport.work(job, lambda found: self._sliced(asker, task, stop - start, *found))

    def _sliced(
        self, asker: _Asker, task: Question[Any], rows: int, part: Any, trouble: str, seconds: float
    ) -> None:
        """A slice is over."""
        self._running = False
        asker.used += max(seconds, _LEAST)
        task.seconds += seconds
        if task.of_model and (rows >= asker.rows or seconds > SLICE):
            fit = MOST_ROWS if seconds <= 0 else int(rows * SLICE / seconds)
            asker.rows = max(1, min(fit, GROWTH * rows, MOST_ROWS))
        if not task.live:
            self._next()
            return
        if not trouble:
            task.parts.append(part)
        over = bool(trouble) or task.asked >= task.rows
        if over:
            asker.tasks.remove(task)
            if task.of_model:
                self._count(task, trouble)
        self._next()  # before the node takes in what was said
        if over:
            task.done(Answered(task.parts, trouble, task.seconds))

    def _count(self, task: Question[Any], trouble: str) -> None:
        failed = task.rows if trouble else sum(part.failed for part in task.parts)
        reason = next((part.reason for part in task.parts if part.reason), "")
        self._chunks += 1
        self._failed += bool(failed)
        self._seconds += task.seconds
        self._slowest = max(self._slowest, task.seconds)
        self._trouble = trouble or reason
        if self._meter is not None:
            self._meter.model_answered(task.rows, failed, task.seconds)
