"""The routes of the API: each reads what is asked, calls the node, and says what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from folkmoot.files.tabular import table_text
from folkmoot.network.service.operation import Shown
from folkmoot.network.service.status import as_dict
from folkmoot.network.service.truths import check_truth, records_by_name, records_of, tell, truths_in_text
from folkmoot.network.session.phases import Phase
from folkmoot.network.session.view import shares_of
from folkmoot.network.storage.account import decisions_table
from folkmoot.network.storage.audit import export_log
from folkmoot.network.storage.certificate import has_certificate, write_certificate
from folkmoot.network.storage.invitations import Invitations
from folkmoot.network.storage.storage import DATABASE, Storage, StoredMotion
from folkmoot.network.wire import statements
from folkmoot.node.membership import identity
from folkmoot.node.membership.roster import Roster
from folkmoot.protocols import PROTOCOLS
from folkmoot.web import files, shapes
from folkmoot.web.exchange import CSV, JSON, MOST_BODY, body_of, file_of, json_of
from folkmoot.web.feed import Feed
from folkmoot.web.ledger import Ledger
from folkmoot.web.openapi import described
from folkmoot.web.putting import BODY, Asked, Putting, asked_in_json, asked_in_text
from folkmoot.web.refusals import RefusalError
from folkmoot.web.streams import EventStream, wait_for

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
        self._exporting = asyncio.Lock()  # a log may be long: one at a time

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
                Route("/v1/audit", self._audit, methods=["GET"]),
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
        return json_of(described())

    async def _access(self, request: Request) -> Response:
        model, labels = self._shown.model, self._shown.labels
        columns = [shapes.Column(each.name, each.unit, each.low, each.high) for each in model.schema]
        return json_of(
            shapes.Access(
                node=self._node.roster[self._node.seat.place].name,
                may=request.state.right,
                labels=None if labels is None else list(labels),
                columns=columns,
                width=model.columns,
                most_bytes=MOST_BODY,
                answers=model.kinds(),
                protocols=list(PROTOCOLS),
            )
        )

    async def _moot(self, _request: Request) -> Response:
        return json_of(as_dict(self._shown.look()))

    async def _records(self, _request: Request) -> Response:
        names = {member.fingerprint: member.name for member in self._node.roster}
        records = records_by_name(self._node.storage, names)
        return json_of(shapes.Records({name: shapes.Record(**each) for name, each in records.items()}))

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
        return json_of(shapes.Accusations(found))

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

    async def _audit(self, request: Request) -> Response:
        if request.state.right != "ask":
            raise RefusalError(403, "this token may only look: the audit log needs that of the file 'token'")
        folder = self._shown.folder

        def exported() -> bytes:
            me, storage = identity.load(folder), Storage(folder / DATABASE)
            try:
                return export_log(storage.check_audit(), me.name, me.fingerprint, me.key).encode()
            finally:
                storage.close()

        async with self._exporting:
            try:
                data = await asyncio.to_thread(exported)
            except ValueError as error:  # it was tampered with
                raise RefusalError(409, str(error)) from None
        return file_of(data, "application/jsonl", f"{self._node.roster[self._node.seat.place].name}.audit")

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
        return json_of(shapes.Motions(found, storage.count(), damaged, Invitations(storage).in_vain()))

    async def _motion(self, request: Request) -> Response:
        wait = _whole(request, "wait", 0, least=0, most=int(LONGEST_WAIT))
        stored = self._stored(request)

        def over() -> bool:
            session = self._node.session(stored.name)
            return session is None or session.phase is Phase.OVER

        if wait and not over():
            await wait_for(self.feed, over, wait)
            stored = self._ledger.motion(stored.name)
        return json_of(await self._told(stored))

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
            refused={names[place]: why for place, why in view.refused.items()},
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
            )
            for i in range(first, end)
        ]
        following = end if end < account.inputs else None
        return json_of(shapes.Inputs(account.motion, lines, account.inputs, following))

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
        return json_of(shapes.Rounds(stored.name.hex(), lines, played))

    async def _answers(self, request: Request) -> Response:
        stored = self._stored(request)
        account = await self._ledger.account(stored)
        text = await asyncio.to_thread(lambda: table_text(*decisions_table(account)))
        return file_of(text.encode(), "text/csv; charset=utf-8", f"{stored.name.hex()[:12]}.csv")

    async def _certificate(self, request: Request) -> Response:
        stored = self._stored(request)
        try:
            data = write_certificate(stored, self._node.storage.held(stored.name))
        except ValueError as error:
            raise RefusalError(409, str(error)) from None
        return file_of(data, "application/json", f"{stored.name.hex()[:12]}.certificate")

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
        kind, body = await body_of(request, JSON, CSV)
        read = _asked(kind, body, request)
        key = request.headers.get("idempotency-key")
        name = await self._putting.put(read, key, [kind.encode(), body, request.url.query.encode()])
        where = f"/v1/motions/{name.hex()}"
        return json_of(shapes.Accepted(name.hex(), where), 202, {"Location": where})

    async def _check(self, request: Request) -> Response:
        kind, body = await body_of(request, JSON, CSV)
        return json_of(await self._putting.check(_asked(kind, body, request)))

    async def _truth(self, request: Request) -> Response:
        kind, body = await body_of(request, JSON, CSV)
        stored, storage = self._stored(request), self._node.storage
        try:
            labels = await asyncio.to_thread(_truths_in, kind, body, stored)
        except ValueError as error:
            raise RefusalError(400, str(error)) from None
        doubt = tell(storage, stored, labels, BODY)
        records = {name: shapes.Record(**record) for name, record in records_of(storage, stored).items()}
        return json_of(shapes.Told(stored.name.hex(), len(labels), records, doubt))


def _asked(kind: str, body: bytes, request: Request) -> Callable[[], Asked]:
    """What reads inputs and terms; it takes its time."""
    query = dict(request.query_params)
    if kind == JSON and query:
        raise RefusalError(
            400, f"with JSON the terms are in the body: got {next(iter(query))!r:.60} in the address"
        )
    return lambda: asked_in_json(body) if kind == JSON else asked_in_text(body, query)


def _truths_in(kind: str, body: bytes, stored: StoredMotion) -> dict[int, str]:
    if kind == CSV:
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


def _whole(request: Request, name: str, default: int, *, least: int, most: int) -> int:
    """A whole number in the address."""
    said = request.query_params.get(name)
    if said is None:
        return default
    if not said.isdecimal() or len(said) > 12 or not least <= int(said) <= most:
        raise RefusalError(400, f"{name} must be a whole number from {least} to {most}: got {said!r:.40}")
    return int(said)


def _evidence_file(fingerprint: str, proof: statements.Evidence, about: str) -> Response:
    data = statements.evidence_file(fingerprint, proof)
    return file_of(data, "application/octet-stream", f"{about[:12]}.evidence")
