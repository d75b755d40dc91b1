"""What a block of Python prints stands below it without a copy button.

``copybutton_selector`` in conf.py leaves out what has the class ``output``, as cells of notebooks have.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata


def _mark(_app: Sphinx, doctree: nodes.document) -> None:
    for block in doctree.findall(nodes.literal_block):
        before = block.previous_sibling()
        plain = block.get("language", "none") in ("none", "default", "")
        if plain and isinstance(before, nodes.literal_block) and before.get("language") == "python":
            block["classes"].append("output")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Mark them before pages are written."""
    app.connect("doctree-read", _mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
