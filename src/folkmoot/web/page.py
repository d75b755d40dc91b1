"""``--page``: where a node answers HTTP, under which names, and the file that says so."""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import json
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from folkmoot.extras import to_install
from folkmoot.network.membership.fields import is_everywhere, parse_address
from folkmoot.network.service.door import TOKEN, own_token

if TYPE_CHECKING:
    from folkmoot.network.service.operation import Shown

READ_TOKEN: Final = "token.read"  # noqa: S105 (the name of a file)
PAGE: Final = "page.json"  # in the node's folder, mode 0600: the address and the token, for ``Client.of``
_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")  # of this machine


class Page:
    """The HTTP face of a node.

    Parameters
    ----------
    address : str
        HOST:PORT; port 0 is any. Only a loopback host, unless there is a proxy.
    behind_tls : str or None
        The name, or NAME:PORT, under which a proxy with TLS serves it to others.

    Examples
    --------
    >>> from folkmoot.web.page import Page
    >>> Page("a.de:7700")
    Traceback (most recent call last):
        ...
    ValueError: --page must be on this machine, such as 127.0.0.1:7700 (or --page-behind-tls): got 'a.de:7700'
    """

    option = "--page"

    def __init__(self, address: str, behind_tls: str | None = None) -> None:
        self.address, self._behind_tls = address, behind_tls
        self._host, self._port = parse_address(address, any_port=True)
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
                f"--page must be on this machine, such as 127.0.0.1:{self._port} "
                f"(or --page-behind-tls): got {address!r}"
            )
        for package in ("starlette", "uvicorn"):
            if importlib.util.find_spec(package) is None:
                raise ModuleNotFoundError(
                    f"--page needs {package}, which is not installed: {to_install('page')}",
                    name=package,
                )
        self._api: Any = None
        self._server: Any = None
        self._serving: asyncio.Task[None] | None = None
        self._file: Path | None = None

    async def open(self, shown: Shown) -> str:
        """Listen; returns the address."""
        from folkmoot.web.api import Api
        from folkmoot.web.connections import server
        from folkmoot.web.guard import Guard

        tokens = {"ask": _private(shown.folder, TOKEN), "read": _private(shown.folder, READ_TOKEN)}
        listener = await self._listener()
        port = listener.getsockname()[1]
        hosts, origins = self._names(port)
        self._api = Api(shown)
        guard = Guard(
            self._api.router(),
            tokens=tokens,  # type: ignore[arg-type]
            hosts=hosts,
            origins=origins,
            counts=shown.node.counts,
            log=shown.log,
        )
        self._server = server(guard, shown.node.counts)
        self._serving = asyncio.ensure_future(self._server.serve(sockets=[listener]))
        where = self._reached_at(port)
        self._file = shown.folder / PAGE
        self._file.unlink(missing_ok=True)
        with os.fdopen(os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump({"url": f"http://{where}", "token": tokens["ask"]}, file)
        return where

    async def close(self) -> None:
        """End streams, answer what is under way, and go."""
        if self._api is not None:
            self._api.feed.close()
        if self._serving is not None:
            await self._server.leave(self._serving)
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


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _private(folder: Path, name: str) -> str:
    """A token that only its owner can read."""
    token, path = own_token(folder, name), folder / name
    if path.stat().st_mode & 0o077:
        raise ValueError(
            f"{path} must be readable by its owner only: type chmod 600 {path}, or delete it for a new one"
        )
    return token
