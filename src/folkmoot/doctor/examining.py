"""examine(): this machine, and a node, looked at in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from folkmoot import checks

State = Literal["ok", "note", "missing", "broken"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at, and how it is.

    Of a state, ``note`` is worth knowing, ``missing`` is optional and not there, ``broken`` must be mended.
    """

    what: str
    state: State
    note: str  # what was found, in one line
    fix: str = ""  # what to type or do; empty where nothing need be done


@dataclass(frozen=True)
class Examination:
    """All findings on this machine, and of a node if one was looked at."""

    machine: tuple[Finding, ...]
    node: tuple[Finding, ...] = ()

    def count(self, state: State) -> int:
        """Return how many findings are of a state."""
        return sum(each.state == state for each in (*self.machine, *self.node))

    @property
    def fine(self) -> bool:
        """Whether nothing is broken; optional things may be missing."""
        return not self.count("broken")

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "fine": self.fine,
            "broken": self.count("broken"),
            "missing": self.count("missing"),
            "machine": [asdict(each) for each in self.machine],
            "node": [asdict(each) for each in self.node],
        }


def examine(node: Path | str | None = None, listen: Sequence[str] = (), *, token: str = "") -> Examination:
    """Look at this machine, and at a node; nothing is changed."""
    from folkmoot.doctor.machine import machine
    from folkmoot.doctor.node_folder import node_folder, running_node
    from folkmoot.node.client import Client
    from folkmoot.node.membership.fields import parse_address

    far = isinstance(node, str) and "://" in node
    folder = None if node is None or far else Path(node)
    if folder is not None and not folder.is_dir():
        what = "is a file" if folder.exists() else "is not there"
        raise checks.ArgumentError(
            "{node} must be the folder of a node, as folkmoot node init makes it: {folder!s} {what!s}",
            folder=folder,
            what=what,
        )
    for address in listen:
        try:
            parse_address(address, any_port=True)
        except ValueError as error:
            raise checks.ArgumentError("{listen}: {why!s}", why=error) from None
    if far:
        return Examination(tuple(machine(listen)), tuple(running_node(Client(str(node), token))))
    return Examination(tuple(machine(listen)), () if folder is None else tuple(node_folder(folder)))
