"""A node's model fitted again to its own rows and a pool that was decided: in a process of its own.

The rule is that of ``ConsensusClassifier.improve`` with ``safe=True``, for one participant;
the labels are those that the moot decided. A process can be ended when it takes too long, and it leaves the
node's own process to its motions.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, Final

import msgspec
import numpy as np

from folkmoot.arrays import Array, Bools, Floats, Ints
from folkmoot.network.service.improve.candidates import (
    MODEL,
    SCHEMA,
    UNSEEN,
    LabelChange,
    Report,
    digests_in,
)
from folkmoot.network.service.improve.improving import Job
from folkmoot.network.service.improve.pools import Pool
from folkmoot.network.service.improve.settings import Improve, labelled_rows, own_rows, unfitted_estimator
from folkmoot.network.service.models import as_labels, load_model
from folkmoot.network.service.schema_files import schema_text
from folkmoot.network.wire.motion import Motion, read_header
from folkmoot.network.wire.schema import align
from folkmoot.skops_files import read_skops, told, write_skops
from folkmoot.trust.own_rows import Footing
from folkmoot.votes import UNCOLOURED

_LENGTH: Final = struct.Struct(">I")
_NICE: Final = 10  # motions come first
_MAPPED: Final = 4 << 30  # bytes of addresses for what is mapped and not written to: code of libraries
_MOST_ANSWER: Final = 64 << 20  # bytes of a report
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def candidate_of(job: Job) -> Report:
    """Fit the estimator again and write the candidate; ValueError, with why, if it cannot be fitted.

    Parameters
    ----------
    job : Job
        The pool, what was decided, and where rows, estimator and models are.

    Returns
    -------
    Report
        How answers to own rows change; with ``why``, and without files, if they speak against it.
    """
    from folkmoot.learning.improving import judged, refit, too_few
    from folkmoot.learning.participants import Participant, Task

    started, motion = time.monotonic(), read_header(job.header)
    agreed = np.array(job.agreed)
    X, used, otherwise = _pool(job, motion)
    labels = np.array(motion.labels)[agreed[used]]
    report = Report(
        job.motion, job.asker, 0.0, motion.inputs, int((agreed >= 0).sum()), len(labels), otherwise,
        dict(Counter(labels.tolist()).most_common()),
    )  # fmt: skip
    own = own_rows(Improve(Path(job.rows), job.estimator, job.target), job.schema, job.columns)
    report = msgspec.structs.replace(report, rows=len(own.labels))
    why = _objection(own.labels, labels, motion)
    if why is not None:
        return msgspec.structs.replace(report, why=why)
    estimator = unfitted_estimator(job.estimator, job.allow)
    y, classes = np.array(own.labels), np.array(motion.labels)
    task = Task(
        job.motion[:12], estimator, None, own.X, y, None, np.zeros(0, np.int64), int(job.motion[:8], 16)
    )
    said, unseen, compared = _before(job, task, classes)
    before: Bools = said == y
    done = refit(task, Participant(task.name, None), X, labels)
    # Labels that nobody has do not count: an asker that names many would make chance look worse than it is.
    known = len({*own.labels, *labels.tolist()})
    footing = _footing(job, motion, used, said, y)
    why, right = judged(too_few(unseen, task), done, before, known, footing)
    _, shared, gain = footing
    report = msgspec.structs.replace(
        report, before=int(before.sum()), after=None if right is None else int(right.sum()), why=why,
        compared_with=compared, gain=round(gain, 4), shared=round(shared, 4),
    )  # fmt: skip
    if right is not None and done.unseen is not None:
        after = np.asarray(done.unseen.predict(own.X))
        report = msgspec.structs.replace(report, changes=_changes(said, after, y))
    if why is None and done.unseen is not None:
        report = _written(job, report, done.participant.model, done.unseen.model, own.X)
    return msgspec.structs.replace(report, seconds=round(time.monotonic() - started, 3))


def _pool(job: Job, motion: Motion) -> tuple[Floats, Ints, int]:
    """The inputs that are fitted to, their places, and on how many its own model had said otherwise."""
    fit = align(job.schema, motion.schema, motion.columns)
    agreed, first = np.array(job.agreed), _table(job.first, motion)[job.place]
    parts: list[Floats] = [np.zeros((0, motion.columns))]
    places: list[Ints] = [np.zeros(0, np.int64)]
    for start, rows in Pool(Path(job.pool), motion).chunks():
        arranged = np.asarray(fit.arranged(rows), dtype=np.float64)
        here = np.arange(start, start + len(rows))
        wanted = (agreed[here] >= 0) & (first[here] >= 0) & ~fit.outside(arranged).any(axis=1)
        parts.append(arranged[wanted])
        places.append(here[wanted])
    used = np.concatenate(places)
    return np.concatenate(parts), used, int((agreed[used] != first[used]).sum())


def _table(data: bytes, motion: Motion) -> Ints:
    """(participant, input): what everybody said."""
    return np.frombuffer(data, dtype=np.int8).reshape(-1, motion.inputs).astype(np.int64)


def _footing(job: Job, motion: Motion, used: Ints, said: Array, truth: Array) -> Footing:
    """What the agreed labels rest on, as far as this node knows what others said.

    Labels that neither own rows nor decisions have count as no answer: an asker may name many.
    """
    from folkmoot.trust.footing import footing_of_decided

    names = np.array(motion.labels)
    agreed = np.full(motion.inputs, UNCOLOURED)
    agreed[used] = np.array(job.agreed)[used]
    known = sorted({*np.flatnonzero(np.isin(names, truth)).tolist(), *agreed[used].tolist()})
    number = np.full(len(names) + 1, UNCOLOURED)
    number[known] = np.arange(len(known))  # and the last one, which -1 leads to, stays none
    colour = {names[place]: i for i, place in enumerate(known)}
    first, last = (number[_table(each, motion)] for each in (job.first, job.last))
    answers, right = (np.array([colour.get(each, UNCOLOURED) for each in what]) for what in (said, truth))
    return footing_of_decided(first, last, number[agreed], job.place, answers, right, len(known))


def _objection(own: list[str], labels: Array, motion: Motion) -> str | None:
    strange = next((label for label in own if label not in motion.labels), None)
    if strange is not None:
        return f"its own rows have the label {strange!r:.60}, which is not among those of the motion"
    if not len(labels):
        return "no input of the pool was decided and answered by its own model"
    return None


def _before(job: Job, task: Any, classes: Array) -> tuple[Array, Floats | None, str]:
    """What is said of own rows by models that have not seen them; the chances behind it; and whose they are.

    A model that was adopted is heard through the one that was fitted to its pool alone; one that is this
    estimator, fitted, through clones that are fitted without a fold each. Any other is asked itself, and if
    it has seen the rows, it looks better than it is.
    """
    from folkmoot.learning.check_rows import own_answers
    from folkmoot.learning.participants import Participant

    there = np.ones((len(task.y), 1))  # answers there are; only clones can fail
    if job.unseen:
        model = read_skops(job.unseen, job.allow)
        said = np.array(as_labels(np.asarray(model.predict(task.X))))
        return said, there, "the adopted model, by its twin that was fitted to its pool alone"
    if not _is_fit_of(job, task.model):
        said = np.array(load_model(job.model, allow=job.allow, trust_pickle=job.trust_pickle).predict(task.X))
        return said, there, "the model that votes now, which may have seen these rows"
    unseen: Any = own_answers(task, Participant(task.name, None), np.arange(len(task.y)), classes, True)
    if unseen is None:
        return np.full(len(task.y), ""), None, "clones"
    said = np.where(unseen.any(axis=1), classes[unseen.argmax(axis=1)], "")
    return said, unseen, "clones of the model, each fitted without a fifth of the rows"


def _is_fit_of(job: Job, estimator: Any) -> bool:
    """Whether the model that votes is this estimator, fitted: of the same type and parameters."""
    if not job.model.endswith(".skops"):
        return False
    model = read_skops(job.model, job.allow)
    if type(model) is not type(estimator):
        return False
    mine, its = estimator.get_params(deep=True), model.get_params(deep=True)
    if mine.keys() != its.keys():
        return False
    for key, value in mine.items():
        other = its[key]
        if hasattr(value, "get_params") or isinstance(value, (list, tuple)):
            same = type(value) is type(other)  # what is inside has keys of its own
        else:
            same = repr(value) == repr(other) or (value is None and key.endswith("random_state"))
        if not same:
            return False
    return True


def _changes(before: Array, after: Array, y: Array) -> list[LabelChange]:
    """Which answers to own rows change to which, the most frequent first."""
    found = Counter((str(b), str(a)) for b, a in zip(before, after, strict=True) if b != a)
    return [
        LabelChange(
            old, new, times,
            int(((before == old) & (after == new) & (y == old)).sum()),
            int(((before == old) & (after == new) & (y == new)).sum()),
        )
        for (old, new), times in found.most_common()
    ]  # fmt: skip


def _written(job: Job, report: Report, model: Any, unseen: Any, X: Floats) -> Report:
    """The candidate's files, read back: what cannot be loaded as a node's model is refused."""
    out = Path(job.out)
    try:
        write_skops(out / MODEL, model)
        write_skops(out / UNSEEN, unseen)
        if job.schema:
            (out / SCHEMA).write_text(schema_text(job.schema), encoding="utf-8")
        loaded = load_model(str(out / MODEL), allow=job.allow)
        read_skops(str(out / UNSEEN), job.allow)
    except Exception as error:  # any model may be here
        what = error if isinstance(error, ValueError) else told(error)
        return msgspec.structs.replace(report, why=f"its new model cannot be kept in a file: {what}")
    if loaded.predict(X) != as_labels(np.asarray(model.predict(X))):
        return msgspec.structs.replace(report, why="its new model answers otherwise once it was in a file")
    knows = list(loaded.labels or ())
    now = load_model(job.model, allow=job.allow, trust_pickle=job.trust_pickle).labels or ()
    return msgspec.structs.replace(
        report,
        knows=knows,
        probabilities="probabilities" in loaded.kinds(),
        lost=[label for label in now if label not in knows],
        digests=digests_in(out),
        anchor=_anchor(job, unseen),
    )


def _anchor(job: Job, unseen: Any) -> list[tuple[str, str, int]]:
    """What the model that was fitted to the pool alone says of the node's holdout, if that holds rows."""
    if not job.holdout:
        return []
    try:
        held = labelled_rows(Path(job.holdout), "label", job.schema, job.columns)
    except ValueError:  # labels and answers of the old model alone
        return []
    said = as_labels(np.asarray(unseen.predict(held.X)))
    counted = Counter(zip(held.labels, said, strict=True))
    return [(truth, answer, times) for (truth, answer), times in counted.items()]


