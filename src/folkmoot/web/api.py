"""The routes of the API: each reads what is asked, calls the node, and says what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router

from folkmoot.network.membership.roster import Roster
from folkmoot.network.service.operation import Shown
from folkmoot.network.service.status import as_dict
from folkmoot.network.service.truths import check_truth, records_by_name, records_of, tell, truths_in_text
from folkmoot.network.session.phases import Phase
from folkmoot.network.session.view import shares_of
from folkmoot.network.storage.account import decisions_table
from folkmoot.network.storage.certificate import has_certificate, write_certificate
from folkmoot.network.storage.storage import StoredMotion
from folkmoot.network.wire import statements
from folkmoot.tabular import table_text
from folkmoot.web import files, shapes
from folkmoot.web.feed import Feed
from folkmoot.web.ledger import Ledger
from folkmoot.web.openapi import described
from folkmoot.web.putting import BODY, Asked, Putting, asked_in_json, asked_in_text
from folkmoot.web.refusals import RefusalError
from folkmoot.web.streams import EventStream, wait_for

MOST_BODY: Final = 16 << 20  # bytes
BODY_SECONDS: Final = 60.0  # in which a body must have come
LONGEST_WAIT: Final = 60.0  # seconds of a long poll
MOST_LISTED: Final = 200  # motions
MOST_INPUTS: Final = 10_000  # in one answer
_TRUTHS: Final = msgspec.json.Decoder(shapes.Truths)


class Api:
    """The API of one node."""

    def __init__(self, shown: Shown) -> None:
        self._shown, self._node = shown, shown.node
        self._ledger = Ledger(shown.node.storage)
        self.feed = Feed(shown.node, shown.look, self._ledger)
        self._putting = Putting(shown)

    def router(self) -> Router:
        """What is answered where."""
        one = "/v1/motions/{motion}"
        return Router(
            [
                Route("/openapi.json", self._openapi, methods=["GET"]),
                *files.routes(),
                Route("/v1/access", self._access, methods=["GET"]),
                Route("/v1/moot", self._moot, methods=["GET"]),
                Route("/v1/records", self._records, methods=["GET"]),
                Route("/v1/evidence", self._accusations, methods=["GET"]),
                Route("/v1/check", self._check, methods=["POST"]),
                Route("/v1/events", self._events, methods=["GET"]),
                Route("/v1/motions", self._motions, methods=["GET"]),
                Route("/v1/motions", self._ask, methods=["POST"]),
                Route(one, self._motion, methods=["GET"]),
                Route(f"{one}/inputs", self._inputs, methods=["GET"]),
                Route(f"{one}/rounds", self._rounds, methods=["GET"]),
                Route(f"{one}/answers", self._answers, methods=["GET"]),
                Route(f"{one}/certificate", self._certificate, methods=["GET"]),
                Route(f"{one}/evidence/{{name}}", self._evidence, methods=["GET"]),
                Route(f"{one}/truth", self._truth, methods=["PUT"]),
                Route("/v1/rosters/{roster}/evidence/{name}", self._roster_evidence, methods=["GET"]),
            ],
            redirect_slashes=False,
        )

    # ---- reading -----------------------------------------------------------------------------

    async def _openapi(self, _request: Request) -> Response:
        return _json(described())

    async def _access(self, request: Request) -> Response:
        model, labels = self._shown.model()
        columns = [shapes.Column(each.name, each.unit, each.low, each.high) for each in model.schema]
        return _json(
            shapes.Access(
                node=self._node.roster[self._node.seat.place].name,
                may=request.state.right,
                labels=None if labels is None else list(labels),
                columns=columns,
                width=model.columns,
                most_bytes=MOST_BODY,
                answers=model.kinds(),
            )
        )

    async def _moot(self, _request: Request) -> Response:
        return _json(as_dict(self._shown.look()))

    async def _records(self, _request: Request) -> Response:
        names = {member.fingerprint: member.name for member in self._node.roster}
        records = records_by_name(self._node.storage, names)
        return _json(shapes.Records({name: shapes.Record(**each) for name, each in records.items()}))

    async def _accusations(self, _request: Request) -> Response:
        found: list[shapes.Accusation] = []
        for motion in self._node.storage.names("with evidence", last=MOST_LISTED):
            with suppress(RefusalError):  # a damaged motion proves nothing
                stored = self._ledger.motion(motion)
                found += [
                    shapes.accusation(motion.hex(), stored.names[place], statements.kind(proof))
                    for place, proof in self._node.storage.evidence(motion)
                ]
        found += [
            shapes.Accusation(
                motion="",
                participant=name,
                what=statements.kind(proof),
                file=f"/v1/rosters/{old.digest}/evidence/{quote(name, safe='')}",
                roster=old.digest,
                epoch=old.epoch,
            )
            for old, name, proof in self._of_rosters()
        ]
        return _json(shapes.Accusations(found))

    def _of_rosters(self) -> Iterator[tuple[Roster, str, statements.TwoSuccessors]]:
        """Who signed two successors of a roster, by name, with that roster and the evidence."""
        for old, proof in self._node.chronicle.evidence():
            yield old, old[statements.accused(proof)].name, proof

    async def _roster_evidence(self, request: Request) -> Response:
        digest, name = request.path_params["roster"], request.path_params["name"]
        for old, accused, proof in self._of_rosters():
            if (old.digest, accused) == (digest, name):
                return _evidence_file(old[statements.accused(proof)].fingerprint, proof, digest)
        raise RefusalError(404, f"there is no evidence against {name!r:.80} about roster {digest!r:.40}")

    async def _events(self, request: Request) -> Response:
        return EventStream(self.feed, request.headers.get("last-event-id"))

    async def _motions(self, request: Request) -> Response:
        last = _whole(request, "last", 20, least=1, most=MOST_LISTED)
        storage = self._node.storage
        found, damaged = [], []
        for name in storage.names(last=last):
            try:
                found.append(await self._told(self._ledger.motion(name)))
            except RefusalError:
                damaged.append(name.hex())
        return _json(shapes.Motions(found, storage.count(), damaged))

    async def _motion(self, request: Request) -> Response:
        wait = _whole(request, "wait", 0, least=0, most=int(LONGEST_WAIT))
        stored = self._stored(request)

        def over() -> bool:
            session = self._node.session(stored.name)
            return session is None or session.phase is Phase.OVER

        if wait and not over():
            if not await wait_for(self.feed, request.receive, over, wait):
                raise ClientDisconnect
            stored = self._ledger.motion(stored.name)
        return _json(await self._told(stored))

    async def _told(self, stored: StoredMotion) -> Any:
        account, live = await self._ledger.account(stored), self._live(stored)
        return shapes.motion(account, live, certified=has_certificate(stored.motion))

    def _live(self, stored: StoredMotion) -> shapes.Live | None:
        session = self._node.session(stored.name)
        if session is None or session.phase is Phase.OVER:
            return None
        view, names = session.view(), stored.names
        return shapes.Live(
            phase=view.phase,
            round=view.round,
            rounds=view.rounds,
            remaining=round(view.end - self._node.transport.now(), 3),
            committed=[names[place] for place in view.committed],
            closed=[names[place] for place in view.closed],
            asked=[names[place] for place in view.asked],
            heard=view.heard,
            shares=view.shares,
            held=view.held,
            apart=view.apart,
            ballots=view.ballots,
        )

    async def _inputs(self, request: Request) -> Response:
        stored = self._stored(request)
        account = await self._ledger.account(stored)
        first = _whole(request, "from", 0, least=0, most=account.inputs)
        most = _whole(request, "most", 1000, least=1, most=MOST_INPUTS)
        end = min(first + most, account.inputs)
        # Labels have no claims, and only numbers have first numbers and windows: those lists are empty then.
        lines = [
            shapes.Input(
                i,
                account.decisions[i],
                account.agreement[i],
                account.first_votes[i],
                account.majority[i],
                account.why_undecided[i],
                account.claims[i] if account.claims else None,
                account.first_numbers[i] if account.first_numbers else None,
                account.windows[i] if account.windows else None,
                account.ballots[i] if account.ballots else None,
                account.signers[i] if account.signers else None,
            )
            for i in range(first, end)
        ]
        following = end if end < account.inputs else None
        return _json(shapes.Inputs(account.motion, lines, account.inputs, following))

    async def _rounds(self, request: Request) -> Response:
        stored = self._stored(request)
        motion, names = stored.motion, stored.names
        form = motion.form
        one = None
        if "input" in request.query_params:
            one = _whole(request, "input", 0, least=0, most=motion.asked - 1)
        session = self._node.session(stored.name)
        kept = self._node.storage.held(stored.name).rounds if session is None else session.played()
        played = stored.summary.get("rounds", 0) if session is None else session.rounds

        def told() -> list[shapes.Round]:
            lines = []
            for number, each in enumerate(kept.rounds):
                answers = kept.answers(number, motion)
                about = None
                if one is not None:
                    about = {names[p]: form.word(held, one, motion.labels) for p, held in answers.items()}
                lines.append(
                    shapes.Round(
                        round=number,
                        seconds=each.at,
                        asked=[names[place] for place in each.asked],
                        heard=[names[place] for place, _ in each.heard],
                        changed=each.changed,
                        shares=shares_of(list(map(form.colours, answers.values())), motion.labels),
                        answers=about,
                    )
                )
            return lines

        lines = await asyncio.to_thread(told)
        return _json(shapes.Rounds(stored.name.hex(), lines, played))

    async def _answers(self, request: Request) -> Response:
        stored = self._stored(request)
        account = await self._ledger.account(stored)
        text = await asyncio.to_thread(lambda: table_text(*decisions_table(account)))
        return _file(text.encode(), "text/csv; charset=utf-8", f"{stored.name.hex()[:12]}.csv")

    async def _certificate(self, request: Request) -> Response:
        stored = self._stored(request)
        try:
            data = write_certificate(stored, self._node.storage.held(stored.name))
        except ValueError as error:
            raise RefusalError(409, str(error)) from None
        return _file(data, "application/json", f"{stored.name.hex()[:12]}.certificate")

    async def _evidence(self, request: Request) -> Response:
        stored, name = self._stored(request), request.path_params["name"]
        for place, proof in self._node.storage.evidence(stored.name):
            if stored.names[place] == name:
                return _evidence_file(stored.members[place], proof, stored.name.hex())
        raise RefusalError(
            404, f"there is no evidence against {name!r:.80} in motion {stored.name.hex()[:12]}"
        )

    def _stored(self, request: Request) -> StoredMotion:
        return self._ledger.find(request.path_params["motion"])

    # ---- asking and telling ------------------------------------------------------------------

    async def _ask(self, request: Request) -> Response:
        kind, body = await _body(request)
        read = _asked(kind, body, request)
        key = request.headers.get("idempotency-key")
        name = await self._putting.put(read, key, [kind.encode(), body, request.url.query.encode()])
        where = f"/v1/motions/{name.hex()}"
        return _json(shapes.Accepted(name.hex(), where), 202, {"Location": where})

    async def _check(self, request: Request) -> Response:
        kind, body = await _body(request)
        return _json(await self._putting.check(_asked(kind, body, request)))

    async def _truth(self, request: Request) -> Response:
        kind, body = await _body(request)
        stored, storage = self._stored(request), self._node.storage
        try:
            labels = await asyncio.to_thread(_truths_in, kind, body, stored)
        except ValueError as error:
            raise RefusalError(400, str(error)) from None
        doubt = tell(storage, stored, labels, BODY)
        records = {name: shapes.Record(**record) for name, record in records_of(storage, stored).items()}
        return _json(shapes.Told(stored.name.hex(), len(labels), records, doubt))


def _asked(kind: str, body: bytes, request: Request) -> Callable[[], Asked]:
    """What reads inputs and terms; it takes its time."""
    query = dict(request.query_params)
    if kind == "json" and query:
        raise RefusalError(
            400, f"with JSON the terms are in the body: got {next(iter(query))!r:.60} in the address"
        )
    return lambda: asked_in_json(body) if kind == "json" else asked_in_text(body, query)


def _truths_in(kind: str, body: bytes, stored: StoredMotion) -> dict[int, str]:
    if kind == "text":
        return truths_in_text(body, BODY, stored.motion)
    try:
        told = _TRUTHS.decode(body).truths
    except (msgspec.ValidationError, msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{BODY} must be JSON with truths, as /openapi.json says: {error}") from None
    labels: dict[int, str] = {}
    for number, each in enumerate(told):
        where = f"{BODY}, truth {number}"
        if each.input in labels:
            raise ValueError(f"{where}: input {each.input} has a truth already")
        labels[each.input] = check_truth(each.input, each.label, stored.motion, where)
    if not labels:
        raise ValueError(f"{BODY} has no truths")
    return labels


async def _body(request: Request) -> tuple[str, bytes]:
    """What kind a body is, and the body; refused if it is too long, too slow, or of another kind."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/json", "text/csv"):
        raise RefusalError(415, f"Content-Type must be application/json or text/csv: got {kind!r:.60}")
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
    return "json" if kind == "application/json" else "text", bytes(body)


def _too_long() -> RefusalError:
    said = f"a body must have at most {MOST_BODY:,} bytes: put more with folkmoot ask --via"
    return RefusalError(413, said, {"Connection": "close"})


def _whole(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """A whole number in the address."""
    said = request.query_params.get(name)
    if said is None:
        return default
    if not said.isdecimal() or len(said) > 12 or not least <= int(said) <= most:
        raise RefusalError(400, f"{name} must be a whole number from {least} to {most}: got {said!r:.40}")
    return int(said)


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, dict(headers or {}), media_type="application/json")


def _evidence_file(fingerprint: str, proof: statements.Evidence, about: str) -> Response:
    data = statements.evidence_file(fingerprint, proof)
    return _file(data, "application/octet-stream", f"{about[:12]}.evidence")


def _file(data: bytes, kind: str, name: str) -> Response:
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
