"""The Python API: a page for each public name, written when the site is built.

``topics.py`` lists what is public, and which classes come back from what. Such a class is described on the
page of the function or class that gives it.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.typing import ExtensionMetadata

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from check_docstrings import given_back, members, public_names
from numpydoc.xref import DEFAULT_LINKS

from outside import aliases
from topics import GIVEN_BACK, TOPICS

FOLDER = Path(__file__).parents[1] / "api"


def pages() -> dict[str, str]:
    """The index, and a page for each public name."""
    given = {f"folkmoot.{name}": classes.split() for name, classes in GIVEN_BACK.items()}
    names = public_names()
    made = {name: _page(name, thing, given.get(name, [])) for name, thing in names.items()}
    made["index"] = _index(names)
    return made


def _heading(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def _page(name: str, thing: object, given: list[str]) -> str:
    text = _heading(name.removeprefix("folkmoot.")) + _described(name, thing)
    if given:
        text += f"\n{_heading('What comes back', '-')}You get these from it, and never import them.\n\n"
        text += "\n".join(_described(each, thing) for each, thing in given_back(given).items())
    return text


def _described(name: str, thing: object) -> str:
    text = f".. currentmodule:: {name.rpartition('.')[0]}\n\n"
    if not inspect.isclass(thing):
        return f"{text}.. autofunction:: {name}\n"
    ours = [each.rpartition(".")[2] for each, _ in members(name, thing)]
    text += f".. autoclass:: {name}\n"
    return text + (f"   :members: {', '.join(ours)}\n" if ours else "")


def _index(names: dict[str, object]) -> str:
    text = _heading("Python API")
    text += "All public names by topic, each below ``folkmoot``. All else is internal.\n\n"
    for topic, (about, short) in TOPICS.items():
        text += f"{_heading(topic, '-')}{about}\n\n"
        for each in short.split():
            first = (inspect.getdoc(names[f"folkmoot.{each}"]) or "").split("\n\n")[0]
            text += f"* :doc:`{each} <folkmoot.{each}>`: {' '.join(first.split())}\n"
        text += "\n"
    return text + "\n.. toctree::\n   :hidden:\n\n" + "".join(f"   {name}\n" for name in names)


def _write(_app: Sphinx) -> None:
    """Write pages that changed, and remove those of names that are gone."""
    FOLDER.mkdir(exist_ok=True)
    wanted = {FOLDER / f"{name}.rst": text for name, text in pages().items()}
    for path in FOLDER.glob("*.rst"):
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _tell_names(_app: Sphinx, config: Config) -> None:
    """Types in docstrings that are public names of ours lead to their pages; no others do."""
    DEFAULT_LINKS.clear()  # outside-names.txt has those that lead to pages of others
    names = {name.rpartition(".")[2]: name for name in {**public_names(), **given_back()}}
    ours = {short: name for short, name in names.items() if short[0].isupper()}
    config["numpydoc_xref_aliases"] = aliases() | ours


def _lead_back(_app: Sphinx, pagename: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    """Listings of source lead back to a name by the address at which its page describes it.

    Sphinx takes one address for all names of a module, that of the first that it reads.
    """
    if not pagename.startswith("_modules/folkmoot/"):
        return
    module = pagename.removeprefix("_modules/").replace("/", ".")
    for address, thing in {**public_names(), **given_back()}.items():
        if getattr(thing, "__module__", None) == module:
            home, _, short = address.rpartition(".")
            anchor = rf'(class="viewcode-back" href="[^"#]*#)[\w.]*?\b({short}(?:\.\w+)*")'
            context["body"] = re.sub(anchor, rf"\g<1>{home}.\g<2>", context["body"])


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write the pages before others are read."""
    app.connect("html-page-context", _lead_back)
    app.connect("config-inited", _tell_names, priority=100)  # before numpydoc looks
    app.connect("builder-inited", _write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
