"""The sockets of a node: a Unix socket in its folder, and TCP for its page.

Only the owner of the folder can open the Unix socket, so no token is needed there. The loop of the node runs
both servers of uvicorn, and handles signals itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from folkmoot.checks import ArgumentError
from folkmoot.node.client import SOCKET, short_path
from folkmoot.node.log import Journal
from folkmoot.node.membership.fields import is_everywhere, parse_address
from folkmoot.node.service.node import Node
from folkmoot.node.web.api import Api
from folkmoot.node.web.feed import Feed
from folkmoot.node.web.guard import ASK, READ, Answering, Guard, Right, own_token, with_token
from folkmoot.node.web.requests import Reader

if TYPE_CHECKING:
    from folkmoot.node.web.metrics import Metrics

KEPT_ALIVE: Final = 15  # seconds between two requests of one connection
LEAVING: Final = 2  # seconds for answers under way when the node stops
Client: TypeAlias = tuple[str, int]  # its address
MOST: Final = 128  # connections to the page
TAKEN: Final = 64  # new connections in one turn of the loop: each has its turn before it can be the oldest
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")  # of this machine


@dataclass(frozen=True)
class Page:
    """The address of a page on TCP.

    Examples
    --------
    >>> from folkmoot.node.web.server import Page
    >>> Page("b.de:7700")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    folkmoot.checks.ArgumentError: page must be on this machine, such as 127.0.0.1:7700, ...
    """

    address: str  # HOST:PORT; port 0 is any. Only a loopback host, unless there is a proxy.
    behind_tls: str | None = None  # the name, or NAME:PORT, under which a proxy with TLS serves it to others

    def __post_init__(self) -> None:
        try:
            host, port = parse_address(self.address, any_port=True)
        except ValueError as error:
            raise ArgumentError("{page}: {why!s}", why=error) from None
        if self.behind_tls is not None:
            name = self.behind_tls if self.behind_tls.rpartition(":")[0] else f"{self.behind_tls}:443"
            try:
                parse_address(name)
            except ValueError:
                raise ArgumentError(
                    "{page_behind_tls} must be the name by which others reach the page, such as moot.example "
                    "or moot.example:8443: got {page_behind_tls!r}",
                    page_behind_tls=self.behind_tls,
                ) from None
        elif not _is_loopback(host):
            raise ArgumentError(
                f"{{page}} must be on this machine, such as 127.0.0.1:{port}, or give {{page_behind_tls}}: "
                "got {page!r}",
                page=self.address,
            )

    def url(self, port: int) -> str:
        """Its name in a browser, if it listens on this port."""
        if self.behind_tls is not None:
            return f"https://{self.behind_tls.lower().removesuffix(':443')}"
        return f"http://{self._reached_at(port)}"

    def names(self, port: int) -> tuple[set[str], set[str]]:
        """The names that Host and Origin may have."""
        hosts = {f"{name}:{port}" for name in _NAMES} | {self._reached_at(port).lower()}
        hosts |= set(_NAMES) if port == 80 else set()
        origins = {f"http://{name}" for name in hosts}
        if self.behind_tls is not None:
            name = self.behind_tls.lower().removesuffix(":443")
            hosts |= {name} if ":" in name else {name, f"{name}:443"}
            origins |= {f"https://{name}"}
        return hosts, origins

    def _reached_at(self, port: int) -> str:
        host, _ = parse_address(self.address, any_port=True)
        host = "127.0.0.1" if is_everywhere(host) else host
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Server:
    """An open server, made by ``serve``; ``close`` it before the node stops.

    ``url`` is the address of the page, None without one; ``address`` the same for a browser, with the token
    that may ask: show it to the operator only.

    Examples
    --------
    >>> server = await serve(node, folder, page=Page("127.0.0.1:7700"))  # doctest: +SKIP
    >>> server.url  # doctest: +SKIP
    'http://127.0.0.1:7700'
    """

    def __init__(self, folder: Path, feed: Feed, url: str | None, address: str | None) -> None:
        self.url, self.address = url, address
        self._folder, self._feed = folder, feed
        self._servers: list[tuple[_Uvicorn, asyncio.Task[None]]] = []
        self._watching: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """End streams, answer what is under way, and go."""
        self._feed.close()
        if self._watching is not None:
            self._watching.cancel()
        for server, _ in self._servers:
            server.should_exit = True
        for _, serving in self._servers:
            with suppress(asyncio.CancelledError):
                await serving
        (self._folder / SOCKET).unlink(missing_ok=True)

    def _listen(self, app: ASGIApp, listener: socket.socket, connections: Connections | None) -> None:
        running = _server(app, connections)
        serving = asyncio.ensure_future(running.serve(sockets=[listener]))
        self._servers.append((running, serving))


async def serve(
    node: Node,
    folder: Path,
    *,
    page: Page | None = None,
    metrics: Metrics | None = None,
    journal: Journal | None = None,
) -> Server:
    """Answer HTTP for a running node, on its loop, until the server is closed.

    When this returns, both sockets take connections. The socket is in the node's ``folder``, and so are the
    tokens; without a ``page`` there is only that socket. ``metrics`` are the node's meter. ValueError if
    another node answers in this folder, or others can read a token; OSError if the page's address is taken.
    """
    log = journal or Journal("error")
    tokens: dict[Right, str] = {}
    if page is not None:
        tokens = {"ask": own_token(folder, ASK), "read": own_token(folder, READ)}
    with contextlib.ExitStack() as opened:
        inside = opened.enter_context(contextlib.closing(_in_folder(folder)))
        outside = None if page is None else opened.enter_context(contextlib.closing(await _on_tcp(page)))
        feed = Feed(node, log)
        api = Api(node, Reader(folder), feed, metrics)
        router = api.router()
        url = address = None
        if page is not None and outside is not None:
            port = outside.getsockname()[1]
            url = api.page = page.url(port)
            address = api.address = with_token(url, tokens["ask"])
        server = Server(folder, feed, url, address)
        server._listen(Answering(router, _owner, log), inside, None)
        if page is not None and outside is not None:
            refused: Counter[str] = Counter()
            connections = Connections(refused)
            guard = Guard(tokens, *page.names(port), counts=refused, known=connections.showed_token)
            server._listen(Answering(router, guard.admit, log), outside, connections)
            api.refused = refused
        opened.pop_all()  # from now on the servers close them
    if metrics is not None:
        server._watching = asyncio.ensure_future(metrics.watch_loop())
    return server


def _owner(scope: Scope) -> Right:
    """A client that can enter the folder may do everything."""
    scope.setdefault("state", {})["owner"] = True
    return "ask"


class _Uvicorn(uvicorn.Server):
    """Serves until ``should_exit``; signals are the node's business."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


