"""``folkmoot verify``: a certificate, evidence or an audit log, checked with nothing but the roster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from folkmoot.cli.node.account_output import print_account, write_decisions
from folkmoot.cli.options import Everything, Json
from folkmoot.cli.output import new_file, print_json, say

if TYPE_CHECKING:
    from folkmoot.node.membership.roster import Roster

CAVEAT: Final = (
    "it does not show what absent members would have said, nor that nobody holds evidence against a member"
)


def verify(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A certificate, a piece of evidence, or an audit log.", show_default=False
        ),
    ],
    roster: Annotated[
        Path, typer.Option("--roster", metavar="FILE", help="The roster whose keys must have signed it.")
    ] = Path("roster.toml"),
    since: Annotated[
        Path | None,
        typer.Option(
            "--since",
            metavar="FILE",
            help="Of an audit log: an earlier one, from which it must go on.",
            show_default=False,
        ),
    ] = None,
    everything: Everything = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Write the decisions into this .csv file.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check a certificate, evidence or an audit log by signatures alone, and compute the answer again."""
    from folkmoot.node.membership.roster import Roster

    new_file("--out", out)
    moot = Roster.read(roster)
    data = file.read_bytes()
    kind = _kind_of(data, file)
    for option, given, wanted in (("--since", since, "audit"), ("--out", out, "certificate")):
        if given is not None and kind != wanted:
            raise ValueError(f"{option} is for {_NAMES[wanted]}: {file} is {_NAMES[kind]}")
    try:
        if kind == "certificate":
            _certificate(data, moot, out, everything=everything, json=json)
        elif kind == "evidence":
            _evidence(data, moot, json=json)
        else:
            _audit(data, moot, since, json=json)
    except ValueError as error:
        raise ValueError(f"{file} does not hold: {error}") from None


_NAMES: Final = {"certificate": "a certificate", "evidence": "a piece of evidence", "audit": "an audit log"}


def _kind_of(data: bytes, file: Path) -> str:
    """Which of the three a file says it is."""
    for kind in _NAMES:
        if f"folkmoot {kind} ".encode() in data[:4096]:
            return kind
    raise ValueError(
        f"{file} must be a certificate (folkmoot motions show MOTION --certificate FILE), evidence (folkmoot "
        "motions evidence --out FOLDER) or an audit log (folkmoot node audit --out FILE): it is none of these"
    )


def _certificate(data: bytes, moot: Roster, out: Path | None, *, everything: bool, json: bool) -> None:
    import msgspec

    from folkmoot.node.account import account_of_outcome
    from folkmoot.node.certificate import verify as verified

    outcome = verified(data, moot)
    told: dict[str, Any] = msgspec.to_builtins(
        account_of_outcome(outcome, [member.name for member in moot], data)
    )
    if out is not None:
        write_decisions(out, told)
    if json:
        keys: tuple[str, ...] = (
            "motion",
            "asker",
            "inputs",
            "answers",
            "rule",
            "decisions",
            "shares",
            "undecided",
        )
        keys += ("why_undecided", "first_votes", "final_votes", "took_part", "silent", "withheld", "struck")
        print_json({"holds": True, "moot": moot.digest, "caveat": CAVEAT} | {key: told[key] for key in keys})
        return
    print_account(
        told,
        everything=everything,
        more=(f"the certificate holds: a quorum signed these votes, and they give this answer; {CAVEAT}",),
    )


def _evidence(data: bytes, moot: Roster, *, json: bool) -> None:
    from folkmoot.node.evidence import check_evidence

    proven = check_evidence(data, moot)
    told = {
        "holds": True,
        "participant": proven.participant.name,
        "what": proven.what,
        "motion": proven.motion,
        "roster": proven.roster,
    }
    if json:
        print_json(told)
        return
    about = (
        f"motion {proven.motion[:12]}" if proven.motion else f"the successor of roster {proven.roster[:12]}"
    )
    say(f"the evidence against {proven.participant.name} holds, about {about}: {proven.what}")


def _audit(data: bytes, moot: Roster, since: Path | None, *, json: bool) -> None:
    from folkmoot.node.storage.audit import check_export, check_goes_on

    try:
        entries, node = check_export(data.decode(), moot)
        if since is not None:
            earlier, other = check_export(since.read_text(encoding="utf-8"), moot)
            if other != node:
                raise ValueError(f"--since must be an audit log of {node}: {since} is of {other}")
            check_goes_on(entries, earlier)
    except UnicodeDecodeError:
        raise ValueError("it is not text") from None
    gone = sum(entry.text is None for entry in entries)
    head = entries[-1].link.hex() if entries else ""
    if json:
        print_json({"holds": True, "node": node, "entries": len(entries), "forgotten": gone, "head": head})
        return
    more = f", {gone:,} of them digests of what was forgotten" if gone else ""
    say(f"the audit log of {node} holds: {len(entries):,} entries{more}, head {head[:16]}")
