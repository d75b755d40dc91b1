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
    "../RELEASING.md": "releasing.md",
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
    """Links that leave docs/ lead to the page of that file; to a text without a page, to the file."""

    def page(found: re.Match[str]) -> str:
        label, link, place = found["label"], found["path"].removeprefix(up), found["place"] or ""
        if link in ELSEWHERE:
            return f"[{label}]({up}{ELSEWHERE[link]}{place})"
        if link.startswith("../") and link.endswith(".md"):
            return f"{{download}}`{label.replace('`', '')} <{found['path']}>`"
        return found[0]

    link = r"\[(?P<label>[^\]]+)\]\((?P<path>\.\./[^)#\s]+?)/?(?P<place>#[^)\s]*)?\)"
    return re.sub(link, page, text)


def _prepare(_app: Sphinx, docname: str, source: list[str]) -> None:
    """A page of the repository becomes one of the site.

    One that is nothing but a link to a file above docs/ becomes that file; README.md of a folder lists the
    folder's pages.
    """
    if docname.startswith(("api/", "gallery/")):
        return
    above = re.fullmatch(r"\[[^\]]+\]\(\.\./([A-Z]+\.md)\)\s*", source[0])
    if above is not None:
        text = (LIST.parents[1] / above[1]).read_text(encoding="utf-8")
        source[0] = re.sub(r"\]\((?![a-z]+:|#)(docs/)?([^)\s]+)\)", _from_docs, text)
    source[0] = _on_the_site(source[0], "../" * docname.count("/"))
    if docname.endswith("/README"):
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def _from_docs(found: re.Match[str]) -> str:
    """A link of a file above docs/, as it must be in docs/."""
    return f"]({found[2]})" if found[1] else f"](../{found[2]})"


def setup(app: Sphinx) -> ExtensionMetadata:
    """Add the directive."""
    app.add_directive("pages", Pages)
    app.connect("source-read", _prepare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
