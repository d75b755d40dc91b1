"""examine(): this machine, and the folder of a node, looked at in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from folkmoot.doctor.finding import Finding, State


@dataclass(frozen=True)
class Examination:
    """What was found.

    Parameters
    ----------
    machine : tuple of Finding
        On this machine.
    node : tuple of Finding
        In the folder of a node; none if none was looked at.
    """

    machine: tuple[Finding, ...]
    node: tuple[Finding, ...] = ()

    def count(self, state: State) -> int:
        """Return how many findings are of a state.

        Parameters
        ----------
        state : str
            Such as "broken".

        Returns
        -------
        int
            On the machine and of the node.
        """
        return sum(each.state == state for each in (*self.machine, *self.node))

    @property
    def fine(self) -> bool:
        """Whether nothing is broken; optional things may be missing."""
        return not self.count("broken")

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON.

        Returns
        -------
        dict
            ``fine``, the counts ``broken`` and ``missing``, and the findings.
        """
        return {
            "fine": self.fine,
            "broken": self.count("broken"),
            "missing": self.count("missing"),
            "machine": [each.to_dict() for each in self.machine],
            "node": [each.to_dict() for each in self.node],
        }


def examine(node: Path | None = None, listen: Sequence[str] = ()) -> Examination:
    """Look at this machine, and at the folder of a node; nothing is changed.

    Parameters
    ----------
    node : Path, optional
        The folder of a node.
    listen : sequence of str
        HOST:PORT of further addresses on which a node is to listen.

    Returns
    -------
    Examination
        What was found.

    Raises
    ------
    ValueError
        If the folder is not there, or an address is not HOST:PORT.

    Examples
    --------
    >>> from folkmoot.doctor.examining import examine
    >>> found = examine()
    >>> found.machine[0].what
    'versions'
    """
    from folkmoot.doctor.machine import machine
    from folkmoot.doctor.node_folder import node_folder
    from folkmoot.node.membership.fields import parse_address

    if node is not None and not node.is_dir():
        what = "is a file" if node.exists() else "is not there"
        raise ValueError(
            f"--node must be the folder of a node, as folkmoot node init makes it: {node} {what}"
        )
    for address in listen:
        try:
            parse_address(address, any_port=True)
        except ValueError as error:
            raise ValueError(f"--listen: {error}") from None
    return Examination(tuple(machine(listen)), () if node is None else tuple(node_folder(node)))
