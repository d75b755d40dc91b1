"""Excerpts under the hits of the search: the text of all pages in one script that only the search page loads.

Sphinx would fetch each page for its excerpt, which a browser refuses from ``file://``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

MOST = 20_000  # characters of a page
HIDDEN = (nodes.raw, nodes.comment, nodes.math_block)


def _text(doctree: nodes.document) -> str:
    found = doctree.findall(nodes.TextElement)
    parts = [each.astext() for each in found if not isinstance(each, (nodes.title, nodes.Inline, *HIDDEN))]
    return re.sub(r"\s+", " ", " ".join(parts))[:MOST]


def _scripts(
    app: Sphinx, pagename: str, _template: str, _context: dict[str, Any], _doctree: nodes.document | None
) -> None:
    if pagename == "search":
        app.add_js_file("pages.js")
        app.add_js_file("excerpts.js")


def _write(app: Sphinx, problem: Exception | None) -> None:
    if problem is not None or app.builder.format != "html":
        return
    texts = {name: _text(app.env.get_doctree(name)) for name in sorted(app.env.found_docs)}
    script = f"window.PAGES = {json.dumps(texts, separators=(',', ':'))};\n"
    (Path(app.outdir) / "_static" / "pages.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write the texts when the site is built."""
    app.connect("html-page-context", _scripts)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
