"""What pyproject.toml and the packages that are installed here ask for, all the way down."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.fresh import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def closure(extras: Iterable[str]) -> tuple[dict[str, str], set[str]]:
    """Each package that folkmoot needs with these extras, and who asks for it; and those not installed."""
    found: dict[str, str] = {}
    absent: set[str] = set()
    waiting = [("folkmoot", extra) for extra in ("", *extras)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            asked = _own(extra) if name == "folkmoot" else _asked(name, extra)
        except metadata.PackageNotFoundError:
            absent.add(name)
            continue
        for each in asked:
            wanted = canonicalize_name(each.name)
            if wanted != "folkmoot":
                found.setdefault(wanted, name)
            waiting += [(wanted, more) for more in ("", *each.extras)]
    return found, absent


def _own(extra: str) -> list[Requirement]:
    """Of folkmoot, as it is written and not as it was when it was installed."""
    return [
        Requirement(each)
        for each in (PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"])
    ]


def _asked(name: str, extra: str) -> list[Requirement]:
    asked = map(Requirement, metadata.requires(name) or [])
    return [each for each in asked if each.marker is None or each.marker.evaluate({"extra": extra})]
