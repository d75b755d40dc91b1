"""``pages``: the list of pages in a section of docs/README.md, as a list and as a toctree.

docs/README.md is the one list of pages: a new page is a line there. Links to files beside docs/ lead to their
pages on the site, or to the file itself.
"""

from __future__ import annotations

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.typing import ExtensionMetadata

LIST = Path(__file__).parents[1] / "README.md"
# Files of the repository that have a page on the site.
ELSEWHERE = {
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../SECURITY.md": "security.md",
    "../README.md": "index.md",
    "../examples": "gallery/index.rst",
}


def sections() -> dict[str, str]:
    """The text of each section of the list of pages, by its heading."""
    parts = re.split(r"^## (.+)\n", LIST.read_text(encoding="utf-8"), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def listed(text: str) -> list[str]:
    """The pages that a section links first in each of its lines."""
    links = re.findall(r"^- \[[^\]]+\]\(([^)#]+)\)", text, flags=re.M)
    return [ELSEWHERE.get(link, link) for link in links]


class Pages(SphinxDirective):
    """The pages of a section."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """A list with what each page is about, and the same pages for the navigation."""
        self.env.note_dependency(str(LIST))
        text = _on_the_site(sections()[self.arguments[0]])
        inside = "\n".join(listed(text))
        return self.parse_text_to_nodes(f"{text}\n\n```{{toctree}}\n:hidden:\n\n{inside}\n```\n")


def _on_the_site(text: str, up: str = "") -> str:
    """Links that leave docs/ for a file which has a page here lead to that page."""

    def page(found: re.Match[str]) -> str:
        link = found["path"].removeprefix(up)
        return f"]({up}{ELSEWHERE[link]}{found['place'] or ''})" if link in ELSEWHERE else found[0]

    return re.sub(r"\]\((?P<path>\.\./[^)#\s]+?)/?(?P<place>#[^)\s]*)?\)", page, text)


def _prepare(_app: Sphinx, docname: str, source: list[str]) -> None:
    """A page of the repository becomes one of the site; README.md of a folder lists the folder's pages."""
    if docname.startswith(("api/", "gallery/")):
        return
    source[0] = _on_the_site(source[0], "../" * docname.count("/"))
    if docname.endswith("/README"):
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("pages", Pages)
    app.connect("source-read", _prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
