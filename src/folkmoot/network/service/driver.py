"""The driver of a node's sessions: stores, sends and has predicted what they want, and wakes them in time.

What a session says is stored before it is sent. The model votes and listens in a thread of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from folkmoot.arrays import Array
from folkmoot.network.service.check_rows import Contributor
from folkmoot.network.service.drawing import answer_size
from folkmoot.network.service.interfaces import Inputs
from folkmoot.network.service.parts import Parts, Running
from folkmoot.network.service.voter import ChunkVotes
from folkmoot.network.session.judgement import Judgement, LocalThreshold, judge
from folkmoot.network.session.minutes import Ended, Memory, Save, Signed
from folkmoot.network.session.patience import Health
from folkmoot.network.session.phases import Phase
from folkmoot.network.session.reviewing import judge_by_review
from folkmoot.network.session.reviewing_numbers import judge_numbers
from folkmoot.network.session.session import Session
from folkmoot.network.storage.invitations import Invitations
from folkmoot.network.storage.records import TrackRecords
from folkmoot.network.wire import messages as m
from folkmoot.network.wire import statements
from folkmoot.network.wire.motion import LOCAL, Motion
from folkmoot.trust import Anchor

MOST_KEPT: Final = 64  # sessions, with those that are over and may still be asked about
BATCH_SECONDS: Final = 0.25  # what others have signed is stored in batches; it can be had again
LINGER: Final = 60.0  # seconds after the end of a motion in which others may still ask about it


# Told what was settled: a session, or None if it is who can be reached. It looks, and changes nothing.
Observer: TypeAlias = Callable[[Session | None], None]


class Driver:
    """The sessions of one node."""

    def __init__(
        self,
        parts: Parts,
        *,
        health: Health,
        counts: Counter[str],
        by_peer: Sequence[Counter[str]],
        log: Callable[..., None],
    ) -> None:
        self.running: dict[bytes, Running] = {}
        self.broken = False  # nothing can be stored, so nothing may be said
        self.observers: list[Observer] = []
        self._seat, self._roster, self._storage = parts.seat, parts.roster, parts.storage
        self._transport, self._votes, self._rng = parts.transport, parts.votes, parts.rng
        self._members = [participant.fingerprint for participant in parts.roster]
        self._health, self._counts, self._by_peer, self._log = health, counts, by_peer, log
        self._session = parts.session
        self._holdout = parts.holdout
        self._records = TrackRecords(parts.storage)
        self._weighing = self._records if parts.past is None else parts.past
        self.contributor: Contributor | None = None  # of check rows

    def stop(self) -> None:
        """Store what others have said lately."""
        if not self.broken:
            for running in self.running.values():
                self._store(running, None)

    def under_way(self) -> list[Running]:
        """Those that are not over."""
        return [each for each in self.running.values() if each.session.phase is not Phase.OVER]

    def run(
        self,
        announce: m.Announce,
        motion: Motion,
        end: float,
        *,
        confirmed: bool = True,
        inputs: Inputs | None = None,
        over: Callable[[Session, dict[str, Any]], None] | None = None,
        memory: Memory | None = None,
    ) -> Running:
        """Begin a session, or take one up again with what it remembers."""
        now = self._transport.now()
        local = motion.is_labels and motion.alpha == LOCAL
        alpha = LocalThreshold.of(self._anchor(motion), motion.k) if local else motion.alpha
        shown = None if self.contributor is None else self.contributor.shown_for(motion)
        session = self._session(
            announce.header,
            motion,
            self._seat,
            self._health,
            self._rng,
            now=now,
            end=end,
            alpha=alpha,
            weights=self._weighing.weights(self._members, motion.classes) if motion.weighted else None,
            memory=memory,
            shown=shown,
        )
        running = Running(
            session,
            announce,
            now,
            confirmed,
            answer_size(session),
            inputs,
            over,
            shown,
        )
        self.running[session.name] = running
        if len(self.running) > MOST_KEPT:
            ended = [name for name, each in self.running.items() if each.session.phase is Phase.OVER]
            for name in ended[:1]:
                self._forget(name)
        self.settle(running)
        return running

    def settle(self, running: Running) -> None:
        """Store, then send, then work: in this order, so that nothing is said that could be forgotten."""
        session, minutes = running.session, running.session.minutes
        if self.broken:
            return
        if minutes.saves:
            saves, minutes.saves = minutes.saves, []
            self._keep(running, saves)
        if minutes.out:
            out, minutes.out = minutes.out, []
            last, frame, size, send = None, b"", 0, self._transport.send
            for peer, message in out:
                if message is not last:  # one query goes to many
                    last, frame = message, m.encode_frame(message)
                size += len(frame)
                send(peer, frame)
            running.sent += size
            self._counts["frames_sent"] += len(out)
            self._counts["bytes_sent"] += size
        if running.jobs and running.jobs[0][0] is not session.phase:  # nobody waits for their results
            stale, running.jobs = running.jobs, []
            for _, cancel in stale:
                cancel()
        if minutes.work:
            work, minutes.work = minutes.work, []
            for index, data in work:
                self._predict(running, index, data)
        if minutes.study is not None:
            votes, minutes.study = minutes.study, None
            self._listen(running, votes)
        if session.wake < running.wake:  # a timer that is early does no harm, and mostly it is moved back
            if running.cancel is not None:
                running.cancel()
            running.wake = session.wake
            running.cancel = self._transport.later(session.wake, lambda: self.tick(running))
        for observer in self.observers:
            observer(session)

    def _keep(self, running: Running, saves: list[Save]) -> None:
        """Store at once what this node says itself, and all at the end; what others signed soon."""
        foreign = all(isinstance(x, Signed) and x.node != self._seat.place for x in saves)
        if not running.unsaved and foreign:
            when = self._transport.now() + BATCH_SECONDS
            self._transport.later(when, lambda: self._store(running, None))
        running.unsaved += saves
        if foreign:
            return
        ended = any(isinstance(record, Ended) for record in saves)
        summary = self._summary(running) if ended else None
        self._store(running, summary)
        for record in saves:
            if isinstance(record, statements.Evidence):
                self._report(running.session, record)
        if summary is not None:
            self._end(running, summary)

    def _store(self, running: Running, summary: dict[str, Any] | None) -> None:
        if running.unsaved:
            saves, running.unsaved = running.unsaved, []
            try:
                self._storage.save(running.session.name, saves, summary)
            except BaseException:
                self.broken = True  # what follows in the session's ``out`` must not be said
                raise

    def tick(self, running: Running) -> None:
        """A session has asked to be woken."""
        if self.broken:
            return
        running.wake, running.cancel = float("inf"), None
        running.session.tick(self._transport.now())
        self.settle(running)

    def _predict(self, running: Running, index: int, data: bytes | None) -> None:
        motion = running.session.motion

        def wanted() -> bool:
            return running.session.phase is Phase.VOTING

        def job() -> ChunkVotes:
            try:
                running.session.prepare()
                inputs = running.inputs
                chunk = inputs.read(index) if data is None and inputs is not None else data
                if chunk is None:
                    raise ValueError("the inputs of this motion are gone")
                rows = motion.read_chunk(index, chunk)
                if running.shown is not None:
                    running.shown.look(index * motion.chunk_rows, rows)
                if motion.answers != "labels":
                    return self._votes.numbers(rows, motion, wanted)
                return self._votes.vote(rows, motion.labels, wanted, motion.schema)
            except (ValueError, OSError) as error:
                none = motion.form.nothing(motion.rows(index))
                return ChunkVotes(none, "the inputs did not arrive as they were announced", str(error))

        def done(ballot: ChunkVotes) -> None:
            if ballot.unchecked and index == 0:
                self._log(
                    "info", "columns unchecked", motion=running.session.name.hex(), why=ballot.unchecked
                )
            if ballot.reason:
                self._log(
                    "warning", "abstains", motion=running.session.name.hex(), why=ballot.reason,
                    detail=ballot.detail,
                )  # fmt: skip
            running.session.predicted(self._transport.now(), index, ballot.votes, ballot.reason)
            self.settle(running)

        running.jobs.append((Phase.VOTING, self._transport.work(job, done)))

    def _listen(self, running: Running, votes: Array) -> None:
        """Learn whom to trust from the first votes of all, in the model's thread."""
        session, motion = running.session, running.session.motion
        anchor = self._anchor(motion)
        nothing = motion.form.nothing(motion.inputs)
        heard = sum(not np.array_equal(each, nothing, equal_nan=True) for each in votes)

        def done(judgement: Judgement) -> None:
            self._log(
                "info", "listened", motion=session.name.hex(), anchored=judgement.anchored, why=judgement.why,
                heard=heard, trusted=int((judgement.weights > 0).sum()),
            )  # fmt: skip
            session.judged(self._transport.now(), judgement)
            self.settle(running)

        learns = motion.review is not None and motion.review.learnt
        before = self._records.checked(self._members, motion.labels) if learns else None

        def job() -> Judgement:
            if motion.review is None:
                return judge(self._seat.place, votes, anchor, motion.classes)
            checked, owners = session.checked, session.minutes.owners
            if not motion.is_labels:
                return judge_numbers(self._seat.place, votes, motion.asked, checked, owners)
            return judge_by_review(self._seat.place, votes, motion, checked, owners, before, anchor)

        study = self._transport.work(job, done)
        running.jobs.append((session.phase, study))

    def _anchor(self, motion: Motion) -> Anchor | None:
        """What this node knows of its own model: its holdout, and the truths it was told."""
        own = self._members[self._seat.place]
        return self._holdout.with_more(self._records.answers(own)).anchor(motion.labels)

    def _report(self, session: Session, evidence: statements.Evidence) -> None:
        self._counts["evidence"] += 1
        against = self._roster[statements.accused(evidence)].name
        what = statements.kind(evidence)
        self._log("warning", "evidence", motion=session.name.hex(), against=against, what=what)

    def _summary(self, running: Running) -> dict[str, Any]:
        session = running.session
        return (
            {
                "place": self._seat.place,
                "changes": session.changes,
                "rounds": session.rounds,
                "queries": session.queries,
                "bytes_sent": running.sent,
                "bytes_received": running.received,
                "seconds": round(self._transport.now() - running.started, 6),
                "late": sorted(session.late & session.commits.keys()),
                "refused": {str(place): why for place, why in sorted(session.refusals.items())},
            }
            | self._learnt(session.judgement)
            | self._opened(session)
            | self._without_rows(session.motion)
        )

    def _learnt(self, judgement: Judgement | None) -> dict[str, Any]:
        if judgement is None:
            return {}
        weights = [round(weight, 6) for weight in judgement.weights.tolist()]
        learnt = {"trust": weights, "anchored": judgement.anchored, "why": judgement.why}
        if judgement.believed is not None:
            learnt["believed"] = [round(weight, 6) for weight in judgement.believed.tolist()]
        return learnt

    def _opened(self, session: Session) -> dict[str, Any]:
        """How many check rows of whom were opened, and whose were not."""
        checked = session.checked
        if checked is None:
            return {}
        rows = Counter(checked.publisher.tolist())
        self._counts["check_rows_learnt_from"] += rows.total()
        self._counts["check_rows_vanished"] += len(checked.vanished)
        return {
            "check_rows": {str(place): count for place, count in sorted(rows.items())},
            "vanished": list(checked.vanished),
        }

    def _without_rows(self, motion: Motion) -> dict[str, Any]:
        """At the asker: who sent no check rows, and why."""
        if motion.asker != self._seat.place or motion.review is None or not motion.review.asked:
            return {}
        found = Invitations(self._storage).without(motion.review.invite)
        return {"without_rows": {str(place): why for place, why in sorted(found.items())}}

    def _end(self, running: Running, summary: dict[str, Any]) -> None:
        session = running.session
        self._counts["motions_over"] += 1
        self._counts["queries_sent"] += session.queries
        if running.inputs is not None:
            running.inputs.discard()
            running.inputs = None
        outcome = session.verdict()
        self._counts["motion_milliseconds"] += round(1000 * summary["seconds"])
        for place in outcome.abstained:
            self._by_peer[place]["abstained"] += 1
        told = {what: value for what, value in summary.items() if what not in ("place", "changes")}
        self._log(
            "info", "motion over", motion=session.name.hex(), undecided=outcome.undecided,
            closed=len(outcome.closed), **told,
        )  # fmt: skip
        # Slower nodes may still ask us, so it stays for a while.
        linger = max(session.end, self._transport.now()) + LINGER
        self._transport.later(linger, lambda: self._forget(session.name))
        if running.over is not None:
            over, running.over = running.over, None
            over(session, summary)

    def _forget(self, name: bytes) -> None:
        running = self.running.pop(name, None)
        if running is not None and running.cancel is not None:
            running.cancel()

    def send(self, running: Running, peer: int, message: m.Message) -> None:
        """Send a message of a motion."""
        frame = m.encode_frame(message)
        running.sent += len(frame)
        self.transmit(peer, frame)

    def transmit(self, peer: int, frame: bytes) -> None:
        """Send a frame, counted."""
        counts = self._counts
        counts["frames_sent"] += 1
        counts["bytes_sent"] += len(frame)
        self._transport.send(peer, frame)
