"""Motions that come over HTTP: inputs as JSON or CSV, terms, and the keys by which nothing is put twice."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from folkmoot.network.service.asking import Terms, put_of
from folkmoot.network.service.control import Spool, motion_of, propose, with_check_rows
from folkmoot.network.service.interfaces import Inputs
from folkmoot.network.service.operation import Shown
from folkmoot.network.wire.motion import Motion
from folkmoot.node.service.input_files import inputs_in_text
from folkmoot.node.wire.batch import Batch
from folkmoot.node.wire.schema import Column, MismatchError, Schema
from folkmoot.web import shapes
from folkmoot.web.refusals import RefusalError

MOST_KEYS: Final = 1000
LONGEST_KEY: Final = 200  # characters
BODY: Final = "the body"
PREVIEWED: Final = 6  # rows
_QUESTION: Final = msgspec.json.Decoder(shapes.Question)
_TERMS: Final = tuple(name for name in shapes.Question.__struct_fields__ if name not in ("rows", "columns"))
Asked = tuple[Batch, Terms]


def asked_in_json(body: bytes) -> Asked:
    """The inputs and terms in JSON."""
    try:
        question = _QUESTION.decode(body)
    except (msgspec.ValidationError, msgspec.DecodeError, RecursionError) as error:
        raise ValueError(
            f"{BODY} must be JSON with rows of numbers, as /openapi.json says: {error}"
        ) from None
    widths = [len(row) for row in question.rows]
    odd = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if odd is not None:
        raise ValueError(f"{BODY}: row {odd} must have {widths[0]} numbers, as row 0 has: got {widths[odd]}")
    schema = [
        Column(each) if isinstance(each, str) else Column(each.name, each.unit, each.low, each.high)
        for each in question.columns
    ]
    rows = np.array(question.rows, dtype=np.float64).reshape(len(widths), widths[0] if widths else 0)
    return Batch(rows, BODY, schema), _terms({name: getattr(question, name) for name in _TERMS})


def asked_in_text(body: bytes, query: Mapping[str, str]) -> Asked:
    """The inputs in a table, and the terms in the address."""
    strange = next((name for name in query if name not in _TERMS), None)
    if strange is not None:
        raise ValueError(f"the address may say {', '.join(_TERMS)}: got {strange!r:.60}")
    said: dict[str, Any] = dict(query)
    if "labels" in said:
        said["labels"] = [label.strip() for label in said["labels"].split(",")]
    for name in ("trust", "regression", "peer_review"):
        if name in said:
            said[name] = {"true": True, "false": False}.get(said[name].lower(), said[name])
    try:
        question = msgspec.convert({"rows": [], **said}, shapes.Question, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"the address must say terms as /openapi.json has them: {error}") from None
    return inputs_in_text(body, BODY), _terms({name: getattr(question, name) for name in _TERMS})


def _terms(said: Mapping[str, Any]) -> Terms:
    return Terms(**said)


class Putting:
    """Puts motions through one node."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._keys: dict[str, tuple[bytes, asyncio.Task[bytes]]] = {}
        self._one = asyncio.Lock()  # one body at a time is read: it takes memory, and the node needs the time

    async def put(self, read: Callable[[], Asked], key: str | None, content: Sequence[bytes]) -> bytes:
        """Put a motion, and return its name; with a key that came before, that of the motion put then."""
        if key is None:
            return await self._put(read)
        if not 1 <= len(key) <= LONGEST_KEY:
            raise RefusalError(
                400, f"Idempotency-Key must have 1 to {LONGEST_KEY} characters: got {len(key)}"
            )
        digest = hashlib.sha256(msgspec.msgpack.encode(list(content))).digest()
        if key not in self._keys:
            self._keys[key] = (digest, asyncio.ensure_future(self._put(read)))
            if len(self._keys) > MOST_KEYS:
                del self._keys[next(iter(self._keys))]
        known, task = self._keys[key]
        if known != digest:
            raise RefusalError(
                422, f"Idempotency-Key {key!r:.60} was used for another motion: give each motion its own"
            )
        try:
            return await asyncio.shield(task)
        except Exception:
            self._keys.pop(key, None)  # nothing was put: it may be tried again
            raise

    async def check(self, read: Callable[[], Asked]) -> shapes.Checked:
        """What the node makes of inputs and terms; nothing is put, and nobody else is told."""
        async with self._one:
            try:
                return await asyncio.to_thread(self._checked, read)
            except ValueError as error:
                raise RefusalError(400, str(error)) from None

    def _checked(self, read: Callable[[], Asked]) -> shapes.Checked:
        model = self._shown.model
        batch, terms = read()
        motion = motion_of(put_of(batch, terms), self._shown.node, self._shown.labels)
        why, unchecked, outside = "", "", 0
        try:
            fit = model.fit(batch.schema, batch.columns)
            model.check_answers(motion.answers)
        except MismatchError as error:
            why = str(error)
        else:
            unchecked = fit.unchecked
            outside = int(fit.outside(fit.arranged(batch.array)).any(axis=1).sum())
        first = [
            [None if value != value else value for value in row]
            for row in batch.array[:PREVIEWED].astype(np.float64).tolist()
        ]
        columns = _columns_beside(batch.schema, model.schema)
        return shapes.Checked(
            inputs=len(batch),
            columns=columns,
            rows=first,
            missing=batch.missing,
            outside=outside,
            labels=list(motion.labels),
            why=why,
            unchecked=unchecked,
            answers=motion.answers,
            tol=None if motion.is_labels else motion.tol,
        )

    async def _put(self, read: Callable[[], Asked]) -> bytes:
        async with self._one:
            try:
                motion, spool, peer_review = await asyncio.to_thread(self._prepare, read)
            except ValueError as error:
                raise RefusalError(400, str(error)) from None
        inputs: Inputs = spool
        try:
            if peer_review:
                motion, inputs = await with_check_rows(self._shown.node, motion, inputs)
            return propose(self._shown.node, motion, inputs, lambda *_: None)
        except ValueError as error:
            raise RefusalError(409, str(error)) from None

    def _prepare(self, read: Callable[[], Asked]) -> tuple[Motion, Spool, bool]:
        batch, terms = read()
        put = put_of(batch, terms)
        motion = motion_of(put, self._shown.node, self._shown.labels)
        spool = Spool(self._shown.folder, batch.chunk_rows * batch.columns * batch.array.dtype.itemsize)
        for chunk in batch.chunks():
            spool.write(chunk)
        return motion, spool, terms.peer_review


def _columns_beside(given: Schema, own: Schema) -> list[shapes.CheckedColumn]:
    """The columns of inputs, each with what the model knows of it, and those that are missing."""
    known = {column.name: column for column in own}
    names = [column.name for column in given]
    found = [
        shapes.CheckedColumn(name, "fits", known[name].unit, known[name].low, known[name].high)
        if name in known
        else shapes.CheckedColumn(name, "unknown" if own else "unchecked")
        for name in names
    ]
    missing = [column for column in own if given and column.name not in names]
    return found + [shapes.CheckedColumn(each.name, "missing", each.unit) for each in missing]