# ---- in a process of its own -------------------------------------------------------------------


def refit_apart(job: Job) -> Report:
    """Do the same in a process of its own, for as long as the job allows; ValueError if it failed.

    Parameters
    ----------
    job : Job
        The pool, what was decided, and where rows, estimator and models are.

    Returns
    -------
    Report
        What ``candidate_of`` has returned there.
    """
    paths = os.pathsep.join(path for path in sys.path if path)
    env = os.environ | dict.fromkeys(_THREADS, "1") | {"PYTHONPATH": paths}
    late = threading.Event()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "folkmoot.runs.refitting"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=env, start_new_session=True,
        )  # fmt: skip

        def end() -> None:
            late.set()
            _kill_all(process)

        timer = threading.Timer(job.most_seconds, end)
        timer.daemon = True
        timer.start()
        try:
            if process.stdin is None or process.stdout is None:
                raise ValueError("the process of the refit has no pipes")
            data = msgspec.msgpack.encode(job)
            with suppress(BrokenPipeError):  # it has ended already
                process.stdin.write(_LENGTH.pack(len(data)) + data)
                process.stdin.flush()
            # Its input stays open: if this process ends, that one sees it, and ends as well.
            said = _answer_in(process.stdout)
            code = 0 if said else process.wait()
        finally:
            timer.cancel()
            _kill_all(process)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
            process.wait()
        if late.is_set():
            raise ValueError(f"the refit took longer than most_seconds, {job.most_seconds} s")
        if not said:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - 2000))
            lines = errors.read().decode(errors="replace").split("\n")
            last = next((line for line in reversed(lines) if line.strip()), "nothing was said")
            raise ValueError(f"the process of the refit ended with exit code {code}: {last:.300}")
    answer = msgspec.msgpack.decode(said, type=Report | str)
    if isinstance(answer, str):
        raise ValueError(answer)
    return answer


