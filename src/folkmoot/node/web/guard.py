"""Access on TCP: the names of the page, tokens, and the headers of every answer.

A web site can reach a page on loopback through the browser of its visitor, by a name that leads to 127.0.0.1.
So the Host of a request must be one of the page's own names, and so must its Origin, if there is one.
Everything that tells of the moot needs a token.
"""

from __future__ import annotations

import hmac
import os
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from folkmoot.node.log import Journal
from folkmoot.node.web.files import PATHS
from folkmoot.node.web.requests import RefusalError, refusal_of

Right: TypeAlias = Literal["ask", "read", "nobody"]
ASK: Final = "token"  # the file of the token that may do everything, in the node's folder
READ: Final = "token.read"  # that of the one that may only look
PUBLIC: Final = frozenset(["/openapi.json", "/healthz", "/readyz", *PATHS])  # needs no token
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
READING: Final = ("GET", "HEAD")


class Answering:
    """Lets requests in that are allowed, and turns what goes wrong into one line for the client."""

    def __init__(self, app: ASGIApp, admit: Callable[[Scope], Right], log: Journal) -> None:
        self._app, self._admit, self._log = app, admit, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)  # the page has a policy of its own
            await send(message)

        scope["app"] = self  # so that the router raises what it has to complain about
        try:
            scope.setdefault("state", {})["right"] = self._admit(scope)
            await self._app(scope, receive, sending)
            return
        except ClientDisconnect:
            return
        except HTTPException as error:  # of the router: no such path, or not this method
            said = f"{scope['method']} {scope['path']} is not answered here: /openapi.json lists what is"
            refusal = RefusalError(error.status_code, said, error.headers)
        except Exception as error:
            found = refusal_of(error)
            if found is None:
                self._log.write("error", "unexpected", what=f"page: {scope['path']}", error=repr(error))
                found = RefusalError(500, "something went wrong in the node: its log says what")
            refusal = found
        if not begun:
            to_openai = scope["path"].startswith("/v1/")
            await refusal.response(to_openai=to_openai)(scope, receive, sending)


class Guard:
    """The conditions for requests on TCP."""

    def __init__(
        self,
        tokens: dict[Right, str],
        hosts: Collection[str],
        origins: Collection[str],
        counts: Counter[str],
        known: Callable[[tuple[str, int] | None], None],
    ) -> None:
        """``known`` is told which clients have shown a token."""
        self._tokens = {right: token.encode() for right, token in tokens.items()}
        self._hosts, self._origins = frozenset(hosts), frozenset(origins)
        self._counts, self._known = counts, known

    def admit(self, scope: Scope) -> Right:
        """The right of a request; RefusalError if it has none."""
        headers = Headers(scope=scope)
        called = headers.get("host", "")
        if called.lower() not in self._hosts:
            self._refuse("host")
            raise RefusalError(
                421, f"this page is not called {called!r:.80}: use the address that it was started with"
            )
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            self._refuse("origin")
            raise RefusalError(403, f"requests of {origin!r:.80} are not answered, only those of the page")
        right = self._right(headers.get("authorization", ""))
        if right != "nobody":
            self._known(scope.get("client"))
        elif scope["path"] not in PUBLIC:
            self._refuse("token")
            raise RefusalError(
                401,
                "the token is wrong: send Authorization: Bearer TOKEN with what the file 'token' or "
                "'token.read' of the node's folder holds",
                {"WWW-Authenticate": "Bearer", "Connection": "close"},
            )
        if right == "read" and scope["method"] not in READING:
            self._refuse("read_only")
            raise RefusalError(403, "this token may only read: use that of the file 'token'")
        return right

    def _right(self, authorization: str) -> Right:
        """The right of a token; both are compared whole, so that time tells nothing."""
        scheme, _, shown = authorization.partition(" ")
        given = shown.strip().encode() if scheme.lower() == "bearer" else b""
        fits = {right: hmac.compare_digest(given, token) for right, token in self._tokens.items()}
        return "ask" if fits["ask"] else "read" if fits["read"] else "nobody"

    def _refuse(self, why: str) -> None:
        self._counts[f"refused_page_{why}"] += 1


# Tokens, in files that only the owner of the folder can read


def own_token(folder: Path, name: str = ASK) -> str:
    """A token of a node, made when it is first needed; ValueError if others can read its file."""
    path = folder / name
    with (
        suppress(FileExistsError),
        os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file,
    ):
        file.write(os.urandom(24).hex() + "\n")
    if path.stat().st_mode & 0o077:
        raise ValueError(
            f"{path} must be readable by its owner only: type chmod 600 {path}, or delete it for a new one"
        )
    return read_token(path)


def read_token(path: Path) -> str:
    """The token in a file; ValueError if there is none."""
    try:
        token = path.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        raise ValueError(f"there is no {path}: folkmoot node run --page makes it") from None
    if len(token) != 48 or token.strip("0123456789abcdef"):
        raise ValueError(
            f"{path} must hold a token, 48 digits and letters a to f: delete it and start the node again "
            f"for a new one"
        )
    return token


def with_token(url: str, token: str) -> str:
    """The address for a browser: what follows # is not sent to anybody, and the page takes it away."""
    return f"{url}/#token={token}"
