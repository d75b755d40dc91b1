"""Requests: bodies and addresses read within bounds, the inputs in them, and why a request is refused.

Inputs are JSON, a table or bytes. A refusal is ``application/problem+json`` (RFC 9457).
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from folkmoot.checks import ArgumentError
from folkmoot.node.client import RAW
from folkmoot.node.durations import seconds_of
from folkmoot.node.service.input_files import inputs_in_text
from folkmoot.node.service.interface import NotFoundError, RefusedError
from folkmoot.node.session.header import MOST_INPUTS
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.database import DamagedError
from folkmoot.node.web import shapes
from folkmoot.node.web.shapes import DURATIONS, LISTS, MOST_BODY, TERMS
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.schema import Column


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


JSON: Final = "application/json"
CSV: Final = "text/csv"
TOML: Final = "application/toml"

MOST_RAW: Final = 1 << 30  # bytes of numbers, which go to a file
MOST_HEAD: Final = 4 << 20  # bytes of the line before them
SILENCE: Final = 30.0  # seconds in which the next part of a body must have come
AT_ONCE: Final = 2  # bodies that are read
BODY: Final = "the body"


@dataclass(frozen=True, eq=False)
class Asked:
    """A motion to be put: inputs, and its terms, which are not checked yet."""

    batch: Batch
    terms: Terms
    digest: bytes  # of all that was sent


def kind_of(request: Request, *kinds: str) -> str:
    """Which of these kinds a body is."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in kinds:
        raise RefusalError(415, f"Content-Type must be {' or '.join(kinds)}: got {kind!r:.60}")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise RefusalError(415, "a body must not be compressed: send it as it is")
    return kind


async def parts_of(request: Request, most: int) -> AsyncIterator[bytes]:
    """The parts of a body; refused if it is too long or too slow."""
    said = request.headers.get("content-length", "0")
    if said.isdecimal() and int(said[:20]) > most:
        raise _too_long(most)
    stream, length = aiter(request.stream()), 0
    while True:
        try:
            async with asyncio.timeout(SILENCE):
                part = await anext(stream, None)
        except TimeoutError:
            close = {"Connection": "close"}
            raise RefusalError(408, f"nothing of the body came for {SILENCE:.0f} s", close) from None
        if part is None:
            return
        length += len(part)
        if length > most:
            raise _too_long(most)
        yield part


async def body_of(request: Request) -> bytes:
    """A whole body."""
    return b"".join([part async for part in parts_of(request, MOST_BODY)])


