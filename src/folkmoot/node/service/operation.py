"""A real node: its folder, a database, TLS and a server, put together and run until it is told to stop."""

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
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from folkmoot.checks import ArgumentError
from folkmoot.files.weight_files import read_weight_file
from folkmoot.machine import to_install
from folkmoot.node.log import Journal
from folkmoot.node.membership import identity
from folkmoot.node.membership.fields import parse_address
from folkmoot.node.membership.identity import CERTIFICATE, KEY, Identity
from folkmoot.node.membership.roster import Roster
from folkmoot.node.rosters.exchange import RosterExchange
from folkmoot.node.rosters.history import RosterHistory
from folkmoot.node.service.archive import NodeArchive
from folkmoot.node.service.context import Own, Settings
from folkmoot.node.service.holdout import Holdout, read_holdout
from folkmoot.node.service.models import load_model
from folkmoot.node.service.node import Node
from folkmoot.node.service.node_file import read_node_file
from folkmoot.node.storage.database import DamagedError, FullError
from folkmoot.node.storage.retention import DISK
from folkmoot.node.storage.storage import Storage, open_storage
from folkmoot.node.transports.mesh import Mesh
from folkmoot.node.transports.transport import Transport

LOCK: Final = "lock"
WATCHED: Final = 1.0  # seconds after which proposals that a command has stored are looked for
_Opened = TypeVar("_Opened")

if TYPE_CHECKING:
    from folkmoot.node.web.metrics import Metrics
    from folkmoot.node.web.server import Page


@dataclass(frozen=True)
class Operation:
    """How ``folkmoot node run`` runs the node in a folder; all else stands in its ``node.toml``."""

    folder: Path  # the node's
    roster: Path | None = None  # who takes part, if not as in ``node.toml``
    listen: str | None = None  # HOST:PORT where it waits for others, if not as in ``node.toml``
    page: str | None = None  # HOST:PORT where it serves its page and HTTP besides the socket in its folder
    behind_tls: str | None = None  # the name under which a proxy with TLS serves that page to others
    disk: int = DISK  # bytes that what it stores may take
    trust_pickle: bool = False  # whether a pickled model is loaded
    sandbox: bool = True  # whether a model in a file runs in a process that can do nothing but answer
    forget: bool = False  # whether it begins anew if its database is gone
    # Puts a liar between the node and its transport; for tests and demonstrations.
    lies: Callable[[Transport[bytes], Identity, Roster], Transport[bytes]] | None = None


def run(given: Operation, journal: Journal | None = None) -> None:
    """Run a node until SIGINT or SIGTERM; SIGHUP loads its model again.

    FullError is raised if there is no room on the disk: nothing was sent that is not stored.
    """
    log = journal or Journal("info")
    server = web_server()
    page = None if given.page is None else server.Page(given.page, given.behind_tls)
    os.umask(0o077)  # what a node stores is its owner's business
    me = identity.load(given.folder)
    settings = read_node_file(given.folder)
    root = settings.read_roster(given.roster)
    settings.chosen_model()  # said before anything is opened
    with locked(given.folder), asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(_run(given, me, root, page, log))


def own_of(given: Operation) -> Own:
    """Model, holdout and weights as ``node.toml`` names them now."""
    settings = read_node_file(given.folder)
    hidden = given.folder if given.sandbox else None
    model = load_model(settings.chosen_model(), trust_pickle=given.trust_pickle, hidden=hidden)
    holdout = Holdout() if settings.holdout is None else read_holdout(settings.holdout, model)
    if settings.policy.validation_rows and holdout.rows is None:
        raise ValueError(
            f"validation_rows in [policy] of {settings.path} must be 0 unless the node has rows to show: "
            "write holdout = FILE there, with rows and labels that the model has not seen"
        )
    return Own(
        model,
        holdout,
        {} if settings.weights is None else read_weight_file(settings.weights),
        settings.choose,
    )


