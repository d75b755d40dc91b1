"""What is wrong with a request: raised anywhere, told as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.responses import Response


class Problem(msgspec.Struct, frozen=True):
    """Why a request was not done."""

    status: int
    title: str
    detail: str  # the line that the prompt prints for the same mistake
    type: str = "about:blank"


class RefusalError(Exception):
    """A request that is not done; ``status`` is HTTP's."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.headers = status, dict(headers or {})

    def response(self) -> Response:
        """What the client is told."""
        detail = " ".join(str(self).split())
        problem = Problem(self.status, HTTPStatus(self.status).phrase, detail)
        return Response(
            msgspec.json.encode(problem),
            self.status,
            self.headers,
            media_type="application/problem+json",
        )
