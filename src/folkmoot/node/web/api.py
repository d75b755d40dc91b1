"""The calls of a node over HTTP: each is described, reads what is asked, and says what came of it."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta
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
from folkmoot.node.session.header import MOST_INPUTS
from folkmoot.node.session.terms import Terms
from folkmoot.node.storage.database import DamagedError
from folkmoot.node.web import completions, files, shapes
from folkmoot.node.web.bodies import BODY, CSV, JSON, TOML, Asked, Reader, body_of, decoded, kind_of, terms_of
from folkmoot.node.web.calls import FILE, Header, Query, call, calls_of, described, whole
from folkmoot.node.web.feed import EVENTS, PING, EventStream, Feed
from folkmoot.node.web.refusals import RefusalError
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
_LAST: Final = Query("last", "How many, the newest ones.", whole(1, shapes.MOST_LISTED), 20)
_WAIT: Final = Query(
    "wait", "Seconds to wait until it is over.", Annotated[float, Meta(ge=0, le=shapes.LONGEST_WAIT)], 0.0
)
_FROM: Final = Query("from", "The first input that is wanted.", whole(0, MOST_INPUTS), 0)
_MOST: Final = Query("most", "How many.", whole(1, shapes.MOST_SHOWN), 1000)
_ONLY: Final = Query(
    "only",
    "Undecided ones; those with fewer than two thirds of the votes for the decision; those on which the "
    "model of this node was overruled.",
    shapes.Only,
    "all",
)
_INPUT: Final = Query("input", "Which input.", whole(0, MOST_INPUTS - 1))
_EPOCH: Final = Query("epoch", "Which; without it the one in force.", whole(0, 10**9), None)
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
_TERMS: Final = tuple(
    Query(each.name, f"A term of the motion, with text/csv: {each.name}.", each.type, each.default)
    for each in msgspec.structs.fields(shapes.TermsSaid)
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
        by_path: dict[str, dict[str, Any]] = {}
        for name, each in CALLS.items():
            by_path.setdefault(each.path, {})[each.method] = getattr(self, name)
        routes = [
            Route(path, _by_method(answers), methods=[*answers], include_in_schema=False)
            for path, answers in by_path.items()
        ]
        return Router([*routes, *files.routes()], redirect_slashes=False)

    # ---- the node ----------------------------------------------------------------------------

    @get("/healthz", "Whether the node answers.", shapes.Health)
    async def _healthy(self, _request: Request) -> Response:
        return json_of(shapes.Health("ok"))

    @get(
        "/readyz",
        "Whether it can take part in motions.",
        shapes.Health,
        more={503: (shapes.Health, "It cannot, and why.")},
    )
    async def _ready(self, _request: Request) -> Response:
        why = self._node.status().why_not_ready
        if why:
            return json_of(shapes.Health("not ready", why), 503)
        return json_of(shapes.Health("ok"))

    @get("/metrics", "What Prometheus reads.", str, media=_METRICS, refused=(404,))
    async def _measured(self, _request: Request) -> Response:
        if self._metrics is None:
            raise RefusalError(404, "this node counts nothing")
        counts = {**self._node.counts(), **self.refused}
        data, kind = self._metrics.text(self._node.status(), counts)
        return Response(data, media_type=kind)

    @get("/openapi.json", "This.", dict)
    async def _openapi(self, _request: Request) -> Response:
        return json_of(described(CALLS.values()))

    @get("/v2/access", "What one may do here, and the model.", shapes.Access)
    async def _access(self, request: Request) -> Response:
        facts = self._node.facts()
        return json_of(
            shapes.Access(
                **msgspec.structs.asdict(facts),
                node=self._node.archive.node,
                may=request.state.right,
                page=self.address if getattr(request.state, "owner", False) else self.page,
                most_bytes=shapes.MOST_BODY,
            )
        )

    @get("/v2/status", "The node, its peers and budgets.", Status)
    async def _status(self, _request: Request) -> Response:
        return json_of(self._node.status())

    @post("/v2/reload", "Load the model that node.toml names now.", ModelFacts, refused=(409, 422))
    async def _reload(self, _request: Request) -> Response:
        return json_of(await self._node.reload())

    @get("/v2/records", "Track records.", shapes.Records)
    async def _records(self, _request: Request) -> Response:
        return json_of(shapes.Records(self._node.archive.records()))

    @get("/v2/evidence", "All evidence.", shapes.Evidence)
    async def _accusations(self, _request: Request) -> Response:
        return json_of(shapes.Evidence(self._node.archive.accusations(shapes.MOST_LISTED)))

    @get(
        "/v2/evidence/{about}/{participant}",
        "The evidence against a participant, for folkmoot verify.",
        bytes,
        media=FILE,
    )
    async def _evidence(self, request: Request) -> Response:
        about, participant = request.path_params["about"], request.path_params["participant"]
        return file_of(self._node.archive.evidence(about, participant), FILE, f"{about[:12]}.evidence")

    @get(
        "/v2/audit",
        "The audit log, signed, for folkmoot verify; needs the token that may ask.",
        bytes,
        media=_LINES,
        refused=(409,),
    )
    async def _audit(self, request: Request) -> Response:
        if request.state.right != "ask":
            raise RefusalError(403, "this token may only look: the audit log needs that of the file 'token'")
        async with self._exporting:
            return file_of(await self._node.archive.audit(), _LINES, f"{self._node.archive.node}.audit")

    @get("/v2/events", EVENTS, bytes, media="text/event-stream; charset=utf-8", asks=(_LAST_EVENT,))
    async def _events(self, request: Request) -> Response:
        return EventStream(self._feed, request.headers.get("last-event-id"))

    # ---- motions -----------------------------------------------------------------------------

    @get("/v2/motions", "Motions of this node.", shapes.Motions, asks=(_LAST,))
    async def _motions(self, request: Request) -> Response:
        found, damaged = [], []
        for name in self._node.archive.names(_LAST.of(request)):
            try:
                found.append(await self._told(name))
            except DamagedError as error:
                damaged.append(Damage(name.hex(), str(error)))
        told = shapes.Motions(found, self._node.archive.count(), damaged, self._node.archive.invited())
        return json_of(told)

    @get(_ONE, "One motion.", shapes.Motion, asks=(_WAIT,))
    async def _motion(self, request: Request) -> Response:
        name, wait = self._named(request), _WAIT.of(request)
        if wait:
            await self._feed.wait_for(name, wait)
        return json_of(await self._told(name))

    async def _told(self, name: bytes) -> Any:
        live = self._node.live(name)  # before the account, so that what is over has its answer
        return shapes.motion_told(await self._node.archive.account(name), live)

    @get(f"{_ONE}/inputs", "What came of its inputs.", shapes.Inputs, asks=(_FROM, _MOST, _ONLY))
    async def _inputs(self, request: Request) -> Response:
        account = await self._node.archive.account(self._named(request))
        first, most, only = _FROM.of(request), _MOST.of(request), _ONLY.of(request)
        fitting = [place for place in range(account.inputs) if _fits(account, place, only)]
        chosen = [place for place in fitting if place >= first][: most + 1]
        following = chosen[most] if len(chosen) > most else None
        return json_of(shapes.inputs_told(account, chosen[:most], len(fitting), following))

    @get(f"{_ONE}/rounds", "The rounds of this node in a talk.", shapes.Rounds)
    async def _rounds(self, request: Request) -> Response:
        name = self._named(request)
        rounds, played = await self._node.archive.rounds(name)
        return json_of(shapes.Rounds(name.hex(), rounds, played))

    @get(f"{_ONE}/why", "Why an input got its answer.", shapes.Why, asks=(_INPUT,), refused=(422,))
    async def _why(self, request: Request) -> Response:
        name, about = self._named(request), _INPUT.of(request)
        text, reason = await self._node.archive.why(name, about)
        return json_of(shapes.Why(name.hex(), about, text, reason))

    @get(f"{_ONE}/play", "A page that plays what this node saw.", str, media=_PAGE, refused=(409,))
    async def _play(self, request: Request) -> Response:
        page = await self._node.archive.play(self._named(request))
        return file_of(page.encode(), _PAGE, "talk.html")

    @get(f"{_ONE}/answers", "Its decisions, for spreadsheets.", str, media=_TABLE)
    async def _answers(self, request: Request) -> Response:
        name = self._named(request)
        account = await self._node.archive.account(name)
        text = await asyncio.to_thread(_table, account)
        return file_of(text.encode(), _TABLE, f"{name.hex()[:12]}.csv")

    @get(f"{_ONE}/certificate", "Its certificate, for folkmoot verify.", bytes, media=FILE, refused=(409,))
    async def _certificate(self, request: Request) -> Response:
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
        asks=(_KEY, *_TERMS),
        takes=_ROWS,
    )
    async def _put(self, request: Request) -> Response:
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
        asks=_TERMS,
        takes=_ROWS,
    )
    async def _check(self, request: Request) -> Response:
        asked = await self._reader.asked(request)
        return json_of(await self._node.check(asked.batch, asked.terms))

    @put(
        f"{_ONE}/truth",
        "Tell what was right. text/csv: a table with the columns input and label.",
        Truths,
        refused=(409, 422),
        takes={JSON: shapes.TruthsTold, CSV: bytes},
    )
    async def _truth(self, request: Request) -> Response:
        kind, name = kind_of(request, JSON, CSV), self._named(request)
        body = await body_of(request)
        if kind == CSV:
            return json_of(await self._node.archive.tell(name, body, BODY))
        labels: dict[int, str] = {}
        for number, each in enumerate(decoded(body, shapes.TruthsTold).truths):
            if each.input in labels:
                raise ValueError(f"{BODY}, truth {number}: input {each.input} has a truth already")
            labels[each.input] = each.label
        return json_of(await self._node.archive.tell(name, labels, BODY))

    # ---- a moot as a model -------------------------------------------------------------------

    @get("/v1/models", "The moot, as a list of models in the form of OpenAI.", completions.ModelList)
    async def _models(self, _request: Request) -> Response:
        return json_of(completions.models(self._node.status().node))

    @post(
        "/v1/chat/completions",
        "Ask the moot in the form of OpenAI. One message is one input. The answer comes once it is decided, "
        "with stream as server-sent events.",
        completions.Completion,
        refused=(409, 422),
        takes={JSON: completions.ChatRequest},
    )
    async def _complete(self, request: Request) -> Response:
        kind_of(request, JSON)
        asked = decoded(await body_of(request), completions.ChatRequest)
        said = completions.terms_said(asked, self._node.facts().answers)
        terms = terms_of(said)
        batch = await asyncio.to_thread(Batch, [completions.question_of(asked.messages)], "messages")
        name = await self._node.put(batch, terms)
        if asked.stream:
            return StreamingResponse(self._streamed(name, terms), media_type="text/event-stream")
        await self._feed.wait_for(name, terms.seconds + _AFTER)
        return json_of(completions.completion(await self._node.archive.account(name)))

    async def _streamed(self, name: bytes, terms: Terms) -> AsyncIterator[bytes]:
        """The answer once it is there; comments before it, so that nobody takes the stream for dead."""
        end = asyncio.get_running_loop().time() + terms.seconds + _AFTER
        while self._node.live(name) is not None and (left := end - asyncio.get_running_loop().time()) > 0:
            yield b": the moot votes\n\n"
            await self._feed.wait_for(name, min(left, PING))
        yield completions.streamed(completions.completion(await self._node.archive.account(name)))

    # ---- the roster --------------------------------------------------------------------------

    @get("/v2/roster", "The roster in force, and proposals.", RosterNews)
    async def _roster(self, _request: Request) -> Response:
        return json_of(self._node.archive.roster())

    @get(
        "/v2/roster/file",
        "A roster with the signatures that made it so.",
        bytes,
        media=TOML,
        asks=(_EPOCH,),
        refused=(404,),
    )
    async def _roster_file(self, request: Request) -> Response:
        return file_of(self._node.archive.roster_file(_EPOCH.of(request)), TOML, "roster.toml")

    @post(
        "/v2/roster/proposals",
        "Propose and sign a roster.",
        shapes.Proposed,
        refused=(409, 422),
        takes={JSON: RosterChange},
    )
    async def _propose(self, request: Request) -> Response:
        kind_of(request, JSON)
        return _proposed(*self._node.archive.propose(decoded(await body_of(request), RosterChange)))

    @post(
        "/v2/roster/signatures",
        "Sign a proposal: one that is known here, or its file.",
        shapes.Proposed,
        refused=(404, 409, 422),
        takes={JSON: shapes.Signing, TOML: bytes},
    )
    async def _sign(self, request: Request) -> Response:
        kind, body = kind_of(request, JSON, TOML), await body_of(request)
        said = body if kind == TOML else decoded(body, shapes.Signing).proposal
        return _proposed(*self._node.archive.sign(said))


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


def _by_method(answers: Mapping[str, Any]) -> Callable[[Request], Coroutine[Any, Any, Response]]:
    async def answer(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        response: Response = await answers[method](request)
        return response

    return answer


def json_of(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(msgspec.json.encode(value), status, dict(headers or {}), media_type=JSON)


def file_of(data: bytes, kind: str, name: str) -> Response:
    """A file to be saved under a name."""
    safe = re.sub(r"[^A-Za-z0-9.-]", "_", name)
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{safe}"'})


def _proposed(proposal: Any, file: bytes) -> Response:
    return json_of(shapes.Proposed(**msgspec.structs.asdict(proposal), file=file.decode()))


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
