"""Motions of this node: checked before anything is sent, with invited rows, each in its place."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np

from folkmoot import checks
from folkmoot.arrays import Array
from folkmoot.node.membership.roster import Roster
from folkmoot.node.review import mixed, seal_of, unpack_rows, unsealed
from folkmoot.node.service.admission import Admission
from folkmoot.node.service.context import NodeContext
from folkmoot.node.service.interface import Checked, CheckedColumn, InvitationStatus, RefusedError
from folkmoot.node.service.records import read_records, weights_of
from folkmoot.node.service.running_motion import RunningMotion
from folkmoot.node.service.scheduling import Answered, Question
from folkmoot.node.service.voting import votes_on
from folkmoot.node.session.header import Header, motion_of, read_header
from folkmoot.node.session.terms import MOST_WEIGHT, Terms
from folkmoot.node.storage.storage import Part
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.messages import MOST_BYTES
from folkmoot.node.wire.schema import Column
from folkmoot.node.wire.things import unpacked

if TYPE_CHECKING:
    from folkmoot.node.service.node import Node

MOST_WAITING: Final = 1000  # motions of this node
AGAIN: Final = 0.5  # seconds after which a motion that had no place is tried again
INVITE_SHARE: Final = 0.2  # of the time until the deadline, for validation rows to come
LONGEST: Final = 30.0  # seconds for them
MOST_MIXED: Final = 64 << 20  # bytes of inputs with validation rows: they are shuffled in memory
SHOWN_ROWS: Final = 20  # of a batch that is only checked
_WEIGHT: Final = 1000  # of a weight of 1, in whole numbers
EQUAL: Final = "no truths were told yet, and there is no weights file: all votes weigh the same"
_NOBODY: Final = "nobody showed validation rows"


@dataclass(frozen=True, eq=False)
class QueuedMotion:
    """A motion that this node is about to put.

    ``fell_back`` says why its weights are all the same, ``order`` where its own inputs are.
    """

    roster: Roster
    place: int
    header: Header
    batch: Batch | None
    fell_back: str = ""
    order: bytes = b""

    @property
    def name(self) -> bytes:
        """The name of the coming motion."""
        return motion_of(self.header.encoded())

    @property
    def part(self) -> Part:
        """All that the node has to say of it from the start."""
        return Part(fell_back=self.fell_back, order=self.order.hex())


class _Kept(msgspec.Struct, array_like=True):
    """What is kept of a motion beside its inputs."""

    header: bytes
    fell_back: str
    order: bytes


class OwnMotions:
    """The motions that a node puts: one after the other if there are many."""

    def __init__(self, context: NodeContext, admission: Admission, node: Node) -> None:
        self._context, self._admission, self._node = context, admission, node
        self.waiting: deque[QueuedMotion] = deque()
        self._inviting: dict[bytes, asyncio.Future[RunningMotion | None]] = {}
        self.invitations: dict[bytes, RunningMotion] = {}
        self._timer = False

    # What is put

    async def put(self, batch: Batch, terms: Terms) -> bytes:
        """Put a motion, or let it wait for its place; its name."""
        queued = self._prepared(batch, terms)
        await self._try_model(batch, queued)
        if queued.header.terms.rows:
            queued = await self._with_rows(batch, queued)
        self._enter(queued, first=bool(queued.header.rows))
        return queued.name

    def _prepared(self, batch: Batch, terms: Terms) -> QueuedMotion:
        """The motion, all of it checked that can be checked without the model."""
        context, roster = self._context, self._node.roster
        place = roster.position(context.me.fingerprint)
        if place is None:
            raise RefusedError("this node is not in the roster in force, so it cannot ask")
        terms, fell_back = self._filled(roster, terms)
        rows = batch.chunk_rows
        if not batch.of_things and rows * batch.columns * batch.array.dtype.itemsize > MOST_BYTES - 100:
            raise ValueError(
                f"an input must have fewer than {MOST_BYTES:,} bytes: got {batch.columns:,} columns"
            )
        header = Header(
            roster.moot, place, context.settings.randbytes(16), context.transport.clock(), terms, len(batch),
            batch.columns, batch.dtype, rows, batch.digests(), schema=batch.schema,
        )  # fmt: skip
        self._admission.check_own(header)
        context.own.model.check(header.schema, header.columns, terms.answers, header.dtype)
        if terms.rows:
            if batch.nbytes > MOST_MIXED:
                raise ValueError(
                    f"a motion with validation rows may have {MOST_MIXED >> 20} MB of inputs: got "
                    f"{batch.nbytes / 2**20:.1f} MB; put them in several motions"
                )
            self._admission.check_own(_of_seconds(header, terms.seconds - _seconds_for_rows(terms)))
        return QueuedMotion(roster, place, header, batch, fell_back)

    def _filled(self, roster: Roster, terms: Terms) -> tuple[Terms, str]:
        """Terms with labels and weights, where these were left to the node."""
        fell_back = ""
        if not terms.labels and terms.answers in ("labels", "probabilities"):
            labels = self.labels()
            if len(labels) < 2:
                raise checks.ArgumentError(
                    "{labels} must be given, at least 2: neither this node's model nor another's says which "
                    "it knows; models of numbers are asked with {answers=}",
                    answers="numbers",
                )
            terms = msgspec.structs.replace(terms, labels=labels)
        if not terms.weights and terms.rule == "weighted":
            weights, fell_back = self._weights(roster, len(terms.labels))
            terms = msgspec.structs.replace(terms, weights=weights)
        return terms, fell_back

    def labels(self) -> tuple[str, ...]:
        """The labels of a motion that names none: all that members announced, and not only the own ones.

        A member that announces very many cannot make the motion one that policies refuse: what most know
        comes first.
        """
        own = self._context.own.model.labels or []
        known = Counter(label for labels in self._node.announced_labels() for label in set(labels))
        others = sorted(known.keys() - set(own), key=lambda label: (-known[label], label))
        return tuple([*own, *others][: max(len(own), self._context.settings.policy.most_labels)])

    def _weights(self, roster: Roster, classes: int) -> tuple[tuple[int, ...], str]:
        """What members' votes weigh: by a weights file, else by track records; else all the same, and why."""
        members = [member.fingerprint for member in roster]
        given = self._context.own.weights
        if any(given.get(member) for member in members):
            found = [given.get(member, 0.0) for member in members]
        elif read_records(self._context.storage):
            found = weights_of(self._context.storage, members, classes)
        else:
            return (1,) * len(members), EQUAL
        scale = min(_WEIGHT, MOST_WEIGHT / max(found)) if any(found) else 0.0
        whole = tuple(round(weight * scale) for weight in found)
        if not any(whole):
            why = "by its track record no member is better than a guess: all weigh the same"
            return (1,) * len(members), why
        return whole, ""

    async def _try_model(self, batch: Batch, queued: QueuedMotion) -> None:
        """A model that does not say which columns it takes is asked about one input.

        A service is not: what it fails at may be over when it is asked for its votes, and a request costs.
        """
        model, header = self._context.own.model, queued.header
        if model.columns is not None or model.is_remote:
            return
        whole = batch.of_things or np.isfinite(batch.array[:1]).all()
        first, asker = batch.array[:1], queued.roster.peers[queued.place]
        found = await _awaited(
            lambda done: self._context.scheduler.ask(
                Question(queued.name, asker, 1, lambda asked, *_: votes_on(asked, header, first), done)
            )
        )
        failed = found.trouble or next((part.detail for part in found.parts if part.failed), "")
        if failed and whole:
            raise ValueError(f"{batch.name} must be inputs that this node's model can read: {failed}")

    # Places

    def _enter(self, queued: QueuedMotion, *, first: bool = False) -> None:
        if len(self.waiting) >= MOST_WAITING:
            raise RefusedError(
                f"{MOST_WAITING:,} motions wait at this node already: wait until some are over"
            )
        self._keep(queued)
        try:
            if first:
                self.waiting.appendleft(queued)
            elif not self.waiting and self._begin(queued):
                return
            else:
                self.waiting.append(queued)
        except ValueError:
            self._context.storage.asked.drop(queued.name)
            raise
        self.go_on()
        self._context.changed(queued.name)

    def go_on(self) -> None:
        """Put motions that wait, as far as there are places."""
        while self.waiting:
            try:
                if not self._begin(self.waiting[0]):
                    break
            except (ValueError, OSError) as error:
                self._give_up(self.waiting[0], str(error))
            self.waiting.popleft()
        if self.waiting and not self._timer:
            self._timer = True
            self._context.transport.later(self._context.transport.now() + AGAIN, self._tick)

    def _tick(self) -> None:
        self._timer = False
        if not self._context.broken:
            self.go_on()

    def _begin(self, queued: QueuedMotion) -> bool:
        if queued.roster is not self._node.roster:
            raise RefusedError("the roster has changed since this motion was made: ask again")
        room = self._context.storage.has_room
        if not self._admission.begin_own(queued.header, self._node.under_way(), has_room=room):
            return False
        running = self._node.open_own(queued)
        if queued.header.invites:
            self.invitations[queued.name] = running
            if running.is_over:
                self.over(running)
        return True

    def _keep(self, queued: QueuedMotion) -> None:
        """Keep its inputs until it is over, so that a restart loses neither them nor a motion that waits."""
        batch, context = queued.batch, self._context
        if batch is None:
            return
        head = msgspec.msgpack.encode(_Kept(queued.header.encoded(), queued.fell_back, queued.order))
        if not context.storage.asked.keep(queued.name, head, batch.chunks(), batch.nbytes):
            context.log("info", "inputs kept in memory only", motion=queued.name.hex(), bytes=batch.nbytes)

    def take_up(self) -> None:
        """Let the motions wait again that had no place when this node last stopped."""
        context, roster = self._context, self._node.roster
        place = roster.position(context.me.fingerprint)
        for name in context.storage.asked.names():
            if context.storage.knows(name):
                if context.storage.motion(name).state != "open":
                    context.storage.asked.drop(name)
                continue
            try:
                kept = msgspec.msgpack.decode(context.storage.asked.head(name), type=_Kept)
                header = read_header(kept.header, len(roster))
                if header.moot != roster.moot or place is None:
                    raise ValueError("the roster has changed since this motion was made: ask again")
                batch = self.kept(name, header)
                if batch is None:
                    raise ValueError("its inputs are not there any more: ask again")
            except ValueError as error:
                context.storage.asked.drop(name)
                context.log("error", "motion not put", motion=name.hex(), why=str(error))
                continue
            self.waiting.append(QueuedMotion(roster, place, header, batch, kept.fell_back, kept.order))
        self.go_on()

    def kept(self, name: bytes, header: Header) -> Batch | None:
        """The inputs of a motion of this node, as they were kept; None if they were not, or were changed."""
        data = self._context.storage.asked.inputs(name)
        if data and header.of_things:
            batch = Batch.of(unpacked(data, header.dtype, header.schema), schema=header.schema)
            return batch if batch.digests() == header.chunks else None
        if not data or len(data) != header.inputs * header.row_bytes:
            return None
        batch = Batch(np.frombuffer(data, header.dtype).reshape(-1, header.columns), schema=header.schema)
        return batch if batch.digests() == header.chunks else None

    def _give_up(self, queued: QueuedMotion, why: str) -> None:
        self._context.storage.asked.drop(queued.name)
        self._context.log("error", "motion not put", motion=queued.name.hex(), why=why)
        future = self._inviting.pop(queued.name, None)
        if future is not None and not future.done():
            future.set_exception(RefusedError(why))
        self._context.changed(queued.name)

    def waits(self, name: bytes) -> QueuedMotion | None:
        """A motion that waits for its place."""
        return next((queued for queued in self.waiting if queued.name == name), None)

    # Validation rows

    async def _with_rows(self, batch: Batch, queued: QueuedMotion) -> QueuedMotion:
        """The same motion, with rows of members among its inputs."""
        context, draft = self._context, queued.header
        began, secret = context.transport.now(), context.settings.randbytes(32)
        terms = msgspec.structs.replace(draft.terms, seconds=_seconds_for_rows(draft.terms))
        invitation = Header(
            draft.moot, draft.asker, context.settings.randbytes(16), context.transport.clock(), terms,
            terms.rows, draft.columns, draft.dtype, seal=seal_of(secret), schema=draft.schema,
        )  # fmt: skip
        invitation.check(len(queued.roster))
        asked = replace(queued, header=invitation, batch=None)
        name = asked.name
        answered: asyncio.Future[RunningMotion | None] = asyncio.get_running_loop().create_future()
        self._inviting[name] = answered
        self._enter(asked)
        running = await answered
        try:
            shown = {} if running is None else self._rows(running, secret)
            if not shown:
                raise RefusedError(self._nobody(running))
            return await self._mixed(batch, queued, name, shown, began)
        except ValueError as error:
            context.storage.amend(name, why=str(error))
            raise

    async def _mixed(
        self, batch: Batch, queued: QueuedMotion, invitation: bytes, shown: Mapping[int, Array], began: float
    ) -> QueuedMotion:
        context, draft = self._context, queued.header
        seed, n = context.settings.randbytes(32), len(queued.roster)

        def mix() -> tuple[Batch, bytes, tuple[bytes, ...]]:
            found, order = mixed(np.asarray(batch.array), shown, n, seed)
            together = Batch(found, batch.name, batch.schema)
            return together, order, together.digests()

        asker = queued.roster.peers[queued.place]
        mixture = await _awaited(lambda done: context.scheduler.work(invitation, asker, mix, done))
        if mixture.trouble:
            raise ValueError(f"validation rows and inputs cannot be put together: {mixture.trouble}")
        together, order, chunks = mixture.parts[0]
        left = draft.terms.seconds - (context.transport.now() - began)
        rows = len(together) - len(batch)
        header = msgspec.structs.replace(
            _of_seconds(draft, left), inputs=len(together), chunk_rows=together.chunk_rows, chunks=chunks,
            rows=rows, shown=invitation if rows else b"", created=context.transport.clock(),
        )  # fmt: skip
        self._admission.check_own(header)
        return replace(queued, header=header, batch=together, order=order)

    def _rows(self, running: RunningMotion, secret: bytes) -> dict[int, Array]:
        """What members have shown; whoever sealed something else has shown nothing."""
        found: dict[int, Array] = {}
        for member, data in (running.motion.tables[0] if running.motion.answer is not None else {}).items():
            try:
                if data:
                    text = unsealed(data, secret, running.name, member)
                    found[member] = unpack_rows(running.header, text)
            except ValueError as error:
                name = running.roster.names[member]
                self._context.log("warning", "no validation rows", member=name, why=str(error))
        return {member: rows for member, rows in found.items() if len(rows)}

    def _nobody(self, running: RunningMotion | None) -> str:
        if running is None or running.motion.answer is None:
            return f"{_NOBODY} in time"
        reasons = [f"{running.roster.names[i]}: {why}" for i, why in sorted(running.refusals.items())]
        return "; ".join([_NOBODY, *reasons[:4]])

    def over(self, running: RunningMotion) -> None:
        """A motion of this node is over: an invitation is followed by its motion, and places are free."""
        name = running.name
        self._context.storage.asked.drop(name)
        self.invitations.pop(name, None)
        future = self._inviting.pop(name, None)
        if future is not None and not future.done():
            future.set_result(running)
        self.go_on()

    def invitation_status(self, now: float) -> list[InvitationStatus]:
        """The invitations under way; rows are sealed until all have answered."""
        found = []
        for running in self.invitations.values():
            names, answered = running.roster.names, running.committed
            refused = {names[i]: why for i, why in sorted(running.refusals.items())}
            found.append(
                InvitationStatus(
                    running.header.inputs, round(running.ends - now, 3),
                    [names[i] for i in answered if names[i] not in refused], refused,
                    [name for i, name in enumerate(names) if i not in answered and name not in refused],
                )
            )  # fmt: skip
        return found

    # What is only looked at

    def check(self, batch: Batch, terms: Terms) -> Checked:
        """The node's check of inputs and terms; nobody else is told."""
        why = unchecked = ""
        outside = 0
        labels = list(terms.labels or (() if terms.answers in ("numbers", "text") else self.labels()))
        model = self._context.own.model
        try:
            fit = model.fit(batch.schema, batch.columns, batch.dtype)
            unchecked = fit.unchecked
            outside = int(fit.outside(fit.arranged(batch.array)).any(axis=1).sum())
            self._prepared(batch, terms)
        except ValueError as error:
            why = str(error)
        known = {column.name for column in model.schema}
        given = {column.name for column in batch.schema}
        named = bool(model.schema and batch.schema)
        columns: list[tuple[Column, Literal["fits", "unknown", "missing", "unchecked"]]] = [
            (column, ("fits" if column.name in known else "unknown") if named else "unchecked")
            for column in batch.schema
        ]
        columns += [(column, "missing") for column in model.schema if named and column.name not in given]
        first = batch.first(SHOWN_ROWS)
        return Checked(
            len(batch),
            [CheckedColumn(c.name, state, c.unit, c.low, c.high) for c, state in columns],
            first,
            batch.missing,
            outside,
            labels,
            why,
            unchecked,
            terms.answers,
        )


def _seconds_for_rows(terms: Terms) -> float:
    return max(2.0, min(LONGEST, INVITE_SHARE * terms.seconds))


def _of_seconds(header: Header, seconds: float) -> Header:
    return msgspec.structs.replace(header, terms=msgspec.structs.replace(header.terms, seconds=seconds))


async def _awaited(begin: Callable[[Callable[[Answered[Any]], None]], None]) -> Answered[Any]:
    """Begin something that hands on what came of it, and wait for that."""
    future: asyncio.Future[Answered[Any]] = asyncio.get_running_loop().create_future()
    begin(lambda found: None if future.done() else future.set_result(found))
    return await future
