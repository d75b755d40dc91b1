"""Run a node: identity, roster, storage, model, transport, door and metrics put together, until told
to stop.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import gc
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from folkmoot.files.tabular import shortened
from folkmoot.network.service.assembly import Assembly
from folkmoot.network.service.control import ControlServer, loopback
from folkmoot.network.service.holdout import Holdout, read_holdout
from folkmoot.network.service.metrics import serve_metrics
from folkmoot.network.service.node import Node
from folkmoot.network.service.parts import Lasting, Parts
from folkmoot.network.service.past_performance import PastPerformance
from folkmoot.network.service.policy import Policy
from folkmoot.network.service.status import Status, status
from folkmoot.network.service.voter import Voter
from folkmoot.network.session.minutes import Seat
from folkmoot.network.storage.chronicle import Chronicle
from folkmoot.network.storage.retention import DISK, Watermarks
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.node.log import Journal
from folkmoot.node.membership import identity
from folkmoot.node.membership.fields import parse_address
from folkmoot.node.membership.identity import CERTIFICATE, KEY, SETTINGS, Identity
from folkmoot.node.membership.roster import Member, Roster
from folkmoot.node.service.loop_delay import LoopDelay
from folkmoot.node.service.models import Model, is_function, load_model
from folkmoot.node.transports.mesh import Mesh
from folkmoot.node.transports.places import Places

LOCK: Final = "lock"
LEAST_FREE: Final = 256 << 20  # bytes of the disk that a node leaves to others
TENDED: Final = 20.0  # seconds after which the database is looked at again
WATCHED: Final = 1.0  # seconds after which proposals that a command has stored are looked for


@dataclass(frozen=True)
class Settings:
    """What ``folkmoot node run`` is told."""

    folder: Path
    roster: Path
    model: str
    allow: Sequence[str] = ()
    trust_pickle: bool = False
    listen: str | None = None  # other than in node.toml
    control: str | None = None
    metrics: str | None = None
    log_level: str = "info"
    holdout: Path | None = None  # labelled rows that show how good the model is
    disk: int = DISK  # bytes that what it stores may take
    labels: Sequence[str] | None = None  # that the model knows, where it does not say so
    policy: Policy = field(default_factory=Policy)  # which motions it plays
    schema: Path | None = None  # declares the model's columns; None: the file beside the model, if any
    weights: Path | None = None  # what members' answers weigh
    sandbox: bool = True  # a model in a file runs in a process that can do nothing but answer


class Face(Protocol):
    """Something that shows a node to people or programs, beside its door; on the node's own loop."""

    address: str  # HOST:PORT
    option: str  # that asked for it

    async def open(self, shown: Shown) -> str:
        """Begin; returns where it is."""

    async def close(self) -> None:
        """End, whoever is still looking."""


@dataclass(frozen=True)
class Shown:
    """What a face may show and use."""

    node: Assembly
    folder: Path
    model: Model
    labels: Sequence[str] | None  # that it may answer with; None: nobody says
    look: Callable[[], Status]
    log: Journal


class NodeError(RuntimeError):
    """Something went wrong while the node was running; the message says what, in one line."""


def run(
    settings: Settings,
    journal: Journal | None = None,
    faces: Sequence[Face] = (),
    furnish: Callable[[Parts], Parts] = lambda parts: parts,
) -> None:
    """Run a node until SIGINT or SIGTERM, with what else shows it; ``furnish`` gives it other parts."""
    log = journal or Journal(settings.log_level)
    os.umask(0o077)  # what a node stores is its owner's business
    me = identity.load(settings.folder)
    roster = Roster.read(settings.roster)
    if settings.control is not None:
        loopback(settings.control, "--control")
    if settings.metrics is not None:
        loopback(settings.metrics, "--metrics")
    with locked(settings.folder):
        model = model_of(settings)
        holdout = None if settings.holdout is None else read_holdout(settings.holdout, model)
        check_shown(settings.policy, holdout, settings.folder)
        storage = Storage(settings.folder / DATABASE)
        try:
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                chronicle = Chronicle(storage, roster, time.time())
                runner.run(_serve(settings, me, chronicle, model, log, holdout, faces, furnish))
        except sqlite3.Error as error:
            raise NodeError(_disk_trouble(settings.folder, error)) from None
        finally:
            with suppress(sqlite3.Error):
                storage.close()