def _server(app: ASGIApp, connections: Connections | None) -> _Uvicorn:
    """A server for an app, which says nothing: stderr is the node's log, which is JSON."""
    protocol: Any = "h11" if connections is None else connections.protocol()
    return _Uvicorn(
        uvicorn.Config(
            app, loop="none", http=protocol, ws="none", lifespan="off", interface="asgi3", log_config=None,
            log_level="critical", access_log=False, proxy_headers=False, server_header=False, backlog=TAKEN,
            timeout_keep_alive=KEPT_ALIVE, timeout_graceful_shutdown=LEAVING,
            h11_max_incomplete_event_size=16 << 10,
        )
    )  # fmt: skip


def _in_folder(folder: Path) -> socket.socket:
    """A listening socket that only its owner can enter; that of a node that was killed is replaced."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        with short_path(folder) as path:
            if Path(path).is_socket():
                with socket.socket(socket.AF_UNIX) as other:
                    if other.connect_ex(path) == 0:
                        raise ValueError(f"a node runs in {folder} already: stop it first")
                Path(path).unlink()
            listener.bind(path)
            Path(path).chmod(0o600)  # nobody can enter before it listens
        listener.listen()
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


async def _on_tcp(page: Page) -> socket.socket:
    host, port = parse_address(page.address, any_port=True)
    loop = asyncio.get_running_loop()
    (family, kind, protocol, _, where), *_ = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(where)
        listener.listen()  # from now on, though the server begins a moment later
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


class Connections:
    """The connections to the page: clients without a token never keep out those that have one.

    A connection takes a file that a peer may need, so their number is bounded. When all places are taken, a
    new connection gets that of the oldest one that has shown no token.
    """

    def __init__(self, counts: Counter[str]) -> None:
        self._strangers: dict[Client, asyncio.Transport] = {}  # the oldest first
        self._known: set[Client] = set()
        self._counts = counts

    def take(self, client: Client | None, transport: asyncio.Transport) -> None:
        """A connection was made; one that is gone already has no address."""
        full = len(self._strangers) + len(self._known) >= MOST
        if full:
            self._counts["refused_page_places"] += 1
        if client is None or (full and not self._strangers):
            transport.abort()
            return
        if full:
            self._strangers.pop(next(iter(self._strangers))).abort()
        self._strangers[client] = transport

    def showed_token(self, client: Client | None) -> None:
        """It may stay as long as it likes."""
        if client is not None and self._strangers.pop(client, None) is not None:
            self._known.add(client)

    def leave(self, client: Client | None, transport: asyncio.Transport) -> None:
        """It is gone."""
        if client is None:
            return
        self._known.discard(client)
        if self._strangers.get(client) is transport:
            del self._strangers[client]

    def protocol(self) -> type[H11Protocol]:
        """uvicorn's protocol, with these connections."""
        connections = self

        class Placed(H11Protocol):
            def connection_made(self, transport: Any) -> None:
                super().connection_made(transport)
                connections.take(self.client, transport)

            def connection_lost(self, exc: Exception | None) -> None:
                connections.leave(self.client, self.transport)
                super().connection_lost(exc)

        return Placed
