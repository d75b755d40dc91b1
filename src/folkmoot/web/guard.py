"""Who may come in: the names by which the page is called, tokens, rates; and what every answer carries.

A page on loopback can be reached by every web site that its user visits, through the user's browser: a name
that leads to 127.0.0.1 is enough. So the Host of a request must be one of the page's own names, and so must
its Origin, if a browser sends one. Everything but the description of the API needs a token.
"""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from collections.abc import Collection
from typing import Final, Literal, TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from folkmoot.node.log import Journal
from folkmoot.node.transports.budget import Budget
from folkmoot.web.files import PATHS
from folkmoot.web.refusals import RefusalError

Right: TypeAlias = Literal["ask", "read", "nobody"]
RATES: Final[dict[Right, tuple[float, float]]] = {  # requests a second, and how many at once
    "ask": (500.0, 500.0),
    "read": (500.0, 500.0),
    "nobody": (10.0, 50.0),
}
PUBLIC_RATE: Final = (
    50.0,
    200.0,
)  # a guesser of tokens does not keep the page from others
PUBLIC: Final = frozenset(["/openapi.json", *PATHS])  # what needs no token: it tells nothing of the moot
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_READING: Final = ("GET", "HEAD")


class Guard:
    """Stands before the app: lets a request in, or says why not."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: dict[Right, str],
        hosts: Collection[str],
        origins: Collection[str],
        counts: Counter[str],
        log: Journal,
    ) -> None:
        self._app, self._counts, self._log = app, counts, log
        self._tokens = {right: token.encode() for right, token in tokens.items()}
        self._hosts, self._origins = frozenset(hosts), frozenset(origins)
        self._budgets = {right: Budget(*rate) for right, rate in RATES.items()}
        self._public = Budget(*PUBLIC_RATE)

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
        refusal: RefusalError
        try:
            self._admit(scope)
            await self._app(scope, receive, sending)
            return
        except RefusalError as error:
            refusal = error
        except ClientDisconnect:
            return
        except HTTPException as error:  # of the router: no such path, or not this method
            said = f"{scope['method']} {scope['path']} is not answered here: /openapi.json lists what is"
            refusal = RefusalError(error.status_code, said, error.headers)
        except Exception as error:
            self._log.write("error", "unexpected", what=f"page: {scope['path']}", error=repr(error))
            refusal = RefusalError(500, "something went wrong in the node; its log says what")
        if not begun:
            await refusal.response()(scope, receive, sending)

    def _admit(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            self._refuse("host")
            called = headers.get("host", "")
            said = f"this page is not called {called!r:.80}: use the address it was started with"
            raise RefusalError(421, said)
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in self._origins:
            self._refuse("origin")
            raise RefusalError(403, f"requests of {origin!r:.80} are not answered: only the page's own are")
        right = self._right(headers.get("authorization", ""))
        public = right == "nobody" and scope["path"] in PUBLIC
        budget = self._public if public else self._budgets[right]
        wait = budget.pay(_now())
        if wait:
            self._refuse("rate")
            raise RefusalError(
                429, "too many requests: try again in a moment", {"Retry-After": str(1 + int(wait))}
            )
        scope["state"]["right"] = right
        if right == "nobody" and not public:
            self._refuse("token")
            raise RefusalError(
                401,
                "the token is wrong: send Authorization: Bearer TOKEN with what the file 'token' or "
                "'token.read' of the node's folder holds",
                {"WWW-Authenticate": "Bearer"},
            )
        if right == "read" and scope["method"] not in _READING:
            self._refuse("read_only")
            raise RefusalError(403, "this token may only read: use that of the file 'token'")

    def _right(self, authorization: str) -> Right:
        """What a token allows; both are compared whole, so that time tells nothing."""
        scheme, _, shown = authorization.partition(" ")
        given = shown.strip().encode() if scheme.lower() == "bearer" else b""
        fits = {right: hmac.compare_digest(given, token) for right, token in self._tokens.items()}
        return "ask" if fits["ask"] else "read" if fits["read"] else "nobody"

    def _refuse(self, why: str) -> None:
        self._counts[f"refused_page_{why}"] += 1


def _now() -> float:
    return asyncio.get_running_loop().time()
