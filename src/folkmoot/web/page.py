"""``--page``: the HTTP face of a node, an API for programs and a page for people; its tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from folkmoot.network.service.door import TOKEN, own_token, read_token
from folkmoot.web.site import PAGE, Site, with_token

if TYPE_CHECKING:
    from folkmoot.network.service.operation import Shown

READ_TOKEN: Final = "token.read"  # noqa: S105 (the name of a file)


class Page:
    """The HTTP face of a node.

    Parameters
    ----------
    address : str
        HOST:PORT; port 0 is any. Only a loopback host, unless there is a proxy.
    behind_tls : str or None
        The name, or NAME:PORT, under which a proxy with TLS serves it to others.
    tell : callable or None
        Called with the address for a browser, which holds the token, once it is open.

    Examples
    --------
    >>> from folkmoot.web.page import Page
    >>> Page("a.de:7700")
    Traceback (most recent call last):
        ...
    ValueError: --page must be on this machine, such as 127.0.0.1:7700 (or --page-behind-tls): got 'a.de:7700'
    """

    option = "--page"

    def __init__(
        self, address: str, behind_tls: str | None = None, tell: Callable[[str], object] | None = None
    ) -> None:
        self.address, self._tell = address, tell
        self._site = Site(address, behind_tls)
        self._api: Any = None

    async def open(self, shown: Shown) -> str:
        """Listen; returns the address."""
        from folkmoot.web.api import Api

        ask, read = _private(shown.folder, TOKEN), _private(shown.folder, READ_TOKEN)
        self._api = Api(shown)
        where = await self._site.open(
            self._api.router(), ask, read, shown.node.counts, shown.log, shown.folder
        )
        if self._tell is not None:
            self._tell(self._site.address)
        return where

    async def close(self) -> None:
        """End streams, answer what is under way, and go."""
        if self._api is not None:
            self._api.feed.close()
        await self._site.close()


class Opened(NamedTuple):
    """Where the page of a running node is."""

    url: str
    token_file: Path
    address: str  # with the token


def opened_at(folder: Path, *, read_only: bool = False) -> Opened:
    """Where the page of a running node is; ValueError if it has none."""
    token_file = folder / (READ_TOKEN if read_only else TOKEN)
    try:
        url = json.loads((folder / PAGE).read_text(encoding="utf-8"))["page"]
        return Opened(url, token_file, with_token(url, read_token(token_file)))
    except FileNotFoundError as error:
        if Path(error.filename).name == PAGE:
            raise ValueError(
                f"the node in {folder} has no page: start it with "
                f"folkmoot node run {folder} --page 127.0.0.1:7700"
            ) from None
        raise ValueError(
            f"there is no {token_file}: stop the node in {folder} and start it again for a new one"
        ) from None
    except (json.JSONDecodeError, KeyError, TypeError):
        raise ValueError(
            f"{folder / PAGE} is damaged: stop the node in {folder} and start it again"
        ) from None


def _private(folder: Path, name: str) -> str:
    """A token that only its owner can read."""
    token, path = own_token(folder, name), folder / name
    if path.stat().st_mode & 0o077:
        raise ValueError(
            f"{path} must be readable by its owner only: type chmod 600 {path}, or delete it for a new one"
        )
    return token
