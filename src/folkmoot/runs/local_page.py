"""``folkmoot local --page``: one page for all nodes of a local moot, served by a thread of its own."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from folkmoot.network.service.door import TOKEN, read_token
from folkmoot.network.service.operation import bound
from folkmoot.network.storage.journal import Journal
from folkmoot.web.page import READ_TOKEN
from folkmoot.web.site import PAGE, Site

if TYPE_CHECKING:
    from folkmoot.runs.processes import Nodes

OPTION: Final = "--page-at"
ANY: Final = "127.0.0.1:0"
LOG: Final = "page.log"


class LocalPage:
    """Serves from ``open`` to ``close``; ``show`` is called when the nodes are there.

    Parameters
    ----------
    address : str
        HOST:PORT, on loopback; port 0 is any.
    names : sequence of str
        The nodes.

    Examples
    --------
    >>> from folkmoot.runs.local_page import LocalPage
    >>> LocalPage("a.de:7700", ["node000"])
    Traceback (most recent call last):
        ...
    ValueError: --page-at must be on this machine, such as 127.0.0.1:7700: got 'a.de:7700'
    """

    def __init__(self, address: str, names: Sequence[str]) -> None:
        self._address, self._names = address, names
        self._site = Site(address, option=OPTION)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._together: Any = None
        self._thread: threading.Thread | None = None

    def open(self, folder: Path) -> str:
        """Begin; returns the address for a browser, with the token. ``page.json`` in the folder has both."""
        opened: Future[str] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(folder, opened)), name="page", daemon=True
        )
        self._thread.start()
        return opened.result()

    def show(self, nodes: Nodes, liars: Collection[int]) -> None:
        """The nodes have started."""
        from folkmoot.web.relay import Place

        places = {}
        for place, settings in enumerate(nodes.settings):
            told = msgspec.json.decode((settings.folder / PAGE).read_bytes())
            where = urlsplit(told["url"])
            read = read_token(settings.folder / READ_TOKEN)
            ask = read_token(settings.folder / TOKEN)
            places[nodes.roster[place].name] = Place(where.hostname or "", where.port or 0, ask, read)
        lying = [nodes.roster[place].name for place in liars]
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._together.show, places, lying)

    def close(self) -> None:
        """End, whoever is still looking."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set_result, None)
            self._thread.join(10.0)

    async def _serve(self, folder: Path, opened: Future[str]) -> None:
        from folkmoot.web.together import Together

        self._stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._together = Together(self._names)
        with (folder / LOG).open("a") as log:
            opening = self._site.open(
                self._together.router(), secrets.token_hex(24), secrets.token_hex(24), Counter(),
                Journal("warning", log), folder,
            )  # fmt: skip
            try:
                await bound(opening, self._address, OPTION)
            except BaseException as error:
                (folder / LOG).unlink()  # so that the folder can be given again
                opened.set_exception(error)
                return
            self._loop = asyncio.get_running_loop()
            opened.set_result(self._site.address)
            try:
                await self._stop
            finally:
                self._together.close()
                await self._site.close()