def decoded(body: bytes, kind: Any, what: str = BODY) -> Any:
    """JSON of a type; what the schema does not allow is refused with 400."""
    try:
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.ValidationError:  # 3.0 is an integer in JSON, and not for msgspec
            return msgspec.convert(_whole(msgspec.json.decode(body)), kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RefusalError(400, f"{what} must be JSON as /openapi.json says: {error}") from None


def in_address(said: dict[str, str], kind: type[msgspec.Struct]) -> Any:
    """The query of an address as a struct; lists are a,b. Refused with 400 if it does not fit."""
    known = [each.encode_name for each in msgspec.structs.fields(kind)]
    strange = next((name for name in said if name not in known), None)
    if strange is not None and kind.__struct_config__.forbid_unknown_fields:
        raise RefusalError(400, f"the address may say {', '.join(known)}: got {strange!r:.60}")
    given: dict[str, Any] = {
        name: (value.split(",") if value else []) if name in LISTS else value for name, value in said.items()
    }
    given |= {name: value == "true" for name, value in said.items() if value in ("true", "false")}
    try:
        found = msgspec.convert(given, kind, strict=False)
        if any(each != each for each in msgspec.structs.astuple(found)):
            raise msgspec.ValidationError("Expected a number, got nan")
    except msgspec.ValidationError as error:
        got = "&".join(f"{name}={value}" for name, value in said.items())
        why = f"the address must be as /openapi.json says: {error}: got {got!r:.80}"
        raise RefusalError(400, why) from None
    return found


def _whole(value: Any) -> Any:
    """The same with whole numbers as integers."""
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Reader:
    """Reads what is to be put; a few bodies at once, since each takes memory or room on the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._some = asyncio.Semaphore(AT_ONCE)

    async def asked(self, request: Request) -> Asked:
        """Inputs and terms."""
        kind = kind_of(request, JSON, CSV, RAW)
        query = dict(request.query_params)
        if kind != CSV and query:
            raise RefusalError(
                422,
                f"only with text/csv terms are in the address: got {next(iter(query))!r:.60} there",
            )
        async with self._some:
            if kind == RAW:
                return await self._raw(request)
            body = await body_of(request)
            digest = hashlib.sha256(msgspec.msgpack.encode([kind, body, request.url.query])).digest()
            if kind == JSON:
                batch, terms = await asyncio.to_thread(_in_json, body)
            else:
                batch, terms = await asyncio.to_thread(_in_table, body, query)
            return Asked(batch, terms, digest)

    async def _raw(self, request: Request) -> Asked:
        """A line of JSON, then numbers row by row: in a file without a name, whose mapping outlives it."""
        digest = hashlib.sha256(RAW.encode())
        with tempfile.TemporaryFile(dir=self._folder) as file:
            async for part in parts_of(request, MOST_RAW):
                digest.update(part)
                await asyncio.to_thread(file.write, part)
            batch, terms = await asyncio.to_thread(_mapped, file)
        return Asked(batch, terms, digest.digest())


def _in_json(body: bytes) -> tuple[Batch, Terms]:
    question = decoded(body, shapes.Question)
    rows: Any = question.inputs
    if len({type(row) for row in rows}) > 1:
        raise ValueError(f"{BODY}: inputs must be all rows of numbers, all texts or all records")
    if isinstance(rows[0], list):
        odd = next((i for i, row in enumerate(rows) if len(row) != len(rows[0])), None)
        if odd is not None:
            raise ValueError(
                f"{BODY}: row {odd} must have {len(rows[0])} numbers, as row 0 has: got {len(rows[odd])}"
            )
        rows = np.array(rows, dtype=np.float64)
    columns = question.columns
    if isinstance(rows[0], dict):  # a name alone says nothing that a record does not
        columns = [each for each in columns if not isinstance(each, str)]
    return Batch(rows, BODY, _schema(columns)), _terms_in(question)


def _in_table(body: bytes, query: dict[str, str]) -> tuple[Batch, Terms]:
    return inputs_in_text(body, BODY), _terms_in(in_address(query, shapes.TermsSaid))


def _terms_in(said: Any) -> Terms:
    return terms_of({name: getattr(said, name) for name in TERMS})


def terms_of(values: Mapping[str, Any]) -> Terms:
    """Terms by name, as JSON has them; they are not checked yet."""
    return Terms(
        **{**values, **{name: seconds_of(values[name], name) for name in DURATIONS if name in values}}
    )


def _mapped(file: BinaryIO) -> tuple[Batch, Terms]:
    file.seek(0)
    first = file.readline(MOST_HEAD + 1)
    if len(first) > MOST_HEAD:
        raise RefusalError(413, f"the first line must have at most {MOST_HEAD:,} bytes")
    if not first.endswith(b"\n"):
        raise RefusalError(400, f"{BODY} must begin with a line of JSON: got no end of a line")
    head = decoded(first, shapes.Head, "the first line")
    kind = np.dtype(head.dtype)
    size, row = file.seek(0, 2) - len(first), head.width * kind.itemsize
    if not size or size % row or size // row > MOST_INPUTS:
        raise ValueError(
            f"{BODY} must hold 1 to {MOST_INPUTS:,} rows of {head.width} numbers of {kind.itemsize} bytes: "
            f"got {size:,} bytes"
        )
    array = np.memmap(file, dtype=kind, mode="r", offset=len(first), shape=(size // row, head.width))
    if kind.kind == "b" and array.view(np.uint8).max() > 1:
        raise ValueError(f"{BODY} must hold the bytes 0 and 1 only, since its numbers are true or false")
    return Batch(array, BODY, _schema(head.columns)), _terms_in(head)


def _schema(columns: list[Any]) -> list[Column]:
    return [
        Column(each) if isinstance(each, str) else Column(*msgspec.structs.astuple(each)) for each in columns
    ]


def _too_long(most: int) -> RefusalError:
    said = f"a body must have at most {most:,} bytes: send more as {RAW}, as folkmoot.node.client does"
    return RefusalError(413, said, {"Connection": "close"})
