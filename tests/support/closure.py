"""What pyproject.toml and the packages that are installed here ask for, all the way down."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from support.fresh import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CHAIN = tomllib.loads((ROOT / "chain" / "pyproject.toml").read_text())["project"]
_OURS = {"folkmoot": PROJECT, "folkmoot-chain": CHAIN}


def closure(extras: Iterable[str]) -> tuple[dict[str, str], set[str]]:
    """Each package that we need with these extras, and who asks for it; and those not installed.

    An extra of folkmoot-chain has its name in front: "folkmoot-chain local".
    """
    found: dict[str, str] = {}
    absent: set[str] = set()
    named = [each.rpartition(" ") for each in extras]
    waiting = [(name or "folkmoot", extra) for name, _, extra in named]
    waiting += [(name, "") for name in dict(waiting)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            asked = _own(name, extra) if name in _OURS else _asked(name, extra)
        except metadata.PackageNotFoundError:
            absent.add(name)
            continue
        for each in asked:
            wanted = canonicalize_name(each.name)
            if wanted not in _OURS:
                found.setdefault(wanted, name)
            waiting += [(wanted, more) for more in ("", *each.extras)]
    return found, absent


def _own(name: str, extra: str) -> list[Requirement]:
    """Of our packages, as it is written and not as it was when it was installed."""
    project = _OURS[name]
    wanted = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return [Requirement(each) for each in wanted]


def _asked(name: str, extra: str) -> list[Requirement]:
    asked = map(Requirement, metadata.requires(name) or [])
    return [each for each in asked if each.marker is None or each.marker.evaluate({"extra": extra})]
