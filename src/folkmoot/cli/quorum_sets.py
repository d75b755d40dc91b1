"""``folkmoot theory quorum-sets``: whose absence stops a moot of quorum sets, and whose lies split it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.options import Deadline, Json, Plot
from folkmoot.cli.output import picture_path, print_json, print_table, save_picture
from folkmoot.node.durations import seconds_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from folkmoot.outlook.analysis import Analysis
    from folkmoot.outlook.node_list import NodeList
    from folkmoot.outlook.system import QuorumSystem

SPLIT = 1
NOT_FINISHED = 3
SHOWN = 6  # names of a set that are printed


def quorum_sets(
    nodes: Annotated[
        Path, typer.Argument(help="A list of nodes as JSON: publicKey, name, quorumSet.", show_default=False)
    ],
    active_only: Annotated[
        bool, typer.Option("--active-only", help='Nodes with "active": false never answer.')
    ] = False,
    deadline: Deadline = "60s",
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Find whose absence stops a moot of quorum sets, and whose lies split it.

    It exits with 0 if all quorums intersect, 1 if two share nobody, 3 if it was not finished in time.
    """
    from folkmoot.outlook.analysis import analyse
    from folkmoot.outlook.node_list import read_nodes

    picture = picture_path(plot)
    seconds = seconds_of(deadline, "--deadline")
    if not seconds > 0:
        raise ValueError(f"--deadline must be above 0: got {deadline!r}")
    listed = read_nodes(nodes, active_only=active_only)
    system = listed.system()
    found = analyse(system, seconds=seconds, title=listed.title)
    _tell(system, found, listed, json)
    _draw(system, found, listed.title, picture)
    raise typer.Exit(_code(found))


def _code(found: Analysis) -> int:
    if found.quorum_intersection is False:
        return SPLIT
    return 0 if found.finished else NOT_FINISHED


def _draw(system: QuorumSystem, found: Analysis, title: Callable[[str], str], path: Path | None) -> None:
    if path is not None:
        from folkmoot.outlook.picture import draw_listening

        save_picture(draw_listening(system, found, title), path)


def _tell(system: QuorumSystem, found: Analysis, listed: NodeList, json: bool) -> None:
    """The findings, for people or for machines."""
    title = listed.title
    if json:
        names = {key: title(key) for key in system.names}
        print_json({**found.to_dict(), "notes": listed.notes, "names": names})
        return
    says = {True: "yes", False: "NO", None: f"not finished in {found.seconds:.0f} s; try --deadline"}
    rows = [("every two quorums share somebody", says[found.quorum_intersection], "")]
    for what, sets_found in (
        ("smallest quorum", found.minimal_quorums),
        ("fewest whose absence stops it", found.blocking_sets),
        ("fewest whose lies split it", found.splitting_sets),
    ):
        rows.append((what, *_smallest(sets_found, title)))
    if found.misstating_sets:
        rows.append(("... if they misstate their sets", *_smallest(found.misstating_sets, title)))
    if found.disjoint is not None:
        for which, quorum in zip(("one quorum", "another, which shares nobody"), found.disjoint, strict=True):
            rows.append((which, str(len(quorum)), _names(quorum, title)))
    counted = (
        f"{found.nodes} nodes; {found.in_quorums} of them in quorums; {found.searched} had to be searched"
    )
    print_table(counted, ("", "how many", "such as"), rows, [*_notes(listed), *found.advice], words=True)


def _smallest(sets: list[frozenset[str]] | None, title: Callable[[str], str]) -> tuple[str, str]:
    if sets is None:
        return "not finished", ""
    if not sets:
        return "none", ""
    first = sets[0]
    many = sum(len(each) == len(first) for each in sets)
    if not first:
        return "0", "they are split already"
    more = f" (and {many - 1:,} more of that size)" if many > 1 else ""
    return str(len(first)), _names(first, title) + more


def _names(nodes: frozenset[str], title: Callable[[str], str]) -> str:
    named = sorted(title(each) for each in nodes)
    more = f", ... ({len(named) - SHOWN} more)" if len(named) > SHOWN else ""
    return ", ".join(named[:SHOWN]) + more


def _notes(listed: NodeList) -> list[str]:
    words = {
        "without_quorum_set": "without a quorum set: in no quorum",
        "never_satisfied": "with a threshold beyond the members: in no quorum",
        "validators_without_entry": "named but without an entry: never answer, thresholds stay",
        "not_in_own_set": "not in its own set: counted only by others",
        "inactive": "not active: " + ("never answer" if listed.active_only else "counted all the same"),
    }
    return [
        f"{listed.notes.get(key, 0):>5} {told}" for key, told in words.items() if listed.notes.get(key, 0)
    ]
