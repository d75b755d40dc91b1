"""Check that every public name has a numpydoc docstring: what it takes, what it returns, how it is used.

    python tools/check_docstrings.py

docs/architecture.md says what is public; classes that public names give back are checked, too. A method
may have one line, unless the class is one whose methods people call all day (``IN_FULL``). ``make check``
runs this; ``tests/test_docstrings.py`` runs the examples.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs" / "_ext"))

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

from topics import GIVEN_BACK

# numpydoc's names: no docstring; parameters missing, unknown or without a type; no Returns section, or one
# without a description; no example.
WANTED = {"GL08", "PR01", "PR02", "PR04", "RT01", "RT03", "EX01"}
IN_FULL = {
    "ConsensusClassifier",
    "ConsensusClusterer",
    "ConsensusRegressor",
    "LocalSlushChain",
    "Outcome",
    "Report",
    "SlushChain",
}


def public_names(root: str = "folkmoot") -> dict[str, object]:
    """What a stub names, and its packages in their ``__all__``; each thing once, at the shortest address."""
    found: dict[int, tuple[str, object]] = {}
    top = importlib.import_module(root)
    things = {f"{root}.{name}": getattr(top, name) for name in top.__all__}
    packages = {name: thing for name, thing in things.items() if inspect.ismodule(thing)}
    inside = {f"{at}.{name}": getattr(each, name) for at, each in packages.items() for name in each.__all__}
    for name, thing in (things | inside).items():
        if name not in packages:
            found.setdefault(id(thing), (name, thing))
    return dict(found.values())


def given_back(names: Iterable[str] | None = None) -> dict[str, object]:
    """Classes below ``folkmoot`` that public names give back, by address: all of them, or these."""
    found = {}
    for name in (" ".join(GIVEN_BACK.values()) if names is None else " ".join(names)).split():
        module, _, short = f"folkmoot.{name}".rpartition(".")
        found[f"{module}.{short}"] = getattr(importlib.import_module(module), short)
    return found


def members(name: str, thing: object) -> Iterator[tuple[str, set[str]]]:
    """The public methods and properties that a class has of ours, and what each must have."""
    if not inspect.isclass(thing):
        return
    roots = "folkmoot.", "folkmoot_chain."
    ours = [base for base in reversed(thing.__mro__) if base.__module__.startswith(roots)]
    for attribute, value in {key: value for base in ours for key, value in vars(base).items()}.items():
        function = getattr(value, "__func__", getattr(value, "fget", getattr(value, "func", value)))
        if not attribute.startswith("_") and inspect.isfunction(function):
            in_full = thing.__name__ in IN_FULL and inspect.isfunction(value)
            yield f"{name}.{attribute}", WANTED - {"EX01"} if in_full else {"GL08"}


def own(thing: object) -> set[str]:
    """What the docstring of a public name must have; nobody calls an enumeration, so it has no parameters."""
    enumeration = inspect.isclass(thing) and issubclass(thing, Enum)
    return WANTED - {"PR01"} if enumeration else WANTED


def complaints() -> Iterator[str]:
    """A line for everything that is missing."""
    public, given = public_names() | public_names("folkmoot_chain"), given_back()
    for name, thing in (public | given).items():
        # The object, not its name: by the name of ``simulation.sweep`` numpydoc could find a module.
        yield from _missing(name, get_doc_object(thing), own(thing) - ({"EX01"} if name in given else set()))
        for each, wanted in members(name, thing):
            yield from _missing(each, each, wanted)


def _missing(name: str, documented: object, wanted: set[str]) -> Iterator[str]:
    for code, message in validate(documented)["errors"]:
        if code in wanted:
            yield f"{name}: {code} {message}"


if __name__ == "__main__":
    lines = list(complaints())
    print(*lines, sep="\n")
    sys.exit(f"{len(lines)} things are missing in docstrings" if lines else 0)
