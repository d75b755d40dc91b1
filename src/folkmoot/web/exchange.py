"""What requests bring and what they are answered with: bodies, read within bounds; JSON, files."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from folkmoot.web.refusals import RefusalError

MOST_BODY: Final = 16 << 20  # bytes
BODY_SECONDS: Final = 60.0  # in which a body must have come
JSON: Final = "application/json"
CSV: Final = "text/csv"


async def body_of(request: Request, *kinds: str) -> tuple[str, bytes]:
    """Which of these kinds a body is, and the body; refused if it is too long, too slow, or of another."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise RefusalError(415, f"Content-Type must be {' or '.join(kinds)}: got {kind!r:.60}")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RefusalError(415, "a body must not be compressed: send it as it is")
    said = request.headers.get("content-length", "0")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            if said.isdecimal() and len(said) < 18 and int(said) > MOST_BODY:
                raise _too_long()
            async for part in request.stream():
                body += part
                if len(body) > MOST_BODY:
                    raise _too_long()
    except TimeoutError:
        close = {"Connection": "close"}
        raise RefusalError(408, f"a body must have come within {BODY_SECONDS:.0f} s", close) from None
    return kind, bytes(body)


def _too_long() -> RefusalError:
    said = f"a body must have at most {MOST_BODY:,} bytes: put more with folkmoot ask --via"
    return RefusalError(413, said, {"Connection": "close"})


def json_of(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(msgspec.json.encode(value), status, dict(headers or {}), media_type=JSON)


def file_of(data: bytes, kind: str, name: str) -> Response:
    """A file to be saved under a name."""
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
