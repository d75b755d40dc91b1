"""The page for people: files that are sent as they are, with a policy of their own.

Hand-written markup, style and script, shipped with the package; what the player is made of is used here, too.
They hold nothing of the moot and need no token; the page shows its token to ask for the rest.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",  # no other site holds on to its window
    "Cross-Origin-Resource-Policy": "same-origin",
}
_KINDS: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_OWN: Final = (
    "page.html", "page.css", "icon.svg", "link.js", "words.js", "moot.js", "motion.js", "decisions.js",
    "ask.js", "roster.js", "page.js",
)  # fmt: skip
_PLAYER: Final = ("player.css", "parts.js")
FILES: Final = {"/": "page.html"} | {f"/{name}": name for name in (*_OWN[1:], *_PLAYER)}
PATHS: Final = tuple(FILES)


def routes() -> list[Route]:
    """The paths of the files."""
    return [Route(path, _send, methods=["GET"]) for path in PATHS]


async def _send(request: Request) -> Response:
    name = FILES[request.scope["path"]]
    kind = _KINDS[name.rpartition(".")[2]]
    return Response(_content(name), media_type=f"{kind}; charset=utf-8", headers=_HEADERS)


@cache
def _content(name: str) -> bytes:
    folder = files("folkmoot.player") if name in _PLAYER else files("folkmoot.node.web") / "static"
    return (folder / name).read_bytes()