def web_server() -> ModuleType:
    """The module with a node's server; an error with the line to type if its packages are not there."""
    try:
        from folkmoot.node.web import server
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"a node needs {error.name}, which is not installed: {to_install('page')}", name=error.name
        ) from None
    return server


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process per node: two with one key would contradict each other."""
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


async def bound(opening: Awaitable[_Opened], address: str, option: str) -> _Opened:
    """Open a socket, or say what is wrong with the address."""
    try:
        return await opening
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ArgumentError(
                f"{{where!s}} is in use by another program: stop it, or give another with {{{option}}}",
                where=address,
            ) from None
        raise ValueError(f"cannot listen on {address}: {error.strerror or error}") from None


async def _run(given: Operation, me: Identity, root: Roster, page: Page | None, log: Journal) -> None:
    """Put it together from the disk upwards; take it apart in the opposite order."""
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[None] = loop.create_future()
    _stop_on_signals_and_failures(loop, stop, log)
    async with AsyncExitStack() as opened:
        storage = _opened_storage(given, me, log)
        opened.callback(storage.close)
        history = RosterHistory(storage, root)
        settings = read_node_file(given.folder)
        members = {member.name for roster in history.rosters for member in roster}
        settings.policy.check_names(members, settings.path)
        roster = _newest_with(me, history, given.folder)
        place = roster.position(me.fingerprint)
        assert place is not None  # noqa: S101 (it is in this one)
        files = str(given.folder / CERTIFICATE), str(given.folder / KEY)
        mesh = Mesh(roster, place, *files, log)
        opened.push_async_callback(mesh.close)
        transport = mesh if given.lies is None else given.lies(mesh, me, roster)
        exchange = RosterExchange(history, transport, me, rng=random.SystemRandom(), log=log)
        metrics = _metrics(log)
        archive = NodeArchive(storage, history, me)
        node = Node(
            me, storage, transport, archive, exchange, partial(own_of, given),
            hold=mesh.hold, settings=Settings(settings.policy, given.disk), meter=metrics, journal=log,
        )  # fmt: skip
        listen = given.listen or me.listen
        await bound(mesh.listen(*parse_address(listen, any_port=True)), listen, "listen")
        node.start()
        opened.callback(_stopped, node)
        log.write(
            "info", "listening", node=me.name, address=mesh.address, moot=roster.digest,
            participants=len(roster), loop=type(loop).__module__.split(".")[0],
        )  # fmt: skip
        watching = loop.create_task(_watch(exchange, loop))
        opened.callback(watching.cancel)
        server = await bound(
            web_server().serve(node, given.folder, page=page, metrics=metrics, journal=log),
            given.page or "",
            "page",
        )
        opened.push_async_callback(server.close)
        _reload_on_hangup(loop, node, log)
        gc.collect()
        gc.freeze()  # what is loaded stays: the collector need not look at it again and again
        await stop
    log.write("info", "stopped", node=me.name)


def _metrics(log: Journal) -> Metrics | None:
    """What ``/metrics`` tells, where its package is installed."""
    from folkmoot.node.web.metrics import Metrics

    try:
        return Metrics()
    except ModuleNotFoundError as error:
        log.write("warning", "no metrics", why=str(error))
        return None


def _opened_storage(given: Operation, me: Identity, log: Journal) -> Storage:
    """The node's database, looked through; damaged motions are named."""
    storage, damaged = open_storage(given.folder, me.fingerprint, time.time(), forget=given.forget)
    for name in damaged:
        log.write("error", "damaged motion", node=me.name, motion=name.hex())
    return storage


def _newest_with(me: Identity, history: RosterHistory, folder: Path) -> Roster:
    """The newest roster that a node has gone through and is in; ValueError if there is none."""
    for roster in reversed(history.rosters):
        if roster.position(me.fingerprint) is not None:
            return roster
    first = history.rosters[0]
    if any(member.name == me.name for member in first):
        raise ValueError(
            f"the roster has another certificate for {me.name!r}: ask who keeps it to put in the line of "
            f"{folder}, or put back the key that it has"
        )
    raise ValueError(
        f"the roster does not have {me.name!r}: send {folder / (me.name + '.line')} to who keeps it"
    )


def _stopped(node: Node) -> None:
    with suppress(sqlite3.Error, FullError, DamagedError):
        node.stop()


async def _watch(exchange: RosterExchange, loop: asyncio.AbstractEventLoop) -> None:
    """See what ``folkmoot roster`` has stored beside the node."""
    while True:
        await asyncio.sleep(WATCHED)
        try:
            exchange.look_again()
        except (sqlite3.Error, FullError, DamagedError) as error:
            loop.call_exception_handler({"message": "the database cannot be used", "exception": error})
            return


def _stop_on_signals_and_failures(
    loop: asyncio.AbstractEventLoop, stop: asyncio.Future[None], log: Journal
) -> None:
    def leave() -> None:
        if not stop.done():
            stop.set_result(None)

    def failed(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error: Any = context.get("exception")
        full = isinstance(error, OSError) and error.errno == errno.ENOSPC
        if isinstance(error, (sqlite3.Error, FullError, DamagedError)) or full:
            # Nothing can be stored, so nothing may be signed: stop before anything is said.
            if not stop.done():
                stop.set_exception(error)
        else:
            log.write("error", "unexpected", what=context.get("message", ""), error=repr(error))

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave)
    loop.set_exception_handler(failed)


def _reload_on_hangup(loop: asyncio.AbstractEventLoop, node: Node, log: Journal) -> None:
    async def reload() -> None:
        try:
            await node.reload()
        except ValueError as error:
            log.write("error", "model not loaded: the old one stays", why=str(error))
        else:
            log.write("info", "model loaded again")

    under_way: set[asyncio.Task[None]] = set()

    def hung_up() -> None:
        task = loop.create_task(reload())
        under_way.add(task)
        task.add_done_callback(under_way.discard)

    loop.add_signal_handler(signal.SIGHUP, hung_up)


def loop_factory() -> Any:
    """uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
