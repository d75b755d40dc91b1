"""The routes: each reads what is asked, calls the service, and says what came of it."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from folkmoot.files.tabular import table_text
from folkmoot.node.service.interface import Damage, RosterChange, Service
from folkmoot.node.session.header import MOST_INPUTS
from folkmoot.node.storage.database import DamagedError
from folkmoot.node.web import files, shapes
from folkmoot.node.web.bodies import BODY, CSV, JSON, TOML, Asked, Reader, body_of, decoded, kind_of
from folkmoot.node.web.feed import EventStream, Feed
from folkmoot.node.web.ledger import Ledger
from folkmoot.node.web.openapi import described
from folkmoot.node.web.readiness import why_not_ready
from folkmoot.node.web.refusals import RefusalError

if TYPE_CHECKING:
    from folkmoot.node.web.metrics import Metrics

MOST_KEYS: Final = 1000  # idempotency keys that are remembered
CONTESTED: Final = 2 / 3  # of the counted votes: fewer for the decision than this
_FILE: Final = "application/octet-stream"


class Api:
    """All that a node answers, wherever it is asked.

    Parameters
    ----------
    service : Service
        The running node.
    reader : Reader
        Reads inputs.
    feed : Feed
        Its events.
    ledger : Ledger
        Accounts of motions.
    metrics : Metrics or None
        Metrics for Prometheus; None: there are none.
    """

    def __init__(
        self, service: Service, reader: Reader, feed: Feed, ledger: Ledger, metrics: Metrics | None
    ) -> None:
        self._service, self._reader, self._feed, self._ledger = service, reader, feed, ledger
        self._metrics = metrics
        self._shapes = reader.shapes
        self._keys = Keys()
        self._exporting = asyncio.Lock()  # a log may be long: one at a time
        self.page: str | None = None  # where the page is
        self.address: str | None = None  # the same with a token
        self.refused: Counter[str] = Counter()  # requests that did not come in

    def router(self) -> Router:
        """Every call and its path."""
        one = "/v2/motions/{motion}"
        table: list[tuple[str, str, Callable[[Request], Coroutine[Any, Any, Response]]]] = [
            ("GET", "/healthz", self._healthy),
            ("GET", "/readyz", self._ready),
            ("GET", "/metrics", self._measured),
            ("GET", "/openapi.json", self._openapi),
            ("GET", "/v2/access", self._access),
            ("GET", "/v2/status", self._status),
            ("POST", "/v2/reload", self._reload),
            ("GET", "/v2/records", self._records),
            ("GET", "/v2/evidence", self._accusations),
            ("GET", "/v2/evidence/{about}/{participant}", self._evidence),
            ("GET", "/v2/audit", self._audit),
            ("GET", "/v2/events", self._events),
            ("GET", "/v2/motions", self._motions),
            ("POST", "/v2/motions", self._put),
            ("POST", "/v2/check", self._check),
            ("GET", one, self._motion),
            ("GET", f"{one}/inputs", self._inputs),
            ("GET", f"{one}/rounds", self._rounds),
            ("GET", f"{one}/why", self._why),
            ("GET", f"{one}/play", self._play),
            ("GET", f"{one}/answers", self._answers),
            ("GET", f"{one}/certificate", self._certificate),
            ("PUT", f"{one}/truth", self._truth),
            ("GET", "/v2/roster", self._roster),
            ("GET", "/v2/roster/file", self._roster_file),
            ("POST", "/v2/roster/proposals", self._propose),
            ("POST", "/v2/roster/signatures", self._sign),
        ]
        by_path: dict[str, dict[str, Any]] = {}
        for method, path, answer in table:
            by_path.setdefault(path, {})[method] = answer
        routes = [
            Route(path, _by_method(answers), methods=[*answers], include_in_schema=False)
            for path, answers in by_path.items()
        ]
        return Router([*routes, *files.routes()], redirect_slashes=False)

    # ---- the node ----------------------------------------------------------------------------

    async def _healthy(self, _request: Request) -> Response:
        return json_of(shapes.Health("ok"))

    async def _ready(self, _request: Request) -> Response:
        why = why_not_ready(self._service.status())
        if why:
            return json_of(shapes.Health("not ready", why), 503)
        return json_of(shapes.Health("ok"))

    async def _measured(self, _request: Request) -> Response:
        if self._metrics is None:
            raise RefusalError(404, "this node counts nothing")
        counts = {**self._service.counts(), **self.refused}
        data, kind = self._metrics.text(self._service.status(), counts)
        return Response(data, media_type=kind)

    async def _openapi(self, _request: Request) -> Response:
        return json_of(described(self._shapes))

    async def _access(self, request: Request) -> Response:
        facts = self._service.facts()
        return json_of(
            shapes.Access(
                **msgspec.structs.asdict(facts),
                node=self._service.node,
                may=request.state.right,
                page=self.address if getattr(request.state, "owner", False) else self.page,
                most_bytes=shapes.MOST_BODY,
                by_input=tuple(self._service.forms.by_input),
            )
        )

    async def _status(self, _request: Request) -> Response:
        return json_of(self._service.status())

    async def _reload(self, _request: Request) -> Response:
        return json_of(await self._service.reload())

    async def _records(self, _request: Request) -> Response:
        return json_of(shapes.Records(self._service.records()))

    async def _accusations(self, _request: Request) -> Response:
        return json_of(shapes.Evidence(self._service.accusations(shapes.MOST_LISTED)))

    async def _evidence(self, request: Request) -> Response:
        about, participant = request.path_params["about"], request.path_params["participant"]
        return file_of(self._service.evidence(about, participant), _FILE, f"{about[:12]}.evidence")

    async def _audit(self, request: Request) -> Response:
        if request.state.right != "ask":
            raise RefusalError(403, "this token may only look: the audit log needs that of the file 'token'")
        async with self._exporting:
            return file_of(await self._service.audit(), "application/jsonl", f"{self._service.node}.audit")

    async def _events(self, request: Request) -> Response:
        return EventStream(self._feed, request.headers.get("last-event-id"))

    # ---- motions -----------------------------------------------------------------------------

    async def _motions(self, request: Request) -> Response:
        last = _whole(request, "last", 20, least=1, most=shapes.MOST_LISTED)
        found, damaged = [], []
        for name in self._service.names(last):
            try:
                found.append(await self._told(name))
            except DamagedError as error:
                damaged.append(Damage(name.hex(), str(error)))
        told = self._shapes.Motions(found, self._service.count(), damaged, self._service.invited())
        return json_of(told)

    async def _motion(self, request: Request) -> Response:
        name, wait = self._named(request), _seconds(request, "wait")
        if wait:
            await self._feed.wait_for(name, wait)
        return json_of(await self._told(name))

    async def _told(self, name: bytes) -> Any:
        live = self._service.live(name)  # before the account, so that what is over has its answer
        return self._shapes.motion(await self._ledger.account(name), live)

    async def _inputs(self, request: Request) -> Response:
        account = await self._ledger.account(self._named(request))
        first = _whole(request, "from", 0, least=0, most=MOST_INPUTS)
        most = _whole(request, "most", 1000, least=1, most=shapes.MOST_SHOWN)
        only = request.query_params.get("only", "all")
        if only not in get_args(shapes.Only):
            raise RefusalError(400, f"only must be {' or '.join(get_args(shapes.Only))}: got {only!r:.40}")
        fitting = [place for place in range(account.inputs) if _fits(account, place, only)]
        chosen = [place for place in fitting if place >= first][: most + 1]
        following = chosen[most] if len(chosen) > most else None
        return json_of(self._shapes.inputs(account, chosen[:most], len(fitting), following))

    async def _rounds(self, request: Request) -> Response:
        name = self._named(request)
        rounds, played = await self._service.rounds(name)
        return json_of(shapes.Rounds(name.hex(), rounds, played))

    async def _why(self, request: Request) -> Response:
        name, about = self._named(request), _place(request)
        text, reason = await self._service.why(name, about)
        return json_of(shapes.Why(name.hex(), about, text, reason))

    async def _play(self, request: Request) -> Response:
        page = await self._service.play(self._named(request))
        return file_of(page.encode(), "text/html; charset=utf-8", "talk.html")

    async def _answers(self, request: Request) -> Response:
        name = self._named(request)
        account = await self._ledger.account(name)
        text = await asyncio.to_thread(_table, account)
        return file_of(text.encode(), f"{CSV}; charset=utf-8", f"{name.hex()[:12]}.csv")

    async def _certificate(self, request: Request) -> Response:
        name = self._named(request)
        data = await self._service.certificate(name)
        return file_of(data, _FILE, f"{name.hex()[:12]}.certificate")

    def _named(self, request: Request) -> bytes:
        return self._service.find(request.path_params["motion"])

    # ---- asking and telling ------------------------------------------------------------------

    async def _put(self, request: Request) -> Response:
        asked = await self._reader.asked(request)
        name = await self._keys.once(
            request.headers.get("idempotency-key"), asked, lambda: self._service.put(asked.batch, asked.terms)
        )
        where = f"/v2/motions/{name.hex()}"
        return json_of(shapes.Accepted(name.hex(), where), 202, {"Location": where})

    async def _check(self, request: Request) -> Response:
        asked = await self._reader.asked(request)
        return json_of(await self._service.check(asked.batch, asked.terms))

    async def _truth(self, request: Request) -> Response:
        kind, name = kind_of(request, JSON, CSV), self._named(request)
        body = await body_of(request)
        if kind == CSV:
            return json_of(await self._service.tell(name, body, BODY))
        labels: dict[int, str] = {}
        for number, each in enumerate(decoded(body, shapes.TruthsTold).truths):
            if each.input in labels:
                raise ValueError(f"{BODY}, truth {number}: input {each.input} has a truth already")
            labels[each.input] = each.label
        return json_of(await self._service.tell(name, labels, BODY))

    # ---- the roster --------------------------------------------------------------------------

    async def _roster(self, _request: Request) -> Response:
        return json_of(self._service.roster())

    async def _roster_file(self, request: Request) -> Response:
        said = "epoch" in request.query_params
        epoch = _whole(request, "epoch", 0, least=0, most=10**9) if said else None
        return file_of(self._service.roster_file(epoch), TOML, "roster.toml")

    async def _propose(self, request: Request) -> Response:
        kind_of(request, JSON)
        return _proposed(*self._service.propose(decoded(await body_of(request), RosterChange)))

    async def _sign(self, request: Request) -> Response:
        kind, body = kind_of(request, JSON, TOML), await body_of(request)
        said = body if kind == TOML else decoded(body, shapes.Signing).proposal
        return _proposed(*self._service.sign(said))


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
    what = "number" if account.answers == "numbers" else "label"
    rows = (
        (str(place), "" if decision is None else str(decision), "" if share is None else str(share))
        for place, (decision, share) in enumerate(zip(account.decisions, account.shares, strict=True))
    )
    return table_text(["input", what, "share"], rows)


def _whole(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """A whole number in the address."""
    said = request.query_params.get(name)
    if said is None:
        return default
    if not (said.isascii() and said.isdecimal()) or len(said) > 12 or not least <= int(said) <= most:
        raise RefusalError(400, f"{name} must be a whole number from {least} to {most}: got {said!r:.40}")
    return int(said)


def _place(request: Request) -> int:
    if "input" not in request.query_params:
        raise RefusalError(400, "input must say which input is meant, such as ?input=0")
    return _whole(request, "input", 0, least=0, most=MOST_INPUTS - 1)


def _seconds(request: Request, name: str) -> float:
    """Seconds in the address."""
    said = request.query_params.get(name, "0")
    try:
        seconds = float(said)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= shapes.LONGEST_WAIT:
        raise RefusalError(400, f"{name} must be 0 to {shapes.LONGEST_WAIT:g} seconds: got {said!r:.40}")
    return seconds
