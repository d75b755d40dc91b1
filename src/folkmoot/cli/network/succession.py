"""``folkmoot roster propose | sign | status``: how the members of a moot replace its roster.

They work on what the node in a folder has stored, whether it runs or not. A node that runs notices, passes
proposals and signatures on to the others, and goes over to the new roster by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.network.init_node import Folder, check_node
from folkmoot.cli.options import INT, Json
from folkmoot.cli.output import new_file, print_json, print_table, say

if TYPE_CHECKING:
    from folkmoot.network.storage.chronicle import Chronicle, Proposal
    from folkmoot.node.membership.identity import Identity
    from folkmoot.node.membership.roster import Member

RosterOption = Annotated[
    Path | None,
    typer.Option(
        "--roster",
        metavar="ROSTER.toml",
        help="The roster that the node is run with.",
        show_default="that in node.toml",
    ),
]
_LINE = "a line that 'folkmoot node init' printed, or the folder of a node; may be repeated."


def propose(
    folder: Folder,
    add: Annotated[
        list[str] | None,
        typer.Option("--add", metavar="LINE|DIR", help=f"Who joins: {_LINE}", show_default=False),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", metavar="NAME", help="Who leaves; may be repeated.", show_default=False),
    ] = None,
    rotate: Annotated[
        list[str] | None,
        typer.Option(
            "--rotate",
            metavar="LINE|DIR",
            help=f"Whose key changes, which its old key must sign, too: {_LINE}",
            show_default=False,
        ),
    ] = None,
    replace: Annotated[
        list[str] | None,
        typer.Option(
            "--replace",
            metavar="LINE|DIR",
            help=f"Whose key was lost or stolen, so that a quorum alone decides: {_LINE}",
            show_default=False,
        ),
    ] = None,
    roster: RosterOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE.toml",
            help="Write the proposal, to be signed by others.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Propose the roster that comes next, and sign it as this node; a quorum must sign it, too."""
    from folkmoot.network.wire.succession import Succession
    from folkmoot.network.wire.succession_file import write_succession

    new_file("--out", out)
    with _opened(folder, roster) as (me, chronicle):
        old = chronicle.tip
        members = {member.name: member for member in old}
        for name in remove or []:
            if members.pop(name, None) is None:
                raise ValueError(f"--remove must be one of {', '.join(m.name for m in old)}: got {name!r}")
        for member in _members(add or [], "--add"):
            if member.name in members:
                raise ValueError(
                    f"--add: {member.name!r} takes part already; for another key of the same member give "
                    "--rotate, or --replace if the old one was lost or stolen"
                )
            members[member.name] = member
        renewed = [(m, "--rotate") for m in _members(rotate or [], "--rotate")]
        renewed += [(m, "--replace") for m in _members(replace or [], "--replace")]
        for member, option in renewed:
            before = members.get(member.name)
            if before is None or before.fingerprint == member.fingerprint:
                what = "takes no part" if before is None else "has this key already"
                raise ValueError(f"{option} must be another key of a member: {member.name!r} {what}")
            members[member.name] = member
        if not (add or remove or renewed):
            raise ValueError("give what changes: --add, --remove, --rotate or --replace")
        stolen = [member.name for member, option in renewed if option == "--replace"]
        succession = Succession.after(old, members.values(), stolen)
        proposal = chronicle.sign(succession, me.key, me.fingerprint, time.time())
        if out is not None:
            write_succession(out, succession, old, proposal.signatures)
            say(f"wrote {out}", error=True)
        _tell(proposal, chronicle, json=json)


def sign(
    folder: Folder,
    which: Annotated[
        str,
        typer.Argument(
            metavar="PROPOSAL|FILE.toml",
            help="The first digits of a proposal that 'folkmoot roster status' shows, or a file of one.",
            show_default=False,
        ),
    ],
    roster: RosterOption = None,
    json: Json = False,
) -> None:
    """Sign a proposal as this node, once for each roster; into a file the signature is written, too."""
    from folkmoot.network.storage.chronicle import Proposal
    from folkmoot.network.wire.succession_file import read_succession, write_succession

    with _opened(folder, roster) as (me, chronicle):
        old, file = chronicle.tip, Path(which)
        if not file.is_file():
            chosen = _proposal_called(which, chronicle)
            proposal = chronicle.sign(chosen.succession, me.key, me.fingerprint, time.time())
        else:
            succession, signatures = read_succession(file, old)
            chronicle.sign(succession, me.key, me.fingerprint, time.time())
            # Those who sign are told of everything in the file; what is in force then may be this very one.
            proposal = Proposal(old, succession, signatures)
            chronicle.learn(proposal, time.time())
            held = {p.succession.name: p for p in chronicle.stored(old)}[succession.name]
            proposal = Proposal(old, succession, {**signatures, **held.signatures})
            write_succession(file, succession, old, proposal.signatures)
            say(f"wrote {file}", error=True)
        _tell(proposal, chronicle, json=json)


