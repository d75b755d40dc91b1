"""``/openapi.json``: the API described (OpenAPI 3.1), its schemas made from the types that are used."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from folkmoot import __version__
from folkmoot.network.service.status import Status
from folkmoot.web import shapes
from folkmoot.web.refusals import Problem

_TYPES: Final = (
    Status, shapes.Motion, shapes.Motions, shapes.Inputs, shapes.Rounds, shapes.Question, shapes.Accepted,
    shapes.Truths, shapes.Told, shapes.Access, shapes.Checked, shapes.Records, shapes.Accusations, Problem,
)  # fmt: skip
_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer", "minimum": 0}
_MOTION: Final = {
    "name": "motion",
    "in": "path",
    "required": True,
    "description": "The name of the motion, 4 or more of its digits, or 'last'.",
    "schema": _TEXT,
}
_EVENTS: Final = (
    "Server-sent events: moot (how the node and its peers are; first, and when that changes), opened, "
    "progress (phase, round, shares among those asked), silent, accused, over, ping; all but ping with an id."
)


@cache
def described() -> dict[str, Any]:
    """The description; the same for every node of a version."""
    schemas, components = msgspec.json.schema_components(_TYPES, ref_template="#/components/schemas/{name}")
    refs = {getattr(kind, "__name__", ""): schema for kind, schema in zip(_TYPES, schemas, strict=True)}

    def says(what: str, kind: str | None = None, media: str = "application/json") -> dict[str, Any]:
        schema = refs[kind] if kind else _TEXT
        return {"description": what, "content": {media: {"schema": schema}}}

    def takes(kind: str, table: str) -> dict[str, Any]:
        either = {"application/json": {"schema": refs[kind]}, "text/csv": {"schema": _TEXT}}
        return {"required": True, "description": table, "content": either}

    refused = {"default": says("Why not, in one line.", "Problem", "application/problem+json")}

    def get(what: str, answer: dict[str, Any], *parameters: dict[str, Any]) -> dict[str, Any]:
        return {"summary": what, "parameters": list(parameters), "responses": {"200": answer} | refused}

    asked = components["Question"]["properties"]
    terms = [
        _query(name, f"A term of the motion, with text/csv: {name}.", asked[name])
        | ({"style": "form", "explode": False} if name == "labels" else {})  # a,b
        for name in shapes.Question.__struct_fields__
        if name not in ("rows", "columns")
    ]
    key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string", "maxLength": 200}}
    last = {"name": "Last-Event-ID", "in": "header", "schema": _TEXT}
    one = "/v1/motions/{motion}"
    put = {
        "summary": "Put a motion. Status 202: it is under way; the same key puts nothing twice.",
        "parameters": [key, *terms],
        "requestBody": takes(
            "Question", "Rows, or a table with a line an input and perhaps names in the first."
        ),
        "responses": {
            "202": says("It was put.", "Accepted")
            | {"headers": {"Location": {"description": "Where to look at it.", "schema": _TEXT}}}
        }
        | refused,
    }
    name = {"name": "name", "in": "path", "required": True, "schema": _TEXT}
    digest = {"name": "roster", "in": "path", "required": True, "schema": _TEXT}
    since = _query("from", "The first input that is wanted.", _WHOLE)
    most = _query("most", "How many, 10,000 at the most.", _WHOLE)
    about = _query("input", "With the answers to this input.", _WHOLE)
    wait = _query("wait", "Seconds to wait until it is over, 60 at the most.", _WHOLE)
    newest = _query("last", "How many, the newest ones; 200 at the most.", _WHOLE)
    truth = {
        "summary": "Tell what was right.",
        "parameters": [_MOTION],
        "requestBody": takes("Truths", "Truths, or a table with the columns input and label."),
        "responses": {"200": says("Track records.", "Told")} | refused,
    }
    check = {
        "summary": "What this node makes of inputs; nothing is put, and nobody else is told.",
        "parameters": terms,
        "requestBody": put["requestBody"],
        "responses": {"200": says("How they fit its model.", "Checked")} | refused,
    }
    answers = says("input,label,agreement, for spreadsheets.", media="text/csv")
    certificate = says("JSON to the byte, for folkmoot verify.")
    proof = says("A file for folkmoot evidence.", media="application/octet-stream")
    return {
        "openapi": "3.1.0",
        "info": {"title": "A folkmoot node", "version": __version__, "license": {"name": "Apache-2.0"}},
        "security": [{"token": []}],
        "paths": {
            "/openapi.json": {"get": {**get("This.", says("OpenAPI 3.1.")), "security": []}},
            "/v1/access": {"get": get("What the token allows; the model.", says("Now.", "Access"))},
            "/v1/check": {"post": check},
            "/v1/records": {"get": get("Track records.", says("Of all truths told.", "Records"))},
            "/v1/evidence": {"get": get("All evidence.", says("The newest last.", "Accusations"))},
            "/v1/moot": {"get": get("The node, its peers and budgets.", says("Now.", "Status"))},
            "/v1/events": {"get": get(_EVENTS, says("A stream.", media="text/event-stream"), last)},
            "/v1/motions": {
                "get": get("Motions of this node.", says("The newest last.", "Motions"), newest),
                "post": put,
            },
            one: {"get": get("One motion.", says("As it is now.", "Motion"), _MOTION, wait)},
            f"{one}/inputs": {"get": get("Its inputs.", says("Some.", "Inputs"), _MOTION, since, most)},
            f"{one}/rounds": {"get": get("Its rounds.", says("Those kept.", "Rounds"), _MOTION, about)},
            f"{one}/answers": {"get": get("Its decisions.", answers, _MOTION)},
            f"{one}/certificate": {"get": get("Its certificate.", certificate, _MOTION)},
            f"{one}/evidence/{{name}}": {"get": get("Evidence against one.", proof, _MOTION, name)},
            f"{one}/truth": {"put": truth},
            "/v1/audit": {
                "get": get("The audit log, signed; with the token that may ask.", says("JSON lines."))
            },
            "/v1/rosters/{roster}/evidence/{name}": {
                "get": get("Evidence that a member signed two successors of it.", proof, digest, name)
            },
        },
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _query(name: str, what: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": what, "schema": schema}
