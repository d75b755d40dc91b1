"""A node that makes better models of pools: which it keeps, and when its estimator is fitted to them.

A pool is a motion whose header says ``improve``. If ``[improve]`` of this node takes its asker, the inputs
are kept in a file while the motion is played. When it is over, the estimator is fitted to the node's own
rows and to the inputs that were decided, by whoever ``refit`` is, one pool at a time and never in the node's
own thread. What comes of it is a candidate and its report: nothing here changes who votes.

A motion makes one candidate at the most. The pool's file is there until the candidate is: whatever happens
between, the next start goes on from there, three times at the most.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from folkmoot.arrays import Colours
from folkmoot.network.service.access import DAY
from folkmoot.network.service.improve.candidates import Candidates, Report
from folkmoot.network.service.improve.pools import MOST_BYTES, Pool, Pools, pool_bytes
from folkmoot.network.service.improve.settings import Improve
from folkmoot.network.storage.account import outcome_in
from folkmoot.network.storage.adoptions import Adoptions
from folkmoot.network.storage.database import DamagedError
from folkmoot.network.storage.storage import Held, Storage, StoredMotion
from folkmoot.network.wire.motion import Motion
from folkmoot.network.wire.schema import Schema
from folkmoot.network.wire.verdict import first_votes, last_votes

PAUSE: Final = 2.0  # seconds after the end of a motion: closes and evidence that come late count, too
MOST_WAITING: Final = 4  # pools that are kept at a time
TRIES: Final = 3  # of one pool, if the node is stopped meanwhile


class Job(msgspec.Struct, frozen=True):
    """All that a refit needs, so that it can be done by another process."""

    motion: str
    header: bytes
    asker: str
    agreed: list[int]  # the colour that was decided of each input; -1: none
    place: int  # the node's own, among those of the motion
    first: bytes  # (participant, input), a byte each: what everybody voted at first; -1: nothing
    last: bytes  # the same at the end of the talk
    pool: str
    rows: str
    target: str
    estimator: str
    most_seconds: int
    most_megabytes: int
    out: str  # the folder that the candidate is made in
    schema: Schema  # of the node's model
    columns: int | None
    model: str  # that votes now: a file, or a function
    allow: Sequence[str]
    trust_pickle: bool
    unseen: str  # of the adopted model that votes now: the file of the one that has not seen own rows
    holdout: str


Refit: TypeAlias = Callable[[Job], Report]
Work: TypeAlias = Callable[[Callable[[], Any], Callable[[Any], None]], Callable[[], None]]


@dataclass(frozen=True)
class Now:
    """The model that votes now, as a refit must know it."""

    schema: Schema
    columns: int | None
    model: str
    allow: Sequence[str] = ()
    trust_pickle: bool = False
    unseen: str = ""
    holdout: str = ""


@dataclass(frozen=True)
class World:
    """What it needs of the node it belongs to."""

    own: str  # its name
    clock: Callable[[], float]
    later: Callable[[float, Callable[[], None]], Any]  # after so many seconds, call
    work: Work  # runs a job elsewhere, and hands its result over in the node's own thread
    log: Callable[..., None]
    now: Callable[[], Now]


class Improving:
    """The pools of one node, from the first chunk to the candidate."""

    def __init__(self, settings: Improve, folder: Path, storage: Storage, refit: Refit, world: World) -> None:
        self._settings, self._storage, self._refit, self._world = settings, storage, refit, world
        self._log, self._adoptions = world.log, Adoptions(storage)
        self.candidates = Candidates(folder)
        self._pools = Pools(self.candidates.folder)
        self.counts: Counter[str] = Counter()  # those of the node, once it is there
        self._waiting: deque[bytes] = deque()
        self._busy = False

    # ---- while a motion is played ------------------------------------------------------------

    def pool(self, name: bytes, motion: Motion, asker: str, *, again: bool = False) -> Pool | None:
        """Where the inputs of a motion are kept; None if they are not. ``again``: it was begun before."""
        if not motion.improve or not self._settings.takes(asker, self._world.own):
            return None
        if again or self._pools.has(name):  # what was not kept from the start is not kept now
            return Pool(self._pools.path(name), motion) if self._pools.has(name) else None
        why = self._objection(name, motion)
        if why is None:
            try:
                self._pools.begin(name)
            except OSError as error:  # no reason not to vote
                why = f"it cannot be written: {error}"
        if why is not None:
            self.counts["refused_pool"] += 1
            self._log("warning", "pool not kept", motion=name.hex(), asker=asker, why=why)
            return None
        return Pool(self._pools.path(name), motion)

    def _objection(self, name: bytes, motion: Motion) -> str | None:
        most, waiting = self._settings, len(self._pools.names())
        if self.candidates.has(name.hex()):
            return "there is a candidate of this motion already"
        if motion.inputs > most.most_rows:
            return f"a pool may hold {most.most_rows:,} inputs at the most: got {motion.inputs:,}"
        if pool_bytes(motion) > MOST_BYTES:
            return f"a pool may have {MOST_BYTES:,} bytes at the most: got {pool_bytes(motion):,}"
        if waiting >= MOST_WAITING:
            return f"{waiting} pools are kept already"
        since = self._world.clock() - DAY
        today = waiting + sum(report.made > since for report in self.candidates.reports())
        if today >= most.pools_a_day:
            return f"{today} pools were taken in the last 24 hours"
        return None

    # ---- when it is over ---------------------------------------------------------------------

    def over(self, name: bytes) -> None:
        """A motion is over: a model is fitted to its pool, if there is one."""
        if self._pools.has(name):
            self._world.later(PAUSE, lambda: self._queue(name))

    def resume(self) -> None:
        """Go on with the pools that were left when the node last stopped; those of open motions stay."""
        for name in self._pools.names():
            if self.candidates.has(name.hex()):  # stopped between the candidate and its entry in the log
                self._taken_in(self.candidates.report(name.hex()))
            elif name not in set(self._storage.names("open")):
                self._queue(name)

    def _queue(self, name: bytes) -> None:
        if name not in self._waiting:
            self._waiting.append(name)
        self._next()

    def _next(self) -> None:
        if self._busy or not self._waiting:
            return
        name = self._waiting.popleft()
        try:
            gone = not self._pools.has(name) or self.candidates.has(name.hex())
            stored, held = self._storage.motion(name), self._storage.held(name)
        except DamagedError:  # or forgotten: nobody knows any more what was decided
            gone = True
        if gone:
            self._pools.discard(name)
            self._next()
            return
        self._busy, now = True, self._world.now()
        tries, made = self._pools.tried(name), self._world.clock()

        def job() -> Report:
            report = msgspec.structs.replace(self._report(stored, held, now, tries), made=made)
            try:
                self.candidates.install(report)
            except OSError as error:  # there is no candidate, and the log says why
                return msgspec.structs.replace(report, why=f"it cannot be written: {error}", digests={})
            return report

        self._log("info", "refit begins", motion=name.hex(), asker=stored.names[stored.motion.asker])
        self._world.work(job, self._done)

    def _report(self, stored: StoredMotion, held: Held, now: Now, tries: int) -> Report:
        """In another thread: have the model fitted; whatever goes wrong, there is a report."""
        motion, asker = stored.motion, stored.names[stored.motion.asker]
        empty = Report(stored.name.hex(), asker, 0.0, motion.inputs)
        if tries > TRIES:
            return msgspec.structs.replace(empty, why=f"the node was stopped in {TRIES} refits of this pool")
        agreed = outcome_in(stored, held).decisions
        place, first, last = _said(stored, held)
        settings, out = self._settings, self.candidates.making(stored.name.hex())
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in out.iterdir():  # of a try that was cut short
            path.unlink()
        job = Job(
            stored.name.hex(), stored.header, asker, agreed.tolist(), place, first.tobytes(), last.tobytes(),
            str(self._pools.path(stored.name)), str(settings.rows), settings.target, settings.estimator,
            settings.most_seconds, settings.most_megabytes, str(out), now.schema, now.columns, now.model,
            now.allow, now.trust_pickle, now.unseen, now.holdout,
        )  # fmt: skip
        try:
            return self._refit(job)
        except (ValueError, OSError) as error:
            decided = int((agreed >= 0).sum())
            return msgspec.structs.replace(empty, decided=decided, why=" ".join(str(error).split())[:1000])

    def _done(self, report: Report) -> None:
        self._busy = False
        self._taken_in(report)
        self._next()

    def _taken_in(self, report: Report) -> None:
        name = bytes.fromhex(report.motion)
        digest = report.digests.get("model.skops", "")
        self._adoptions.note_candidate(name, report.asker, digest, report.why, self._world.clock())
        self._pools.discard(name)
        self.candidates.clear(report.motion)
        self.candidates.prune({each.model for each in self._adoptions.pile()})
        self.counts["candidates" if report.adoptable else "candidates_refused"] += 1
        if report.adoptable:
            self._log(
                "info", "candidate made", motion=report.motion, asker=report.asker, before=report.before,
                after=report.after, rows=report.rows,
            )  # fmt: skip
        else:
            self._log("info", "candidate refused", motion=report.motion, asker=report.asker, why=report.why)


def _said(stored: StoredMotion, held: Held) -> tuple[int, Colours, Colours]:
    """The node's own place, and (participant, input) what everybody said at first and at last, else -1.

    Votes that nobody had committed to in time may have been made of others', and those of proven cheats count
    for nothing.
    """
    motion, n = stored.motion, len(stored.members)
    cheats = {place for place, _ in held.evidence}
    closes = {place: close for place, close in held.closes.items() if place not in cheats}
    if held.voted is None:  # then no input has an answer of its own, and none is used
        nothing = first_votes(motion, n, {}, ())
        return 0, nothing, nothing
    first = first_votes(motion, n, closes, held.committed)
    own = held.voted.commit.node
    first[own] = motion.form.unpack_first(held.voted.first)
    return own, first, last_votes(motion, n, closes)
