"""examine(): this machine and folders of nodes, looked at in turn."""

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
    folders : dict of str to tuple of Finding
        In each folder of a node.
    """

    machine: tuple[Finding, ...]
    folders: dict[str, tuple[Finding, ...]]

    def count(self, state: State) -> int:
        """Return how many findings are of a state.

        Parameters
        ----------
        state : str
            Such as "broken".

        Returns
        -------
        int
            On the machine and in the folders.
        """
        everything = [*self.machine, *(each for found in self.folders.values() for each in found)]
        return sum(each.state == state for each in everything)

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
            "folders": {name: [each.to_dict() for each in found] for name, found in self.folders.items()},
        }


def examine(folders: Sequence[Path] = (), listen: Sequence[str] = ()) -> Examination:
    """Look at this machine and at folders of nodes; nothing is changed.

    Parameters
    ----------
    folders : sequence of Path
        Folders of nodes.
    listen : sequence of str
        HOST:PORT of further addresses on which a node is to listen.

    Returns
    -------
    Examination
        What was found.

    Raises
    ------
    ValueError
        If a folder is not there, or an address is not HOST:PORT.

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

    for folder in folders:
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "is not there"
            raise ValueError(
                f"FOLDER must be the folder of a node, as folkmoot node init makes it: {folder} {what}"
            )
    for address in listen:
        try:
            parse_address(address, any_port=True)
        except ValueError as error:
            raise ValueError(f"--listen: {error}") from None
    return Examination(
        tuple(machine(listen)), {str(folder): tuple(node_folder(folder)) for folder in folders}
    )