def status(
    folder: Folder,
    roster: RosterOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="ROSTER.toml",
            help="Write the roster in force, with the signatures that made it so.",
            show_default=False,
        ),
    ] = None,
    epoch: Annotated[
        int | None,
        typer.Option("--epoch", help="Write that of this epoch instead.", show_default=False, **INT),
    ] = None,
    json: Json = False,
) -> None:
    """Which roster is in force at a node, what is proposed, and who has signed it."""
    from folkmoot.network.wire.succession_file import write_succession

    new_file("--out", out)
    with _opened(folder, roster) as (_, chronicle):
        epochs = {each.epoch: place for place, each in enumerate(chronicle.rosters)}
        if epoch is not None and (out is None or epoch not in epochs):
            known = ", ".join(map(str, epochs))
            raise ValueError(f"--epoch must be one that this node knows ({known}), with --out: got {epoch}")
        if out is not None:
            place = epochs[chronicle.tip.epoch if epoch is None else epoch]
            link = chronicle.after(chronicle.rosters[place - 1]) if place else None
            if link is None:
                chronicle.rosters[place].write(out)
            else:
                write_succession(out, link.succession, link.old, link.signatures)
            say(f"wrote {out}", error=True)
        told = _status(chronicle)
        if json:
            print_json(told)
            return
        say(
            f"epoch {told['epoch']}, {told['n']} participants, digest {told['digest']}",
            f"quorum {told['quorum']} of {told['n']}"
            + ("" if told["previous"] is None else f"; the roster before: {told['previous']}"),
        )
        rows = [
            [
                each["proposal"][:12],
                _changes(each["changes"]),
                f"{each['counted']} of {each['needed']}",
                ", ".join(each["signed"]),
                ", ".join(each["owed"]),
            ]
            for each in told["proposals"]
        ]
        if rows:
            header = ["proposal", "changes", "signatures", "signed by", "old key owed by"]
            notes = [
                f"EVIDENCE against {x['against']}: it signed two successors of epoch {x['epoch']}"
                for x in told["evidence"]
            ]
            print_table("", header, rows, notes, words=True)
        else:
            say("nothing is proposed")
            for x in told["evidence"]:
                say(f"EVIDENCE against {x['against']}: it signed two successors of epoch {x['epoch']}")


@contextmanager
def _opened(folder: Path, roster: Path | None) -> Iterator[tuple[Identity, Chronicle]]:
    """The node in a folder, and what it knows of rosters."""
    from folkmoot.network.service.node_file import read_node_file
    from folkmoot.network.storage.chronicle import Chronicle
    from folkmoot.network.storage.storage import DATABASE, Storage
    from folkmoot.node.membership.identity import load
    from folkmoot.node.membership.roster import Roster

    check_node(folder)
    me = load(folder)
    root = Roster.read(read_node_file(folder).chosen_roster(roster))
    database = folder / DATABASE
    if not database.exists():  # nothing was ever put to it; what is stored is its owner's alone
        database.touch(mode=0o600)
    storage = Storage(database)
    try:
        yield me, Chronicle(storage, root, time.time())
    finally:
        storage.close()


def _members(entries: list[str], option: str) -> list[Member]:
    from folkmoot.cli.network.manage_roster import participants_of

    try:
        found = list(participants_of(entries))
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from None
    names = [member.name for member in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{option} must name each member once: got {twice!r} twice")
    return found


def _proposal_called(which: str, chronicle: Chronicle) -> Proposal:
    digits = which.lower()
    found = [each for each in chronicle.proposals if each.succession.name.hex().startswith(digits)]
    if len(found) == 1 and digits:
        return found[0]
    names = ", ".join(each.succession.name.hex()[:12] for each in chronicle.proposals)
    if not found or not digits:
        raise ValueError(
            "a proposal must be a file, or the first digits of one that this node has "
            f"({names or 'it has none'}): got {which!r}"
        )
    raise ValueError(f"{which!r} could be any of {names}: give more digits")


def _tell(proposal: Proposal, chronicle: Chronicle, *, json: bool) -> None:
    """What was signed, and what is missing."""
    told = _proposal(proposal) | {"in_force": chronicle.tip == proposal.succession.roster}
    if json:
        print_json(told)
        return
    say(
        f"proposal {told['proposal'][:12]} for epoch {told['epoch']}: {_changes(told['changes'])}",
        f"its digest will be {told['digest']}",
        f"signed by {', '.join(told['signed'])}: {told['counted']} of {told['needed']} signatures needed",
    )
    if told["owed"]:
        say(f"the old key must sign, too: {', '.join(told['owed'])}")
    if told["in_force"]:
        say("it is in force at this node")


def _status(chronicle: Chronicle) -> dict[str, Any]:
    from folkmoot.network.wire import statements
    from folkmoot.node.membership.roster import faults, quorum

    tip = chronicle.tip
    return {
        "epoch": tip.epoch,
        "digest": tip.digest,
        "previous": tip.previous or None,
        "n": len(tip),
        "quorum": quorum(len(tip)),
        "faults": faults(len(tip)),
        "participants": [member.name for member in tip],
        "proposals": [_proposal(each) for each in chronicle.proposals],
        "evidence": [
            {"epoch": old.epoch, "against": old[statements.accused(proof)].name}
            for old, proof in chronicle.evidence()
        ],
    }


def _proposal(proposal: Proposal) -> dict[str, Any]:
    standing, changes = proposal.standing, proposal.succession.changes(proposal.old)
    return {
        "proposal": proposal.succession.name.hex(),
        "epoch": proposal.succession.roster.epoch,
        "digest": proposal.succession.roster.digest,
        "changes": {
            "joined": list(changes.joined),
            "left": list(changes.left),
            "rotated": list(changes.rotated),
            "replaced": list(changes.replaced),
            "edited": list(changes.edited),
        },
        "signed": [proposal.old[place].name for place in standing.signed],
        "counted": standing.counted,
        "needed": standing.needed,
        "owed": list(standing.owed),
    }


def _changes(changes: dict[str, list[str]]) -> str:
    """joined hugo; left gina"""
    return "; ".join(f"{what} {', '.join(names)}" for what, names in changes.items() if names)
