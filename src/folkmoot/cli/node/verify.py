"""``folkmoot verify``: a file that says what it is, checked with nothing but the roster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from folkmoot.cli.node.account_output import print_account, write_decisions
from folkmoot.cli.node.options import RosterFile, option
from folkmoot.cli.options import Everything, Json, OutCsv
from folkmoot.cli.output import new_file, print_json, say

if TYPE_CHECKING:
    from folkmoot.node.evidence import Proven
    from folkmoot.node.membership.roster import Roster
    from folkmoot.node.verifying import Log, Motion, Succeeds

_KEYS: Final = (
    "motion", "asker", "inputs", "answers", "rule", "decisions", "shares", "undecided", "why_undecided",
    "first_votes", "final_votes", "took_part", "silent", "withheld", "struck",
)  # fmt: skip


def verify(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A certificate, a piece of evidence, an audit log, or a roster.",
            show_default=False,
        ),
    ],
    roster: RosterFile = Path("roster.toml"),
    since: Annotated[
        Path | None,
        option("--since", "An earlier audit log, which this one must continue.", "FILE"),
    ] = None,
    everything: Everything = False,
    out: OutCsv = None,
    json: Json = False,
) -> None:
    """Check a certificate, evidence, an audit log or a roster.

    The file says what it is. Signatures are checked with the roster alone, and the answer is computed again.
    """
    from folkmoot.node.evidence import Proven
    from folkmoot.node.membership.roster import Roster
    from folkmoot.node.verifying import NAMES, Log, Motion, kind_of
    from folkmoot.node.verifying import verify as verified

    new_file("--out", out, reads=(file, roster))
    data = file.read_bytes()
    if not roster.is_file():
        raise ValueError(f"--roster must name the roster of the moot: there is no {roster}")
    moot = Roster.read(roster)
    kind = kind_of(data, str(file))
    for name, given, wanted in (("--since", since, "audit log"), ("--out", out, "certificate")):
        if given is not None and not wanted.startswith(kind):
            raise ValueError(f"{name} is only for {wanted}s, and {file} is {NAMES[kind]}")
    try:
        found = verified(data, moot, earlier=None if since is None else since.read_bytes())
    except ValueError as error:
        raise ValueError(f"{file} does not hold: {error}") from None
    if isinstance(found, Motion):
        _motion(found, moot, out, everything=everything, json=json)
    elif not json:
        say(str(found))
    elif isinstance(found, Proven):
        print_json(_accused(found))
    else:
        print_json(_log(found) if isinstance(found, Log) else _succeeds(found))


def _motion(found: Motion, moot: Roster, out: Path | None, *, everything: bool, json: bool) -> None:
    import msgspec

    from folkmoot.node.certificate import CAVEAT

    account: dict[str, Any] = msgspec.to_builtins(found.account)
    if out is not None:
        write_decisions(out, account)
    if json:
        print_json(
            {"holds": True, "moot": moot.digest, "caveat": CAVEAT} | {key: account[key] for key in _KEYS}
        )
        return
    more = f"the certificate holds: a quorum signed these votes, and they give this answer; {CAVEAT}"
    print_account(account, everything=everything, more=(more,))


def _accused(proven: Proven) -> dict[str, Any]:
    return {
        "holds": True,
        "participant": proven.participant.name,
        "what": proven.what,
        "motion": proven.motion,
        "roster": proven.roster,
    }


def _log(found: Log) -> dict[str, Any]:
    facts = {"node": found.node, "entries": found.entries, "forgotten": found.forgotten, "head": found.head}
    return {"holds": True, **facts}


def _succeeds(found: Succeeds) -> dict[str, Any]:
    proposal, standing = found.proposal, found.proposal.standing
    return {
        "holds": True,
        "proposal": proposal.successor.name.hex(),
        "epoch": proposal.successor.roster.epoch,
        "moot": proposal.successor.roster.digest,
        "signed": [proposal.old[place].name for place in standing.signed],
        "counted": standing.counted,
        "needed": standing.needed,
        "owed": list(standing.owed),
        "in_force": found.in_force,
    }
