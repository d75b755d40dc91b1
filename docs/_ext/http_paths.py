"""``http-paths``: what a node answers over HTTP, made from the description that it gives at /openapi.json."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from folkmoot.node.web.api import CALLS
from folkmoot.node.web.calls import described


def _anchor(schema: str) -> str:
    return f"schema-{schema.lower()}"


def _shape(schema: dict[str, Any]) -> str:
    """A schema in a few words of HTML: ``array of Peer``, with a link to what a Peer is."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"<a href='#{_anchor(name)}'>{name}</a>"
    if "anyOf" in schema:
        return " or ".join(_shape(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " or ".join(escape(repr(each)) for each in schema["enum"])
    kind = schema.get("type", "anything")
    if kind == "array":
        if "prefixItems" in schema:
            return f"array of ({', '.join(_shape(each) for each in schema['prefixItems'])})"
        return f"array of {_shape(schema['items'])}" if schema.get("items") else "array"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_shape(schema['additionalProperties'])}"
    return str(kind)


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def _paragraph(html: str) -> nodes.raw:
    return _raw(f"<p>{html}</p>")


def _content(said: dict[str, Any]) -> str:
    return "; ".join(
        f"<code>{media}</code>: {_shape(each['schema'])}" for media, each in said.get("content", {}).items()
    )


def _items(rows: list[tuple[str, str]]) -> nodes.raw:
    inside = "".join(f"<dt><code>{name}</code></dt><dd>{about}</dd>" for name, about in rows)
    return _raw(f"<dl class='options'>{inside}</dl>")


def _section(name: str, title: str) -> nodes.section:
    section = nodes.section(ids=[name], names=[name])
    section += nodes.title("", title)
    return section


def _call(method: str, path: str, told: dict[str, Any]) -> nodes.section:
    typed = f"{method.upper()} {path}"
    section = _section(nodes.make_id(typed), typed)
    section += nodes.paragraph("", told["summary"])
    parameters = [
        (
            each["name"],
            f"in the {each['in']}: {escape(each.get('description', '')) or _shape(each['schema'])}",
        )
        for each in told.get("parameters", [])
    ]
    if parameters:
        section += _items(parameters)
    body = told.get("requestBody")
    if body:
        section += _paragraph(
            f"<strong>Takes</strong> {_content(body)}. {escape(body.get('description', ''))}"
        )
    for status, said in told["responses"].items():
        status_is = "Otherwise" if status == "default" else status
        section += _paragraph(f"<strong>{status_is}</strong> {escape(said['description'])} {_content(said)}")
    return section


def _schema(name: str, schema: dict[str, Any]) -> nodes.section:
    section = _section(_anchor(name), name)
    if schema.get("description"):
        section += nodes.paragraph("", " ".join(schema["description"].split("\n\n")[0].split()))
    required = set(schema.get("required", ()))
    rows = []
    for each, shape in schema.get("properties", {}).items():
        default = (
            "" if each in required else f", {shape['default']!r} if not given" if "default" in shape else ""
        )
        rows.append((each, f"{_shape(shape)}{default}"))
    if rows:
        section += _items(rows)
    return section


class HttpPaths(SphinxDirective):
    """A section for each call, then one with the schemas."""

    def run(self) -> list[nodes.Node]:
        """Calls in the order of the description; schemas by name."""
        api = described(CALLS.values())
        made: list[nodes.Node] = []
        for path, calls in api["paths"].items():
            made += [_call(method, path, told) for method, told in calls.items()]
        schemas = _section("schemas", "Schemas")
        for name, schema in sorted(api["components"]["schemas"].items()):
            schemas += _schema(name, schema)
        return [*made, schemas]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("http-paths", HttpPaths)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
