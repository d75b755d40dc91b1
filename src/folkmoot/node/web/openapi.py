"""``/openapi.json``: the API described (OpenAPI 3.1), its schemas made from the types that are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from folkmoot import __version__
from folkmoot.client import RAW
from folkmoot.node.service import interface
from folkmoot.node.session.header import MOST_INPUTS
from folkmoot.node.web import shapes
from folkmoot.node.web.refusals import Problem
from folkmoot.node.web.shapes import Shapes

_TEXT: Final = {"type": "string"}
_BYTES: Final[dict[str, Any]] = {}  # no JSON: OpenAPI 3.1 leaves the schema out
_JSON: Final = "application/json"
_PROBLEM: Final = "application/problem+json"
_EVENTS: Final = (
    "Server-sent events: moot (how the node and its peers are; first, and when that changes), opened, "
    "progress (how far a motion is), silent, accused, over, ping; all but ping with an id."
)
_TABLE: Final = "A table with one line per input, and perhaps names in the first; terms are in the address."


class _Described:
    """Makes operations; schemas are shared."""

    def __init__(self, made: Shapes) -> None:
        self.terms = made.terms
        types = (
            shapes.Health, shapes.Access, interface.Status, interface.ModelFacts, shapes.Records,
            shapes.Evidence, made.Motions, made.Motion, made.Inputs, shapes.Rounds, shapes.Why, made.Question,
            shapes.Accepted, interface.Checked, shapes.TruthsTold, interface.Truths, interface.RosterNews,
            interface.RosterChange, shapes.Proposed, shapes.Signing, Problem,
        )  # fmt: skip
        found, self.components = msgspec.json.schema_components(
            types, ref_template="#/components/schemas/{name}"
        )
        self._refs = {kind.__name__: schema for kind, schema in zip(types, found, strict=True)}

    def ref(self, name: str) -> dict[str, Any]:
        return self._refs[name]

    def says(self, what: str, name: str | None = None, media: str = _JSON) -> dict[str, Any]:
        """An answer: JSON of a type, or text."""
        return {"description": what, "content": {media: {"schema": self.ref(name) if name else _TEXT}}}

    def file(self, what: str, media: str = "application/octet-stream") -> dict[str, Any]:
        """An answer of bytes."""
        return {"description": what, "content": {media: {"schema": _BYTES}}}

    def get(
        self, what: str, answer: dict[str, Any], *parameters: dict[str, Any], refused: tuple[int, ...] = ()
    ) -> dict[str, Any]:
        """Something that is read."""
        return self.operation(what, {"200": answer}, refused, parameters)

    def operation(
        self,
        what: str,
        answers: Mapping[str, Any],
        refused: tuple[int, ...] = (),
        parameters: tuple[dict[str, Any], ...] = (),
        body: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """An operation, with why it may be refused."""
        why = {str(status): self.says(_REFUSED[status], "Problem", _PROBLEM) for status in refused}
        why["default"] = self.says("Why it was not done, in one line.", "Problem", _PROBLEM)
        told: dict[str, Any] = {"summary": what, "responses": {**answers, **why}}
        if parameters:
            told["parameters"] = list(parameters)
        if body is not None:
            told["requestBody"] = {"required": True, "content": body}
        return told

    def query_terms(self) -> list[dict[str, Any]]:
        """Terms in the address, with a table."""
        schemas = self.components["Question"]["properties"]
        return [
            _query(name, f"A term of the motion, with text/csv: {name}.", schemas[name])
            | ({"style": "form", "explode": False} if name in shapes.LISTS else {})  # a,b
            for name in self.terms
        ]


_REFUSED: Final = {
    400: "It does not fit this description.",
    404: "There is no such thing here.",
    409: "The node cannot do it now, or its policy is against it.",
    422: "It fits this description, and cannot be done as it is.",
}


def described(made: Shapes) -> dict[str, Any]:
    """The description; the same for every node of a version."""
    told = _Described(made)
    key = {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same request with the same key puts nothing a second time.",
        "schema": {"type": "string", "minLength": 1, "maxLength": shapes.LONGEST_KEY, "pattern": "^[!-~]+$"},
    }
    motion = _path("motion", "The name of the motion, 4 or more of its digits, or 'last'.")
    one = "/v2/motions/{motion}"
    rows = {
        _JSON: {"schema": told.ref("Question")},
        "text/csv": {"schema": _BYTES},
        RAW: {"schema": _BYTES},
    }
    about = _query("input", "Which input.", _whole(0, MOST_INPUTS - 1))
    paths = {
        "/healthz": {"get": _public(told.get("Whether the node answers.", told.says("It does.", "Health")))},
        "/readyz": {"get": _public(_ready(told))},
        "/openapi.json": {
            "get": _public(
                told.get(
                    "This.",
                    {"description": "OpenAPI 3.1.", "content": {_JSON: {"schema": {"type": "object"}}}},
                )
            )
        },
        "/metrics": {
            "get": told.get(
                "What Prometheus reads.",
                told.says("All metrics.", media="text/plain; version=0.0.4; charset=utf-8"),
                refused=(404,),
            )
        },
        "/v2/access": {"get": told.get("What one may do here, and the model.", told.says("Now.", "Access"))},
        "/v2/status": {"get": told.get("The node, its peers and budgets.", told.says("Now.", "Status"))},
        "/v2/reload": {
            "post": told.operation(
                "Load the model that node.toml names now.",
                {"200": told.says("What it takes and answers.", "ModelFacts")},
                (409, 422),
            )
        },
        "/v2/records": {"get": told.get("Track records.", told.says("Of all truths told.", "Records"))},
        "/v2/evidence": {"get": told.get("All evidence.", told.says("The newest last.", "Evidence"))},
        "/v2/evidence/{about}/{participant}": {
            "get": told.get(
                "The evidence against a participant.",
                told.file("For folkmoot verify."),
                _path("about", "The name of a motion, or the digest of a roster."),
                _path("participant", "Its name."),
                refused=(404,),
            )
        },
        "/v2/audit": {
            "get": told.get(
                "The audit log, signed; needs the token that may ask.",
                told.file("For folkmoot verify.", "application/jsonl"),
                refused=(409,),
            )
        },
        "/v2/events": {
            "get": told.get(
                _EVENTS,
                told.file("A stream.", "text/event-stream; charset=utf-8"),
                {
                    "name": "Last-Event-ID",
                    "in": "header",
                    "description": "The id of the last event that is known.",
                    "schema": {"type": "string", "maxLength": 60, "pattern": "^[0-9]+-[0-9]+$"},
                },
            )
        },
        "/v2/motions": {
            "get": told.get(
                "Motions of this node.",
                told.says("The newest last.", "Motions"),
                _query("last", "How many, the newest ones.", _whole(1, shapes.MOST_LISTED)),
                refused=(400,),
            ),
            "post": told.operation(
                f"Put a motion. text/csv: {_TABLE} {RAW}: a line of JSON with dtype, width, columns and "
                "terms, then the numbers as bytes, row by row.",
                {
                    "202": told.says("It was put.", "Accepted")
                    | {"headers": {"Location": {"description": "Where to look at it.", "schema": _TEXT}}}
                },
                (400, 409, 422),
                (key, *told.query_terms()),
                rows,
            ),
        },
        "/v2/check": {
            "post": told.operation(
                "What this node makes of inputs. Nothing is put, and nobody else is told.",
                {"200": told.says("How they fit its model.", "Checked")},
                (400, 409, 422),
                tuple(told.query_terms()),
                rows,
            )
        },
        one: {
            "get": told.get(
                "One motion.",
                told.says("As it is now.", "Motion"),
                motion,
                _query(
                    "wait",
                    "Seconds to wait until it is over.",
                    {"type": "number", "minimum": 0, "maximum": shapes.LONGEST_WAIT},
                ),
                refused=(400, 404),
            )
        },
        f"{one}/inputs": {
            "get": told.get(
                "What came of its inputs.",
                told.says("Some of them.", "Inputs"),
                motion,
                _query("from", "The first input that is wanted.", _whole(0, MOST_INPUTS)),
                _query("most", "How many.", _whole(1, shapes.MOST_SHOWN)),
                _query(
                    "only",
                    "Undecided ones; those with fewer than two thirds of the votes for the decision; those "
                    "on which the model of this node was overruled.",
                    {"enum": ["all", "undecided", "contested", "overruled"]},
                ),
                refused=(400, 404),
            )
        },
        f"{one}/rounds": {
            "get": told.get(
                "The rounds of this node in a talk.",
                told.says("Those that are kept.", "Rounds"),
                motion,
                refused=(400, 404),
            )
        },
        f"{one}/why": {
            "get": told.get(
                "Why an input got its answer.",
                told.says("As text and as data.", "Why"),
                motion,
                about | {"required": True},
                refused=(400, 404, 422),
            )
        },
        f"{one}/play": {
            "get": told.get(
                "A page that plays what this node saw.",
                told.says("The page.", media="text/html; charset=utf-8"),
                motion,
                refused=(404, 409),
            )
        },
        f"{one}/answers": {
            "get": told.get(
                "Its decisions.",
                told.says("For spreadsheets.", media="text/csv; charset=utf-8"),
                motion,
                refused=(404,),
            )
        },
        f"{one}/certificate": {
            "get": told.get("Its certificate.", told.file("For folkmoot verify."), motion, refused=(404, 409))
        },
        f"{one}/truth": {
            "put": told.operation(
                "Tell what was right. text/csv: a table with the columns input and label.",
                {"200": told.says("Track records.", "Truths")},
                (400, 404, 409, 422),
                (motion,),
                {_JSON: {"schema": told.ref("TruthsTold")}, "text/csv": {"schema": _BYTES}},
            )
        },
        "/v2/roster": {
            "get": told.get("The roster in force, and proposals.", told.says("Now.", "RosterNews"))
        },
        "/v2/roster/file": {
            "get": told.get(
                "A roster with the signatures that made it so.",
                told.file("TOML.", "application/toml"),
                _query("epoch", "Which; without it the one in force.", _whole(0, 10**9)),
                refused=(400, 404),
            )
        },
        "/v2/roster/proposals": {
            "post": told.operation(
                "Propose and sign a roster.",
                {"200": told.says("The proposal.", "Proposed")},
                (400, 409, 422),
                (),
                {_JSON: {"schema": told.ref("RosterChange")}},
            )
        },
        "/v2/roster/signatures": {
            "post": told.operation(
                "Sign a proposal: one that is known here, or its file.",
                {"200": told.says("The proposal.", "Proposed")},
                (400, 404, 409, 422),
                (),
                {_JSON: {"schema": told.ref("Signing")}, "application/toml": {"schema": _BYTES}},
            )
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "A folkmoot node", "version": __version__, "license": {"name": "Apache-2.0"}},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": told.components,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "On TCP. The socket in the node's folder needs none.",
                }
            },
        },
    }


def _ready(told: _Described) -> dict[str, Any]:
    operation = told.get("Whether it can take part in motions.", told.says("It can.", "Health"))
    operation["responses"]["503"] = told.says("It cannot, and why.", "Health")
    return operation


def _public(operation: dict[str, Any]) -> dict[str, Any]:
    return {**operation, "security": []}


def _path(name: str, what: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1}
    return {"name": name, "in": "path", "required": True, "description": what, "schema": schema}


def _query(name: str, what: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": what, "schema": schema}


def _whole(least: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most}