def main() -> None:
    """The body of that process: a job comes in, a report goes out."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever models print is no report
    (length,) = _LENGTH.unpack(sys.stdin.buffer.read(_LENGTH.size))
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(length), type=Job)
    threading.Thread(target=_end_with, args=(sys.stdin.buffer,), daemon=True).start()
    os.nice(_NICE)
    _limit(job)
    try:
        answer: Report | str = candidate_of(job)
    except (MemoryError, ValueError, OSError) as error:
        short = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
        most = f"the refit needs more memory than most_megabytes, {job.most_megabytes:,} MB"
        answer = most if short else str(error)
    data = msgspec.msgpack.encode(answer)
    out.write(_LENGTH.pack(len(data)) + data)
    out.flush()
    os._exit(0)  # the other thread waits for input


def _answer_in(pipe: IO[bytes]) -> bytes:
    """The answer that came through a pipe; b"" if it ended before that was whole, or is no answer.

    Processes that an estimator has left behind may hold the pipe open: nobody waits for its end.
    """
    head = pipe.read(_LENGTH.size)
    length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
    data = pipe.read(length) if length <= _MOST_ANSWER else b""
    return data if len(data) == length else b""


def _limit(job: Job) -> None:
    """Take from this process what could hurt the node: memory, time, room on the disk."""
    memory, seconds = job.most_megabytes << 20, job.most_seconds + 10
    for what, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_AS, memory + _MAPPED),  # where a kernel counts no RLIMIT_DATA (gVisor)
        (resource.RLIMIT_FSIZE, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
    with suppress(OSError):  # if the machine has no memory left, this goes before the node
        Path("/proc/self/oom_score_adj").write_text("1000")


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it has started; it leads their session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _end_with(pipe: BinaryIO) -> None:
    """End this process, and those that it has started, when nobody holds the other end of a pipe."""
    pipe.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
