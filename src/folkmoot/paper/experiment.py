"""What an experiment is: cells of work, done in any order and kept, and what they come to together.

A cell is a pure function of plain arguments. So a finished cell can be stored and never computed again, cells
can run in other processes or on other machines, and the whole is a pure function of (config, seed).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

Config = TypeVar("Config")


@dataclass(frozen=True)
class Cell:
    """A module-level function, its arguments and its type: plain values, lists, dataclasses of them."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    returns: Any

    @property
    def key(self) -> str:
        """The same for the same function and arguments: the name under which its result is kept."""
        text = msgspec.json.encode([self.function.__module__, self.function.__qualname__, self.arguments])
        return f"{self.function.__qualname__}-{hashlib.blake2b(text, digest_size=10).hexdigest()}"

    def __call__(self) -> Any:
        return self.function(**self.arguments)


@dataclass(frozen=True)
class Finding:
    """One number or statement of the paper beside ours. ``holds`` is None where there is nothing to judge."""

    quantity: str
    paper: str
    ours: str
    difference: str = ""
    reason: str = ""  # of the difference
    holds: bool | None = None


@dataclass(frozen=True)
class Result:
    """What every experiment comes to; each adds its numbers in fields of its own."""

    verdict: str  # in words
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]  # what a reader must know: which data, what was left out


@dataclass(frozen=True)
class Experiment(Generic[Config]):
    """An experiment by name, with the settings of a full and of a quick run."""

    name: str
    about: str  # one line
    claim: str  # what the paper says, and where
    full: Config
    quick: Config
    cells: Callable[[Config, int], Sequence[Cell]]  # of (config, seed)
    result: Callable[[Config, Sequence[Any]], Result]  # of config and what all cells returned, in order
    then: Callable[[Config, Sequence[Any]], Sequence[Cell]] | None = None  # more cells, from the first ones
    needs_data: bool = False  # FEMNIST: the config has a field ``data``, a path or None

    def run(self, config: Config, seed: int) -> Result:
        """All of it, here and now: a pure function of (config, seed)."""
        found = [cell() for cell in self.cells(config, seed)]
        if self.then:
            found += [cell() for cell in self.then(config, found)]
        return self.result(config, found)
