"""``folkmoot evidence``: who contradicted itself, verified by signatures alone."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.network.motions import storage_of
from folkmoot.cli.options import Json
from folkmoot.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from folkmoot.node.membership.roster import Roster

_MEANING = {
    "two answers": "it signed two different answers as one and the same",
    "two commitments": "it signed two different commitments to its first votes",
    "two closes": "it signed two different closes of one motion",
    "broken commitment": "the first votes in its close are not those it had committed to",
    "two successors": "it signed two different rosters to replace one",
    "broken reveal": "the first votes that it revealed are not those it had committed to",
    "broken map of owners": "the map of check rows that it opened is not the one of its motion's header",
    "broken labels": "the labels of its check rows that it opened are not those it had committed to",
}


def evidence(
    source: Annotated[
        Path, typer.Argument(metavar="DIR|FILE", help="A node's folder, or a file of evidence from one.")
    ],
    roster: Annotated[
        Path,
        typer.Option("--roster", metavar="ROSTER.toml", help="The roster whose keys must have signed it."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Write each piece into this folder, a file each, to show to others.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show who contradicted itself, and verify it: by signatures alone, offline, by anybody with the
    roster.
    """
    from folkmoot.network.wire import statements
    from folkmoot.node.membership.roster import Roster

    moot = Roster.read(roster)
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out must be a folder, which may be new: {out} is a file")
    pieces = _evidence_in(source, moot)
    lines = [_line(moot, *piece) for piece in pieces]
    if out is not None and pieces:
        out.mkdir(parents=True, exist_ok=True)
        for line, (motion, fingerprint, proof) in zip(lines, pieces, strict=True):
            path = out / f"{motion[:12]}-{line['against']}.evidence"
            path.write_bytes(statements.evidence_file(fingerprint, proof))
            say(f"wrote {path}", error=True)
    if json:
        print_json({"evidence": lines})
    elif not lines:
        say("no evidence: nobody has been seen to contradict itself")
    else:
        _print(lines)
    if not all(line["holds"] for line in lines):
        raise ValueError(_doubt(lines, roster))


def _line(moot: Roster, motion: str, fingerprint: str, proof: Any) -> dict[str, Any]:
    from folkmoot.network.wire import statements

    place = moot.position(fingerprint)
    known = place is not None
    holds = place is not None and statements.proves(proof, moot[place].public_key, bytes.fromhex(fingerprint))
    name = fingerprint[:16] if place is None else moot[place].name
    return {
        "against": name,
        "what": statements.kind(proof),
        "motion": motion,
        "holds": holds,
        "in_roster": known,
    }


def _print(lines: list[dict[str, Any]]) -> None:
    rows = [[x["against"], x["what"], x["motion"][:12], _verdict(x)] for x in lines]
    notes = [f"{what}: {_MEANING[what]}" for what in dict.fromkeys(x["what"] for x in lines)]
    if all(x["holds"] for x in lines):
        notes.append("holds: the signatures are of its own key, which nobody else has")
    title = f"{len(lines)} piece{'' if len(lines) == 1 else 's'} of evidence"
    print_table(title, ["against", "what", "motion", "verified"], rows, notes)


def _verdict(line: dict[str, Any]) -> str:
    return "holds" if line["holds"] else "DOES NOT HOLD" if line["in_roster"] else "NOT IN THE ROSTER"


def _doubt(lines: list[dict[str, Any]], roster: Path) -> str:
    strangers = [line["against"] for line in lines if not line["in_roster"]]
    broken = sum(line["in_roster"] and not line["holds"] for line in lines)
    told = [f"{broken} of {len(lines)} pieces of evidence prove nothing"] if broken else []
    if strangers:
        told.append(
            f"{roster} does not have the key of {', '.join(dict.fromkeys(strangers))}: "
            "give the roster that was in use at the time"
        )
    return "; ".join(told)


def _evidence_in(source: Path, moot: Roster) -> list[tuple[str, str, Any]]:
    """(motion or roster, fingerprint of the accused, evidence) of a node's folder or of a file."""
    import msgspec

    from folkmoot.network.storage.chronicle import Chronicle
    from folkmoot.network.wire import statements
    from folkmoot.node.membership.identity import SETTINGS

    if source.is_dir():
        if not (source / SETTINGS).is_file():
            raise ValueError(f"there is no node in {source}: give a node's folder, or one file of evidence")
        storage = storage_of(source)
        found: list[tuple[str, str, Any]] = [
            (name.hex(), storage.motion(name).members[node], proof)
            for name in storage.names("with evidence")
            for node, proof in storage.evidence(name)
        ]
        return found + [
            (old.digest, old[statements.accused(proof)].fingerprint, proof)
            for old, proof in Chronicle(storage, moot, time.time()).evidence()
        ]
    try:
        fingerprint, data = msgspec.msgpack.decode(source.read_bytes(), type=tuple[str, bytes])
        proof = statements.read_evidence(data)
        if not re.fullmatch(r"[0-9a-f]{64}", fingerprint):  # it becomes part of a file's name
            raise ValueError("no fingerprint")
    except ValueError:
        raise ValueError(
            f"{source} is not a file of evidence, or not all of one; folkmoot evidence DIR --out FOLDER "
            "writes them"
        ) from None
    return [(statements.motion_of(proof).hex(), fingerprint, proof)]
