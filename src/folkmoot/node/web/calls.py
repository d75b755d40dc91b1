"""How calls over HTTP are described where they are answered; ``/openapi.json`` is made of that.

``@call`` in front of a method says what it is for, what it takes and what it answers, as types. Address and
body are read by these types before the method is called.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from folkmoot import __version__
from folkmoot.node.web.guard import PUBLIC
from folkmoot.node.web.requests import JSON, Problem, body_of, decoded, in_address, kind_of

FILE: Final = "application/octet-stream"
PROBLEM: Final = "application/problem+json"
_REFUSED: Final = {
    400: "It does not fit this description.",
    404: "There is no such thing here.",
    409: "The node cannot do it now, or its policy is against it.",
    422: "It fits this description, and cannot be done as it is.",
}
_REFS: Final = "#/components/schemas/{name}"
_Answer = TypeVar("_Answer", bound=Callable[..., Coroutine[Any, Any, Any]])


@dataclass(frozen=True)
class Header:
    """Something that is said in a header."""

    name: str
    about: str
    schema: Mapping[str, Any]

    def described(self) -> dict[str, Any]:
        """As a parameter of OpenAPI."""
        return {"name": self.name, "in": "header", "description": self.about, "schema": self.schema}


@dataclass(frozen=True)
class Call:
    """One call: ``answer`` and the values of ``takes`` are types, ``str`` for text and ``bytes`` for a file.

    ``refused`` are statuses of refusals besides those that what it asks for brings along. ``more`` are others
    that are no refusals, such as 503 of ``/readyz``, with type and why.
    """

    method: str
    path: str
    about: str
    answer: Any
    media: str = JSON
    refused: tuple[int, ...] = ()
    query: type[msgspec.Struct] | None = None  # what the address may say
    asks: tuple[Header, ...] = ()  # headers
    takes: Mapping[str, Any] = field(default_factory=dict)  # by media type
    reads: bool = True  # whether the method is handed address and body, and does not read them itself
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)  # of the answer, and what they say
    more: Mapping[int, tuple[Any, str]] = field(default_factory=dict)

    @property
    def refusals(self) -> list[int]:
        """The statuses of all refusals that are its own."""
        read = self.query is not None or self.takes
        return sorted({*self.refused, *([400] if read else []), *([404] if "{" in self.path else [])})

    @property
    def kinds(self) -> list[Any]:
        """The types that it is described with."""
        found = [self.answer, *self.takes.values(), *(kind for kind, _ in self.more.values())]
        return [kind for kind in found if kind not in (str, bytes, dict)]

    async def answered(self, method: Callable[..., Any], request: Request) -> Response:
        """Read what is asked, let the method answer, and write what it gives back."""
        given: list[Any] = []
        if self.reads and self.query is not None:
            given.append(in_address(dict(request.query_params), self.query))
        if self.reads and self.takes:
            kind = kind_of(request, *self.takes)
            body = await body_of(request)
            given.append(body if self.takes[kind] is bytes else decoded(body, self.takes[kind]))
        found = await method(request, *given)
        return found if isinstance(found, Response) else json_of(found, self.status)


_NAMES: Final = {
    "motion": "The name of the motion, 4 or more of its digits, or 'last'.",
    "about": "The name of a motion, or the digest of a roster.",
    "participant": "Its name.",
}


def call(method: str, path: str, about: str, answer: Any, **more: Any) -> Callable[[_Answer], _Answer]:
    """Describe a method that answers a call."""

    def marked(function: _Answer) -> _Answer:
        function.call = Call(method, path, about, answer, **more)  # type: ignore[attr-defined]
        return function

    return marked


def calls_of(api: type) -> dict[str, Call]:
    """The calls of a class by the names of its methods, in their order."""
    found = {name: getattr(method, "call", None) for name, method in vars(api).items()}
    return {name: each for name, each in found.items() if each is not None}


def described(calls: Iterable[Call]) -> dict[str, Any]:
    """The description (OpenAPI 3.1); the same for every node of a version."""
    calls = list(calls)
    kinds = list(dict.fromkeys(kind for each in calls for kind in (*each.kinds, Problem)))
    found, components = msgspec.json.schema_components(kinds, ref_template=_REFS)
    schemas: dict[Any, Any] = {str: {"type": "string"}, bytes: {}, dict: {"type": "object"}}
    schemas |= dict(zip(kinds, found, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in calls:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, schemas)
    token = {
        "type": "http",
        "scheme": "bearer",
        "description": "On TCP. The socket in the node's folder needs none.",
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "A folkmoot node", "version": __version__, "license": {"name": "Apache-2.0"}},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"token": token}},
    }


def _operation(call: Call, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    def says(what: str, kind: Any, media: str = JSON) -> dict[str, Any]:
        return {"description": what, "content": {media: {"schema": schemas[kind]}}}

    answer = says(_about(call.answer), call.answer, call.media)
    if call.headers:
        answer["headers"] = {
            name: {"description": what, "schema": schemas[str]} for name, what in call.headers.items()
        }
    operation: dict[str, Any] = {
        "summary": call.about,
        "responses": {
            str(call.status): answer,
            **{str(status): says(what, kind) for status, (kind, what) in call.more.items()},
            **{str(status): says(_REFUSED[status], Problem, PROBLEM) for status in call.refusals},
            "default": says("Why it was not done, in one line.", Problem, PROBLEM),
        },
    }
    text = {"type": "string", "minLength": 1}
    operation["parameters"] = [
        *(
            {"name": name, "in": "path", "required": True, "description": what, "schema": text}
            for name, what in _NAMES.items()
            if f"{{{name}}}" in call.path
        ),
        *(each.described() for each in call.asks),
        *_described_query(call.query),
    ]
    if call.takes:
        content = {media: {"schema": schemas[kind]} for media, kind in call.takes.items()}
        operation["requestBody"] = {"required": True, "content": content}
    return operation | ({"security": []} if call.path in PUBLIC else {})


def _described_query(query: type[msgspec.Struct] | None) -> Iterator[dict[str, Any]]:
    """Parameters of OpenAPI, by the fields of a struct; ``Meta`` has their descriptions."""
    for each in () if query is None else msgspec.structs.fields(query):
        schema = msgspec.json.schema(each.type)
        parameter = {"name": each.encode_name, "in": "query", "required": each.required}
        parameter["description"] = schema.pop(
            "description", f"A term of the motion, with text/csv: {each.name}."
        )
        if each.default not in (msgspec.NODEFAULT, None):
            schema["default"] = msgspec.to_builtins(each.default)
        lists = {"style": "form", "explode": False} if schema.get("type") == "array" else {}  # a,b
        yield {**parameter, "schema": schema, **lists}


def _about(kind: Any) -> str:
    """The first line of what a type says of itself."""
    if kind in (str, bytes, dict):
        return {str: "Text.", bytes: "A file.", dict: "OpenAPI 3.1."}[kind]
    return str(kind.__doc__).partition("\n")[0]


def json_of(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(msgspec.json.encode(value), status, dict(headers or {}), media_type=JSON)
