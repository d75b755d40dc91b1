"""Check that every public name has a numpydoc docstring: what it takes, what it returns, how it is used.

    python tools/check_docstrings.py

Public is what some ``__all__`` of folkmoot or of folkmoot-chain names. A method of a public class may have
one line, unless the class is one whose methods people call all day (``IN_FULL``). ``make check`` runs this;
``tests/test_docstrings.py`` runs the examples.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from enum import Enum

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

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
    """Every class and function that an ``__all__`` names, by the first (shortest) place that names it."""
    packages = [root]
    packages += [
        each.name for each in pkgutil.walk_packages(importlib.import_module(root).__path__, f"{root}.")
    ]
    found: dict[int, tuple[str, object]] = {}
    for package in sorted(packages, key=lambda name: (name.count("."), name)):
        if package.endswith("__main__"):
            continue
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found.setdefault(id(thing), (f"{package}.{name}", thing))
    return dict(found.values())


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
    for name, thing in (public_names() | public_names("folkmoot_chain")).items():
        # The object, not its name: by the name of ``simulation.sweep`` numpydoc could find a module.
        yield from _missing(name, get_doc_object(thing), own(thing))
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
