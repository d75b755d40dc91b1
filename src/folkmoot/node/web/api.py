"""The calls of a node over HTTP: each is described, reads what is asked, and says what came of it."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router

from folkmoot.files.tabular import table_text
from folkmoot.node.client import RAW
from folkmoot.node.service.interface import (
    Checked,
    Damage,
    ModelFacts,
    RosterChange,
    RosterNews,
    Status,
    Truths,
)
from folkmoot.node.service.node import Node
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.database import DamagedError
from folkmoot.node.web import completions, files, shapes
from folkmoot.node.web.calls import FILE, Header, call, calls_of, described, json_of
from folkmoot.node.web.feed import EVENTS, PING, EventStream, Feed
from folkmoot.node.web.requests import BODY, CSV, JSON, TOML, Asked, Reader, RefusalError, terms_of
from folkmoot.node.wire.batch import Batch

if TYPE_CHECKING:
    from folkmoot.node.web.metrics import Metrics

MOST_KEYS: Final = 1000  # idempotency keys that are remembered
_AFTER: Final = 2.0  # seconds beyond the deadline until a motion is told as undecided
CONTESTED: Final = 2 / 3  # of the counted votes: fewer for the decision than this
_ONE: Final = "/v2/motions/{motion}"
get, post, put = (partial(call, method) for method in ("GET", "POST", "PUT"))

_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_LINES: Final = "application/jsonl"
_PAGE: Final = "text/html; charset=utf-8"
_TABLE: Final = f"{CSV}; charset=utf-8"
_LAST_EVENT: Final = Header(
    "Last-Event-ID",
    "The id of the last event that is known.",
    {"type": "string", "maxLength": 60, "pattern": "^[0-9]+-[0-9]+$"},
)
_KEY: Final = Header(
    "Idempotency-Key",
    "The same request with the same key puts nothing a second time.",
    {"type": "string", "minLength": 1, "maxLength": shapes.LONGEST_KEY, "pattern": "^[!-~]+$"},
)
_ROWS: Final = {JSON: shapes.Question, CSV: bytes, RAW: bytes}


class Api:
    """All that a node answers, wherever it is asked."""

    def __init__(self, node: Node, reader: Reader, feed: Feed, metrics: Metrics | None) -> None:
        self._node, self._reader, self._feed = node, reader, feed
        self._metrics = metrics
        self._keys = Keys()
        self._exporting = asyncio.Lock()  # a log may be long: one at a time
        self.page: str | None = None  # where the page is
        self.address: str | None = None  # the same with a token
        self.refused: Counter[str] = Counter()  # requests that did not come in

    def router(self) -> Router:
        """Every call and its path."""
        paths: dict[str, dict[str, Any]] = {}
        for name, each in CALLS.items():
            answers = paths.setdefault(each.path, {})
            answers[each.method.lower()] = staticmethod(partial(each.answered, getattr(self, name)))
        routes = [
            Route(path, type("Endpoint", (HTTPEndpoint,), answers), methods=[way.upper() for way in answers])
            for path, answers in paths.items()
        ]
        return Router([*routes, *files.routes()], redirect_slashes=False)

    # ---- the node ----------------------------------------------------------------------------

    @get("/healthz", "Whether the node answers.", shapes.Health)
    async def _healthy(self, _request: Request) -> Any:
        return shapes.Health("ok")

    @get(
        "/readyz",
        "Whether it can take part in motions.",
        shapes.Health,
        more={503: (shapes.Health, "It cannot, and why.")},
    )
    async def _ready(self, _request: Request) -> Any:
        why = self._node.status().why_not_ready
        if why:
            return json_of(shapes.Health("not ready", why), 503)
        return shapes.Health("ok")

    @get("/metrics", "What Prometheus reads.", str, media=_METRICS, refused=(404,))
    async def _measured(self, _request: Request) -> Any:
        if self._metrics is None:
            raise RefusalError(404, "this node counts nothing")
        counts = {**self._node.counts(), **self.refused}
        data, kind = self._metrics.text(self._node.status(), counts)
        return Response(data, media_type=kind)

    @get("/openapi.json", "This.", dict)
    async def _openapi(self, _request: Request) -> Any:
        return described(CALLS.values())

    @get("/v2/access", "What one may do here, and the model.", shapes.Access)
    async def _access(self, request: Request) -> Any:
        return shapes.Access(
            **msgspec.structs.asdict(self._node.facts()),
            node=self._node.archive.node,
            may=request.state.right,
            page=self.address if getattr(request.state, "owner", False) else self.page,
            most_bytes=shapes.MOST_BODY,
        )

    @get("/v2/status", "The node, its peers and budgets.", Status)
    async def _status(self, _request: Request) -> Any:
        return self._node.status()

    @post("/v2/reload", "Load the model that node.toml names now.", ModelFacts, refused=(409, 422))
    async def _reload(self, _request: Request) -> Any:
        return await self._node.reload()

    @get("/v2/records", "Track records.", shapes.Records)
    async def _records(self, _request: Request) -> Any:
        return shapes.Records(self._node.archive.records())

    @get("/v2/evidence", "All evidence.", shapes.Evidence)
    async def _accusations(self, _request: Request) -> Any:
        return shapes.Evidence(self._node.archive.accusations(shapes.MOST_LISTED))

    @get(
        "/v2/evidence/{about}/{participant}",
        "The evidence against a participant, for folkmoot verify.",
        bytes,
        media=FILE,
    )
    async def _evidence(self, request: Request) -> Any:
        about, participant = request.path_params["about"], request.path_params["participant"]
        return file_of(self._node.archive.evidence(about, participant), FILE, f"{about[:12]}.evidence")

    @get(
        "/v2/audit",
        "The audit log, signed, for folkmoot verify; needs the token that may ask.",
        bytes,
        media=_LINES,
        refused=(409,),
    )
    async def _audit(self, request: Request) -> Any:
        if request.state.right != "ask":
            raise RefusalError(403, "this token may only look: the audit log needs that of the file 'token'")
        async with self._exporting:
            return file_of(await self._node.archive.audit(), _LINES, f"{self._node.archive.node}.audit")

    @get("/v2/events", EVENTS, bytes, media="text/event-stream; charset=utf-8", asks=(_LAST_EVENT,))
    async def _events(self, request: Request) -> Any:
        return EventStream(self._feed, request.headers.get("last-event-id"))

    # ---- motions -----------------------------------------------------------------------------

    @get("/v2/motions", "Motions of this node.", shapes.Motions, query=shapes.Newest)
    async def _motions(self, _request: Request, query: shapes.Newest) -> Any:
        found, damaged = [], []
        for name in self._node.archive.names(query.last):
            try:
                found.append(await self._told(name))
            except DamagedError as error:
                damaged.append(Damage(name.hex(), str(error)))
        return shapes.Motions(found, self._node.archive.count(), damaged, self._node.archive.invited())

    @get(_ONE, "One motion.", shapes.Motion, query=shapes.Wait)
    async def _motion(self, request: Request, query: shapes.Wait) -> Any:
        name = self._named(request)
        if query.wait:
            await self._feed.wait_for(name, query.wait)
        return await self._told(name)

    async def _told(self, name: bytes) -> Any:
        live = self._node.live(name)  # before the account, so that what is over has its answer
        return shapes.motion_told(await self._node.archive.account(name), live)

    @get(f"{_ONE}/inputs", "What came of its inputs.", shapes.Inputs, query=shapes.SomeInputs)
    async def _inputs(self, request: Request, query: shapes.SomeInputs) -> Any:
        account = await self._node.archive.account(self._named(request))
        fitting = [place for place in range(account.inputs) if _fits(account, place, query.only)]
        chosen = [place for place in fitting if place >= query.first]
        following = chosen[query.most] if len(chosen) > query.most else None
        return shapes.inputs_told(account, chosen[: query.most], len(fitting), following)

    @get(f"{_ONE}/rounds", "The rounds of this node in a talk.", shapes.Rounds)
    async def _rounds(self, request: Request) -> Any:
        name = self._named(request)
        rounds, played = await self._node.archive.rounds(name)
        return shapes.Rounds(name.hex(), rounds, played)

    @get(f"{_ONE}/why", "Why an input got its answer.", shapes.Why, query=shapes.OneInput, refused=(422,))
    async def _why(self, request: Request, query: shapes.OneInput) -> Any:
        name = self._named(request)
        text, reason = await self._node.archive.why(name, query.input)
        return shapes.Why(name.hex(), query.input, text, reason)

    @get(f"{_ONE}/play", "A page that plays what this node saw.", str, media=_PAGE, refused=(409,))
    async def _play(self, request: Request) -> Any:
        page = await self._node.archive.play(self._named(request))
        return file_of(page.encode(), _PAGE, "talk.html")

    @get(f"{_ONE}/answers", "Its decisions, for spreadsheets.", str, media=_TABLE)
    async def _answers(self, request: Request) -> Any:
        name = self._named(request)
        account = await self._node.archive.account(name)
        text = await asyncio.to_thread(_table, account)
        return file_of(text.encode(), _TABLE, f"{name.hex()[:12]}.csv")

    @get(f"{_ONE}/certificate", "Its certificate, for folkmoot verify.", bytes, media=FILE, refused=(409,))
    async def _certificate(self, request: Request) -> Any:
        name = self._named(request)
        data = await self._node.archive.certificate(name)
        return file_of(data, FILE, f"{name.hex()[:12]}.certificate")

    def _named(self, request: Request) -> bytes:
        return self._node.find(request.path_params["motion"])

    # ---- asking and telling ------------------------------------------------------------------

    @post(
        "/v2/motions",
        "Put a motion. text/csv: a table with one line per input, and perhaps names in the first; terms are "
        f"in the address. {RAW}: a line of JSON with dtype, width, columns and terms, then the numbers as "
        "bytes, row by row.",
        shapes.Accepted,
        status=202,
        headers={"Location": "Where to look at it."},
        refused=(409, 422),
        query=shapes.TermsSaid,
        asks=(_KEY,),
        takes=_ROWS,
        reads=False,
    )
    async def _put(self, request: Request) -> Any:
        asked = await self._reader.asked(request)
        name = await self._keys.once(
            request.headers.get("idempotency-key"), asked, lambda: self._node.put(asked.batch, asked.terms)
        )
        where = f"/v2/motions/{name.hex()}"
        return json_of(shapes.Accepted(name.hex(), where), 202, {"Location": where})

    @post(
        "/v2/check",
        "What this node makes of inputs. Nothing is put, and nobody else is told.",
        Checked,
        refused=(409, 422),
        query=shapes.TermsSaid,
        takes=_ROWS,
        reads=False,
    )
    async def _check(self, request: Request) -> Any:
        asked = await self._reader.asked(request)
        return await self._node.check(asked.batch, asked.terms)

    @put(
        f"{_ONE}/truth",
        "Tell what was right. text/csv: a table with the columns input and label.",
        Truths,
        refused=(409, 422),
        takes={JSON: shapes.TruthsTold, CSV: bytes},
    )
    async def _truth(self, request: Request, body: Any) -> Any:
        name = self._named(request)
        if isinstance(body, bytes):
            return await self._node.archive.tell(name, body, BODY)
        labels: dict[int, str] = {}
        for number, each in enumerate(body.truths):
            if each.input in labels:
                raise ValueError(f"{BODY}, truth {number}: input {each.input} has a truth already")
            labels[each.input] = each.label
        return await self._node.archive.tell(name, labels, BODY)

    # ---- a moot as a model -------------------------------------------------------------------

    @get("/v1/models", "The moot, as a list of models in the form of OpenAI.", completions.ModelList)
    async def _models(self, _request: Request) -> Any:
        return completions.models(self._node.status().node)

    @post(
        "/v1/chat/completions",
        "Ask the moot in the form of OpenAI. One message is one input. The answer comes once it is decided, "
        "with stream as server-sent events.",
        completions.Completion,
        refused=(409, 422),
        takes={JSON: completions.ChatRequest},
    )
    async def _complete(self, _request: Request, asked: completions.ChatRequest) -> Any:
        said = completions.terms_said(asked, self._node.facts().answers)
        terms = terms_of(said)
        batch = await asyncio.to_thread(Batch, [completions.question_of(asked.messages)], "messages")
        name = await self._node.put(batch, terms)
        if asked.stream:
            return StreamingResponse(self._streamed(name, terms), media_type="text/event-stream")
        await self._feed.wait_for(name, terms.seconds + _AFTER)
        return completions.completion(await self._node.archive.account(name))

    async def _streamed(self, name: bytes, terms: Terms) -> AsyncIterator[bytes]:
        """The answer once it is there; comments before it, so that nobody takes the stream for dead."""
        end = asyncio.get_running_loop().time() + terms.seconds + _AFTER
        while self._node.live(name) is not None and (left := end - asyncio.get_running_loop().time()) > 0:
            yield b": the moot votes\n\n"
            await self._feed.wait_for(name, min(left, PING))
        yield completions.streamed(completions.completion(await self._node.archive.account(name)))

    # ---- the roster --------------------------------------------------------------------------

    @get("/v2/roster", "The roster in force, and proposals.", RosterNews)
    async def _roster(self, _request: Request) -> Any:
        return self._node.archive.roster()

    @get(
        "/v2/roster/file",
        "A roster with the signatures that made it so.",
        bytes,
        media=TOML,
        query=shapes.Epoch,
        refused=(404,),
    )
    async def _roster_file(self, _request: Request, query: shapes.Epoch) -> Any:
        return file_of(self._node.archive.roster_file(query.epoch), TOML, "roster.toml")

    @post(
        "/v2/roster/proposals",
        "Propose and sign a roster.",
        shapes.Proposed,
        refused=(409, 422),
        takes={JSON: RosterChange},
    )
    async def _propose(self, _request: Request, change: RosterChange) -> Any:
        return _proposed(*self._node.archive.propose(change))

    @post(
        "/v2/roster/signatures",
        "Sign a proposal: one that is known here, or its file.",
        shapes.Proposed,
        refused=(404, 409, 422),
        takes={JSON: shapes.Signing, TOML: bytes},
    )
    async def _sign(self, _request: Request, body: Any) -> Any:
        return _proposed(*self._node.archive.sign(body if isinstance(body, bytes) else body.proposal))


class Keys:
    """Idempotency keys: a request that is sent again puts nothing a second time."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, asyncio.Task[bytes]]] = {}

    async def once(
        self, key: str | None, asked: Asked, put: Callable[[], Coroutine[Any, Any, bytes]]
    ) -> bytes:
        """Put a motion, and return its name; with a key that came before, that of the motion put then."""
        if key is None:
            return await put()
        if not 1 <= len(key) <= shapes.LONGEST_KEY:
            raise RefusalError(
                400, f"Idempotency-Key must have 1 to {shapes.LONGEST_KEY} characters: got {len(key)}"
            )
        if key not in self._known:
            self._known[key] = (asked.digest, asyncio.ensure_future(put()))
            if len(self._known) > MOST_KEYS:
                del self._known[next(iter(self._known))]
        digest, task = self._known[key]
        if digest != asked.digest:
            raise RefusalError(
                422, f"Idempotency-Key {key!r:.60} was used for another motion: give each motion its own"
            )
        try:
            return await asyncio.shield(task)
        except Exception:
            self._known.pop(key, None)  # nothing was put: it may be tried again
            raise


def file_of(data: bytes, kind: str, name: str) -> Response:
    """A file to be saved under a name."""
    safe = re.sub(r"[^A-Za-z0-9.-]", "_", name)
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{safe}"'})


def _proposed(proposal: Any, file: bytes) -> shapes.Proposed:
    return shapes.Proposed(**msgspec.structs.asdict(proposal), file=file.decode())


def _fits(account: Any, place: int, only: str) -> bool:
    decision = account.decisions[place]
    if only == "undecided":
        return decision is None
    if only == "contested":
        share = account.shares[place]
        return share is not None and share < CONTESTED
    if only == "overruled":
        own = account.own_votes[place]
        return None not in (decision, own) and own != decision
    return True


def _table(account: Any) -> str:
    """Decisions for spreadsheets."""
    what = {"numbers": "number", "text": "text"}.get(account.answers, "label")
    rows = (
        (str(place), "" if decision is None else str(decision), "" if share is None else str(share))
        for place, (decision, share) in enumerate(zip(account.decisions, account.shares, strict=True))
    )
    return table_text(["input", what, "share"], rows)


CALLS: Final = calls_of(Api)  # by the names of the methods that answer them