async def _serve(
    settings: Settings,
    me: Identity,
    chronicle: Chronicle,
    model: Model,
    log: Journal,
    holdout: Holdout | None,
    faces: Sequence[Face],
    furnish: Callable[[Parts], Parts],
) -> None:
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[None] = loop.create_future()
    _stop_on_signals_and_failures(loop, stop, log)
    # Whom a policy names may have left, or joined, since the roster in the file.
    everybody = [member for roster in chronicle.rosters for member in roster]
    check_access(settings.policy, everybody, settings.folder)
    roster = newest_with(me, chronicle, settings)
    place = place_of(me, roster, settings)
    mesh = Mesh(roster, place, str(settings.folder / CERTIFICATE), str(settings.folder / KEY), log)
    incarnation = chronicle.storage.start(mesh.clock())
    past = None if settings.weights is None else PastPerformance.read(settings.weights, roster)
    rng, voter, known = random.SystemRandom(), Voter(model), holdout or Holdout()
    labels = labels_of(model, settings)

    def make(roster: Roster, places: Places, lasting: Lasting) -> Node:
        seat = seat_of(me, roster, place_of(me, roster, settings), incarnation)
        parts = Parts(seat, roster, chronicle.storage, places, voter, rng, known, past, known.rows)
        return Node(
            furnish(parts),
            journal=log,
            policy=settings.policy,
            labels=labels,
            disk=settings.disk,
            lasting=lasting,
        )

    node = Assembly(chronicle, mesh, me.fingerprint, make, rng=rng, hold=mesh.hold, journal=log)

    def look() -> Status:
        return status(node, mesh, settings.disk, labels, model.confinement)

    door = ControlServer(node, settings.folder, labels, look)
    servers = []
    opened: list[Face] = []
    delay = LoopDelay()
    tasks: list[asyncio.Task[None]] = []
    try:
        listen = settings.listen or me.listen
        await bound(mesh.listen(*parse_address(listen, any_port=True)), listen, "--listen")
        await door.open()
        if settings.control is not None:
            await bound(door.open_tcp(settings.control), settings.control, "--control")
        if settings.metrics is not None:
            host, port = loopback(settings.metrics, "--metrics")
            servers.append(
                await bound(serve_metrics(node, mesh, delay, host, port), settings.metrics, "--metrics")
            )
        log.write(
            "info", "listening", node=me.name, address=mesh.address, moot=roster.digest,
            participants=len(roster), model=settings.model, loop=type(loop).__module__.split(".")[0],
        )  # fmt: skip
        ours = is_function(settings.model) or model.is_confined
        log.write("info" if ours else "warning", "model", node=me.name, sandbox=model.confinement)
        node.start()
        for face in faces:
            shown = Shown(node, settings.folder, model, labels, look, log)
            opened.append(face)
            where = await bound(face.open(shown), face.address, face.option)
            log.write("info", "page open", node=me.name, address=where)
        tasks.append(loop.create_task(_tend(node, Watermarks(settings.disk, LEAST_FREE), log)))
        tasks.append(loop.create_task(_watch_rosters(node)))
        # What is loaded stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        tasks.append(loop.create_task(delay.watch()))
        await stop
    finally:
        for task in tasks:
            task.cancel()
        for face in opened:
            await face.close()
        door.close()
        with suppress(sqlite3.Error):
            node.stop()
        for server in servers:
            server.close()
        await mesh.close()
        log.write("info", "stopped", node=me.name)


