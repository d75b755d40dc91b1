"""read_trust(): what each thinks of each, or one track record for all, from a table in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from folkmoot.arrays import Floats
from folkmoot.tabular import Table, open_table, shortened

PAIRS = ("participant", "peer", "trust")
RECORD = ("participant", "accuracy")


def read_trust(path: str | Path) -> tuple[Floats, list[str]]:
    """Read trust from a table.

    Parameters
    ----------
    path : str or Path
        With the columns participant, peer, trust (a line for each pair that is known; the others are 0), or
        participant, accuracy (one record that all go by).

    Returns
    -------
    array of float, list of str
        Trust of shape (participant, peer) or (peer,), and the names in the order in which they came.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from folkmoot.federated import read_trust
    >>> file = Path(tempfile.mkdtemp()) / "record.csv"
    >>> _ = file.write_text("participant,accuracy\\nada,0.9\\nbo,0.7\\n")
    >>> trust, names = read_trust(file)
    >>> trust.tolist(), names
    ([0.9, 0.7], ['ada', 'bo'])
    """
    with open_table(path) as table:
        if set(PAIRS) <= set(table.columns):
            return _pairs(table)
        if set(RECORD) <= set(table.columns):
            return _record(table)
        raise ValueError(
            f"{path} must have the columns {','.join(PAIRS)} or {','.join(RECORD)}: "
            f"it has {shortened(table.columns)}"
        )


def _pairs(table: Table) -> tuple[Floats, list[str]]:
    at: dict[str, int] = {}
    cells: dict[tuple[int, int], float] = {}
    for line, (participant, peer, trust) in table.rows(PAIRS):
        place = at.setdefault(participant, len(at)), at.setdefault(peer, len(at))
        if place in cells:
            raise ValueError(f"{table.where(line)}: {participant} and {peer} are there twice")
        cells[place] = _number(table, line, trust)
    trust_of = np.zeros((len(at), len(at)))
    for place, value in cells.items():
        trust_of[place] = value
    return trust_of, list(at)


def _record(table: Table) -> tuple[Floats, list[str]]:
    accuracies: dict[str, float] = {}
    for line, (participant, accuracy) in table.rows(RECORD):
        if participant in accuracies:
            raise ValueError(f"{table.where(line)}: {participant} is there twice")
        accuracies[participant] = _number(table, line, accuracy)
    return np.array(list(accuracies.values())), list(accuracies)


def _number(table: Table, line: int, cell: str) -> float:
    value = table.number(cell)
    if value is None or not np.isfinite(value):
        raise ValueError(f"{table.where(line)}: expected a number: got {cell!r}")
    return value
