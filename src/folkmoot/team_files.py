"""read_teams(): who is in which team, from a table in a file."""

from __future__ import annotations

from pathlib import Path

from folkmoot.tabular import open_table, shortened

COLUMNS = ("participant", "team")


def read_teams(path: str | Path) -> dict[str, list[str]]:
    """The members of each team, by the names of the teams, in the order in which they came.

    Parameters
    ----------
    path : str or Path
        A table with the columns participant, team: a line for each participant.

    Returns
    -------
    dict from str to list of str
        For ``Hierarchy``.

    Raises
    ------
    ValueError
        If a column is missing, a cell is empty, or somebody is there twice.
    """
    teams: dict[str, list[str]] = {}
    seen: set[str] = set()
    with open_table(path) as table:
        if not set(COLUMNS) <= set(table.columns):
            raise ValueError(
                f"{path} must have the columns {','.join(COLUMNS)}: it has {shortened(table.columns)}"
            )
        for line, (participant, team) in table.rows(COLUMNS):
            if not participant or not team:
                raise ValueError(f"{table.where(line)}: expected a participant and its team")
            if participant in seen:
                raise ValueError(f"{table.where(line)}: {participant} is there twice")
            seen.add(participant)
            teams.setdefault(team, []).append(participant)
    return teams
