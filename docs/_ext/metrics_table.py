"""``metrics``: every metric of a node with what it says, from the list that the node itself tells them by."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

from folkmoot.node.web.metrics import described


class Metrics(SphinxDirective):
    """A table of metrics."""

    def run(self) -> list[nodes.Node]:
        """One row per metric."""
        lines = ["| metric | kind | |", "|---|---|---|"]
        for metric in described():
            label = f'{{{metric.labels[0]}="..."}}' if metric.labels else ""
            lines.append(f"| `{metric.name}{label}` | {metric.kind} | {metric.text} |")
        return self.parse_text_to_nodes("\n".join(lines) + "\n")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("metrics", Metrics)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
