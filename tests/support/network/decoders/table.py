"""Everything that reads what somebody else wrote, with samples of it: for damaged frames and files.

``readers`` is the table. ``test_fuzz.py`` holds it to the code: a decoder, a reader or a kind of message that
is not in it fails there until it is.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import msgspec

from folkmoot import network, web
from folkmoot.node import membership, wire
from support.network.decoders.doors import doors
from support.network.decoders.files import brought, played, rosters
from support.network.decoders.messages import forms, reviews, said
from support.network.decoders.reader import Reader


@lru_cache
def readers(folder: Path) -> tuple[Reader, ...]:
    """All of them; files are written into the folder."""
    return (
        *said(), *forms(), *rosters(folder), *played(), *doors(), *reviews(), *brought(folder),
    )  # fmt: skip


def enumerated() -> set[str]:
    """Every decoder of folkmoot.network and folkmoot.web, and every function of the parts of a node that
    others write to which reads bytes, texts or files.
    """
    found = set()
    for module in (*_modules(network), *_modules(membership), *_modules(wire), *_modules(web)):
        short = module.__name__.removeprefix("folkmoot.").removeprefix("network.").removeprefix("node.")
        for name, value in vars(module).items():
            if isinstance(value, msgspec.msgpack.Decoder | msgspec.json.Decoder):
                found.add(f"{short}:{name}")
        if short.partition(".")[0] in ("wire", "membership", "session", "storage"):
            found |= {f"{short}:{name}" for name, value in _functions(module) if _reads(name, value)}
    return found


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield import_module(each.name)


def _functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        if getattr(value, "__module__", "") == module.__name__ and not name.startswith("_"):
            if inspect.isfunction(value):
                yield name, value
            elif inspect.isclass(value):
                for attribute, method in inspect.getmembers(value, inspect.isroutine):
                    if attribute in vars(value) and not attribute.startswith("_"):
                        yield f"{name}.{attribute}", method


def _reads(name: str, function: Any) -> bool:
    """Whether a function's name and first argument say that it reads something."""
    if not name.rpartition(".")[2].startswith(("read", "parse", "unpack", "check_export")):
        return False
    kinds = [
        each.annotation for each in inspect.signature(function).parameters.values() if each.name != "self"
    ]
    return bool(kinds) and kinds[0] in ("bytes", "str", "Path", "Path | str")


def kinds_of(decoder: Any) -> set[type]:
    """The types that a decoder of a union tells apart."""
    return {*(get_args(decoder.type) or (decoder.type,))}
