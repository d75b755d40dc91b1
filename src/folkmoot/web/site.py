"""An address at which HTTP is answered: where it listens, under which names, who may come in."""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import json
import socket
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from folkmoot.extras import to_install
from folkmoot.files.durable import replace_file
from folkmoot.node.log import Journal
from folkmoot.node.membership.fields import is_everywhere, parse_address

if TYPE_CHECKING:
    from starlette.types import ASGIApp

PAGE: Final = "page.json"  # in the folder, mode 0600: the address and the token, for ``Client.of``
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")  # of this machine


class Site:
    """A server on the running loop, behind a guard, and the file that says where it is.

    Parameters
    ----------
    address : str
        HOST:PORT; port 0 is any. Only a loopback host, unless there is a proxy.
    behind_tls : str or None
        The name, or NAME:PORT, under which a proxy with TLS serves it to others.

    Examples
    --------
    >>> from folkmoot.web.site import Site
    >>> Site("b.de:7700")
    Traceback (most recent call last):
        ...
    ValueError: --page must be on this machine, such as 127.0.0.1:7700 (or --page-behind-tls): got 'b.de:7700'
    """

    def __init__(self, address: str, behind_tls: str | None = None) -> None:
        self._host, self._port = parse_address(address, any_port=True)
        self._behind_tls = behind_tls
        if behind_tls is not None:
            name = behind_tls if behind_tls.rpartition(":")[0] else f"{behind_tls}:443"
            try:
                parse_address(name)
            except ValueError:
                raise ValueError(
                    "--page-behind-tls must be the name by which others reach the page, such as moot.example "
                    f"or moot.example:8443: got {behind_tls!r}"
                ) from None
        elif not _is_loopback(self._host):
            raise ValueError(
                f"--page must be on this machine, such as 127.0.0.1:{self._port} (or --page-behind-tls): "
                f"got {address!r}"
            )
        for package in ("starlette", "uvicorn"):
            if importlib.util.find_spec(package) is None:
                raise ModuleNotFoundError(
                    f"--page needs {package}, which is not installed: {to_install('page')}",
                    name=package,
                )
        self._server: Any = None
        self._serving: asyncio.Task[None] | None = None
        self._file: Path | None = None
        self.where = ""  # HOST:PORT for clients on this machine, once it is open
        self.address = ""  # for people, with the token that may ask

    async def open(
        self, app: ASGIApp, ask: str, read: str, counts: Counter[str], log: Journal, folder: Path
    ) -> str:
        """Listen, and answer those who have a token; returns HOST:PORT."""
        from folkmoot.web.guard import Guard
        from folkmoot.web.server import server

        listener = await self._listener()
        port = listener.getsockname()[1]
        hosts, origins = self._names(port)
        guard = Guard(
            app, tokens={"ask": ask, "read": read}, hosts=hosts, origins=origins, counts=counts, log=log
        )
        self._server = server(guard)
        self._serving = asyncio.ensure_future(self._server.serve(sockets=[listener]))
        self.where = self._reached_at(port)
        called = f"http://{self.where}"
        if self._behind_tls is not None:
            called = f"https://{self._behind_tls.lower().removesuffix(':443')}"
        self.address = with_token(called, ask)
        self._file = folder / PAGE
        self._file.unlink(missing_ok=True)
        told = json.dumps({"url": f"http://{self.where}", "token": ask, "page": called})
        replace_file(self._file, told.encode(), new_mode=0o600)  # whoever waits for it finds it whole
        return self.where

    async def close(self) -> None:
        """Answer what is under way, and go."""
        if self._serving is not None:
            self._server.should_exit = True
            with suppress(asyncio.CancelledError):
                await self._serving
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink()

    async def _listener(self) -> socket.socket:
        loop = asyncio.get_running_loop()
        (family, kind, protocol, _, where), *_ = await loop.getaddrinfo(
            self._host, self._port, type=socket.SOCK_STREAM
        )
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

    def _reached_at(self, port: int) -> str:
        """The address for clients on this machine."""
        host = "127.0.0.1" if is_everywhere(self._host) else self._host
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _names(self, port: int) -> tuple[set[str], set[str]]:
        """What Host and Origin may say."""
        hosts = {f"{name}:{port}" for name in _NAMES} | {self._reached_at(port).lower()}
        hosts |= set(_NAMES) if port == 80 else set()
        origins = {f"http://{name}" for name in hosts}
        if self._behind_tls is not None:
            name = self._behind_tls.lower().removesuffix(":443")
            hosts |= {name} if ":" in name else {name, f"{name}:443"}
            origins |= {f"https://{name}"}
        return hosts, origins


def with_token(url: str, token: str) -> str:
    """The address for a browser: what follows # is not sent to anybody, and the page takes it away."""
    return f"{url}/#token={token}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