async def _watch_rosters(node: Assembly) -> None:
    """See what folkmoot roster propose and sign have stored."""
    while True:
        await asyncio.sleep(WATCHED)
        try:
            node.look_again()
        except sqlite3.Error as error:
            context = {"message": "the database cannot be read", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
            return


async def _tend(node: Assembly, marks: Watermarks, log: Journal) -> None:
    """Forget old motions when room is needed, some at a time, and say so when there is none for new ones."""
    had_room = True
    while True:
        try:
            gone = node.storage.tend(node.transport.clock(), marks)
        except sqlite3.Error as error:  # nothing can be stored: the node must stop
            context = {"message": "the database cannot be kept within its limits", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
            return
        node.counts["motions_forgotten"] += gone
        if node.storage.has_room != had_room:
            had_room = node.storage.has_room
            event = "room again for new motions" if had_room else "no room for new motions: they are refused"
            log.write("info" if had_room else "warning", event, used=node.storage.used(), most=marks.most)
        await asyncio.sleep(0.05 if gone else TENDED)


def _stop_on_signals_and_failures(
    loop: asyncio.AbstractEventLoop, stop: asyncio.Future[None], log: Journal
) -> None:
    def leave() -> None:
        if not stop.done():
            stop.set_result(None)

    def failed(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, sqlite3.Error) or (isinstance(error, OSError) and error.errno == errno.ENOSPC):
            # Nothing can be stored, so nothing may be signed: stop before anything is said.
            if not stop.done():
                stop.set_exception(error)
        else:
            log.write("error", "unexpected", what=context.get("message", ""), error=repr(error))

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave)
    loop.set_exception_handler(failed)


async def bound(opening: Any, address: str, option: str) -> Any:
    """Open a socket, or say what is wrong with the address."""
    try:
        return await opening
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ValueError(
                f"{address} is in use by another program: stop it, or give another address with {option}"
            ) from None
        raise ValueError(f"cannot listen on {address}: {error.strerror or error}") from None


def model_of(settings: Settings) -> Model:
    """The model of a node, with what is declared of its columns."""
    return load_model(
        settings.model,
        allow=settings.allow,
        trust_pickle=settings.trust_pickle,
        schema=settings.schema,
        hidden=settings.folder if settings.sandbox else None,
    )


def labels_of(model: Model, settings: Settings) -> list[str] | None:
    """The labels that a node's model knows, as it says itself or its operator does; None if nobody does."""
    if settings.labels is None:
        return model.labels
    known = settings.labels if model.labels is None else model.labels
    strange = next((label for label in settings.labels if label not in known), None)
    if strange is not None:
        raise ValueError(
            f"labels in {settings.folder / SETTINGS} must be among those of the model, {', '.join(known)}: "
            f"got {strange!r}"
        )
    return list(settings.labels)


def newest_with(me: Identity, chronicle: Chronicle, settings: Settings) -> Roster:
    """The newest roster that a node has gone through and is in; ValueError if there is none."""
    for roster in reversed(chronicle.rosters):
        if roster.position(me.fingerprint) is not None:
            return roster
    place_of(me, chronicle.rosters[0], settings)  # says what is wrong
    return chronicle.tip


def place_of(me: Identity, roster: Roster, settings: Settings) -> int:
    """Where a node stands in the roster; ValueError if it does not."""
    place = roster.position(me.fingerprint)
    if place is None:
        namesake = next((p for p in roster if p.name == me.name), None)
        if namesake is not None:
            raise ValueError(
                f"{settings.roster} has another certificate for {me.name!r}: "
                "remove it and add this node's line again"
            )
        raise ValueError(
            f"{settings.roster} does not have this node: type "
            f"folkmoot roster add {settings.roster} {settings.folder}"
        )
    return place


def check_access(policy: Policy, members: Iterable[Member], folder: Path) -> None:
    """ValueError if a policy names others than these members."""
    names = sorted({member.name for member in members})
    strangers = policy.access.strangers(names)
    if strangers:
        raise ValueError(
            f"[policy] in {folder / SETTINGS} must name members of the roster, "
            f"{shortened(names)}: got {strangers[0]!r}"
        )


def seat_of(me: Identity, roster: Roster, place: int, incarnation: int) -> Seat:
    """Who a node is among the others."""
    fingerprints = [bytes.fromhex(participant.fingerprint) for participant in roster]
    return Seat(place, me.key, [participant.public_key for participant in roster], fingerprints, incarnation)


def check_shown(policy: Policy, holdout: Holdout | None, folder: Path) -> None:
    """ValueError, with what is wrong, unless a node that is to show check rows has some."""
    if policy.check_rows and (holdout is None or holdout.rows is None):
        raise ValueError(
            f"check_rows in [policy] of {folder / SETTINGS} must be 0 unless the node has labelled rows to "
            "show: give --holdout FILE, or holdout there, with rows and labels that the model has not seen"
        )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process a node: two with one key would contradict each other."""
    with (folder / LOCK).open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(f"the node in {folder} is running already") from None
        yield


def is_running(folder: Path) -> bool:
    """Whether a process runs this node."""
    try:
        with locked(folder):
            return False
    except ValueError:
        return True


def loop_factory() -> Any:
    """uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _disk_trouble(folder: Path, error: sqlite3.Error) -> str:
    return (
        f"the database in {folder} cannot be written ({error}): make room and start the node again; "
        "nothing that was stored is lost"
    )
