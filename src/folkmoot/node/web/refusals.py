"""Refused requests, as ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from starlette.responses import Response

from folkmoot.checks import ArgumentError
from folkmoot.node.service.interface import NotFoundError, RefusedError
from folkmoot.node.storage.database import DamagedError


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request was not done."""

    status: Annotated[int, msgspec.Meta(ge=400, le=599)]
    title: str
    detail: str  # one line
    message: str = ""  # the same with places for the names of arguments, as ``ArgumentError`` has them
    given: dict[str, Any] = {}  # the values that the message shows


class RefusalError(Exception):
    """A request that is not done; ``status`` is that of HTTP."""

    def __init__(
        self,
        status: int,
        detail: str,
        headers: Mapping[str, str] | None = None,
        about: ArgumentError | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.headers, self.about = status, dict(headers or {}), about

    def response(self, *, to_openai: bool = False) -> Response:
        """The answer for the client; clients of OpenAI's form look for the line in ``error``."""
        problem = Problem(
            self.status,
            HTTPStatus(self.status).phrase,
            " ".join(str(self).split()),
            "" if self.about is None else self.about.message,
            {} if self.about is None else dict(self.about.given),
        )
        answer = msgspec.to_builtins(problem, enc_hook=_plain)
        if to_openai:
            answer["error"] = {"message": problem.detail, "type": problem.title, "code": None, "param": None}
        data = msgspec.json.encode(answer)
        return Response(data, self.status, self.headers, media_type="application/problem+json")


def refusal_of(error: Exception) -> RefusalError | None:
    """The refusal that an error of the node is to a client; None if it is a mistake of the node."""
    if isinstance(error, RefusalError):
        return error
    if isinstance(error, DamagedError):
        return RefusalError(500, str(error))
    if isinstance(error, NotFoundError):
        return RefusalError(404, str(error))
    if isinstance(error, RefusedError):
        return RefusalError(409, str(error))
    if isinstance(error, ValueError):
        return RefusalError(422, str(error), about=error if isinstance(error, ArgumentError) else None)
    return None


def _plain(value: object) -> object:
    """A value of a message, as JSON has it; numbers of NumPy are numbers, all else is text."""
    return value.item() if hasattr(value, "item") else str(value)
