"""``folkmoot federated``: who decides for whom, checked beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.options import FLOAT, INT, Json, Plot
from folkmoot.cli.output import picture_path, print_json, print_table, save_picture, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from folkmoot.federated import Analysis, NodeList, QuorumSet, QuorumSystem

SPLIT = 1
NOT_FINISHED = 3
SHOWN = 6  # names of a set that are printed

app = typer.Typer(
    help="Federated moots: each node chooses who decides for it; what that tolerates.", no_args_is_help=True
)

Seconds = Annotated[
    float, typer.Option("--seconds", help="How long to search; what was not finished is named.", **FLOAT)
]


@app.command()
def check(
    nodes: Annotated[
        Path, typer.Argument(help="A list of nodes as JSON: publicKey, name, quorumSet.", show_default=False)
    ],
    active_only: Annotated[
        bool, typer.Option("--active-only", help='Nodes with "active": false never answer.')
    ] = False,
    seconds: Seconds = 60.0,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Do all quorums intersect? Whose absence stops the moot, and whose lies split it?

    Exits with 0 if all quorums intersect, 1 if two share nobody, 3 if it was not finished in time.
    """
    from folkmoot.federated import analyse, read_nodes

    picture = picture_path(plot)
    if not seconds > 0:
        raise ValueError(f"--seconds must be above 0: got {seconds:g}")
    listed = read_nodes(nodes, active_only=active_only)
    system = listed.system()
    found = analyse(system, seconds=seconds, title=listed.title)
    _tell(system, found, listed.title, listed, as_json)
    _draw(system, found, listed.title, picture)
    raise typer.Exit(_code(found))


@app.command()
def slices(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV: participant,peer,trust (each of each) or participant,accuracy (one record for all).",
            show_default=False,
        ),
    ],
    most: Annotated[
        int, typer.Option("--most", help="The most that a set names, the node itself among them.", **INT)
    ] = 7,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the sets into this JSON file.", show_default=False)
    ] = None,
    seconds: Seconds = 60.0,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Propose quorum sets: any ceil(2m/3) of the m each trusts most, and whether they intersect.

    Exits with 0 if all quorums intersect, 1 if two share nobody, 3 if it was not finished in time.
    """
    from folkmoot.federated import QuorumSystem, analyse, propose, read_trust

    picture = picture_path(plot)
    if not seconds > 0:
        raise ValueError(f"--seconds must be above 0: got {seconds:g}")
    trust, names = read_trust(table)
    sets = propose(trust, names, most=most)
    if out is not None:
        _write(out, sets)
    system = QuorumSystem(sets)
    found = analyse(system, seconds=seconds)
    if not as_json:
        shown = [(name, str(sets[name])) for name in names[:12]]
        print_table("proposed quorum sets", ("participant", "any"), shown, words=True)
        if len(names) > len(shown):
            say(f"and {len(names) - len(shown)} more; --out FILE.json writes all")
    _tell(system, found, str, None, as_json)
    _draw(system, found, str, picture)
    raise typer.Exit(_code(found))


def _code(found: Analysis) -> int:
    if found.quorum_intersection is False:
        return SPLIT
    return 0 if found.finished else NOT_FINISHED


def _draw(system: QuorumSystem, found: Analysis, title: Callable[[str], str], path: Path | None) -> None:
    if path is not None:
        from folkmoot.federated.picture import draw_listening

        save_picture(draw_listening(system, found, title), path)


def _write(path: Path, sets: dict[str, QuorumSet]) -> None:
    from folkmoot.federated import NodeList

    entries = [{"publicKey": name, "name": name, "quorumSet": each.to_dict()} for name, each in sets.items()]
    NodeList.from_list(entries).write(path)
    say(f"wrote {path}", error=True)


def _tell(
    system: QuorumSystem,
    found: Analysis,
    title: Callable[[str], str],
    listed: NodeList | None,
    as_json: bool,
) -> None:
    """What was found, for people or for machines."""
    if as_json:
        titles = {} if listed is None else {"names": {key: title(key) for key in system.names}}
        notes = {} if listed is None else {"notes": listed.notes}
        sets = {} if listed is not None else {"quorum_sets": _forms(system)}
        print_json({**found.to_dict(), **notes, **titles, **sets})
        return
    says = {True: "yes", False: "NO", None: f"not finished in {found.seconds:.0f} s; try --seconds"}
    rows = [("every two quorums share somebody", says[found.quorum_intersection], "")]
    for what, sets_found in (
        ("smallest quorum", found.minimal_quorums),
        ("fewest whose absence stops it", found.blocking_sets),
        ("fewest whose lies split it", found.splitting_sets),
    ):
        rows.append((what, *_smallest(sets_found, title)))
    if found.liars:
        rows.append(("... if they misstate their sets", *_smallest(found.liars, title)))
    if found.disjoint is not None:
        for which, quorum in zip(("one quorum", "another, which shares nobody"), found.disjoint, strict=True):
            rows.append((which, str(len(quorum)), _names(quorum, title)))
    counted = (
        f"{found.nodes} nodes; {found.in_quorums} of them in quorums; {found.searched} had to be searched"
    )
    notes_told = [] if listed is None else _notes(listed)
    print_table(counted, ("", "how many", "such as"), rows, [*notes_told, *found.advice], words=True)


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


def _forms(system: QuorumSystem) -> dict[str, object]:
    return {name: None if each is None else each.to_dict() for name, each in system.quorum_sets.items()}


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
