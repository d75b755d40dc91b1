"""Which model of the node votes: what pools made of it; one of these is adopted here, or that undone.

It does what ``folkmoot node adopt`` does, by the same functions, with the settings that the node runs with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from folkmoot.network.service.improve import adopting
from folkmoot.network.service.improve.pools import Pools
from folkmoot.network.service.models import is_function
from folkmoot.network.service.operation import Shown
from folkmoot.network.storage.storage import DATABASE, Storage
from folkmoot.web import shapes
from folkmoot.web.exchange import JSON, body_of, json_of
from folkmoot.web.refusals import RefusalError

_WHICH: Final = msgspec.json.Decoder(shapes.Which)


class Models:
    """The models of one node; ``changed`` is called when another votes from now on."""

    def __init__(self, shown: Shown, changed: Callable[[], None]) -> None:
        self._shown, self._changed = shown, changed
        self._one = asyncio.Lock()  # one change at a time

    def routes(self) -> list[Route]:
        """What is answered where."""
        return [
            Route("/v1/model", self._model, methods=["GET"]),
            Route("/v1/model/adopt", self._adopt, methods=["POST"]),
            Route("/v1/model/undo", self._undo, methods=["POST"]),
        ]

    async def _model(self, _request: Request) -> Response:
        models, settings = self._shown.models, self._shown.settings
        pile = [each.model for each in models.adoptions.pile()]
        named = settings.model if is_function(settings.model) else Path(settings.model).name
        return json_of(
            shapes.Model(
                votes=models.choice.current(),
                named=named,
                adopted=pile,
                pools_of=None if settings.improve is None else list(settings.improve.askers),
                pools=[name.hex() for name in Pools(models.candidates.folder).names()],
                candidates=models.candidates.reports(),
                adopt_by_page=self._may_change(),
            )
        )

    def _may_change(self) -> bool:
        improve = self._shown.settings.improve
        return improve is not None and improve.adopt_by_page

    async def _adopt(self, request: Request) -> Response:
        wanted = await _which(request)

        def change(storage: Storage) -> shapes.Adopted:
            settings = self._shown.settings
            try:
                report = adopting.candidate_in(settings, storage, wanted)
            except ValueError as error:
                raise RefusalError(404, str(error)) from None
            step = adopting.adopt(settings, storage, report)
            return shapes.Adopted(step.votes, step.former, report)

        return json_of(await self._change(change))

    async def _undo(self, request: Request) -> Response:
        wanted = await _which(request)

        def change(storage: Storage) -> shapes.Adopted:
            step = adopting.undo(self._shown.settings, storage, wanted)
            return shapes.Adopted(step.votes, step.former)

        return json_of(await self._change(change))

    async def _change(self, change: Callable[[Storage], shapes.Adopted]) -> shapes.Adopted:
        """In a thread, with a connection of its own to the database: a model takes time to load."""
        if not self._may_change():
            raise RefusalError(
                403,
                "models are adopted at the prompt: folkmoot node adopt FOLDER [MOTION]; with "
                "adopt_by_page = true in [improve] of node.toml they are here, too",
            )

        def done() -> shapes.Adopted:
            storage = Storage(self._shown.folder / DATABASE)
            try:
                return change(storage)
            except (ValueError, OSError) as error:
                raise RefusalError(409, str(error)) from None
            finally:
                storage.close()

        async with self._one:
            adopted = await asyncio.to_thread(done)
        name = self._shown.node.roster[self._shown.node.seat.place].name
        self._shown.log.write(
            "info", "another model votes", node=name, votes=adopted.votes, former=adopted.former, by="page"
        )
        self._changed()
        return adopted


async def _which(request: Request) -> str | None:
    """The motion that a request names; None if it names none."""
    _, body = await body_of(request, JSON)
    try:
        return _WHICH.decode(body or b"{}").motion
    except (msgspec.ValidationError, msgspec.DecodeError, RecursionError) as error:
        raise RefusalError(
            400, f'the body must be JSON such as {{"motion": "865eab2c"}}, or {{}}: {error}'
        ) from None
