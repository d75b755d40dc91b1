"""``folkmoot verify``: check the certificate of a motion, offline, with nothing but the roster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.network.motions import print_decisions, write_decisions
from folkmoot.cli.options import Everything, Json
from folkmoot.cli.output import print_json

if TYPE_CHECKING:
    from folkmoot.network.storage.account import Account

# What a node knows of its own part in a motion is in no certificate.
_UNKNOWN = (
    "state", "late", "refused", "trust", "anchored", "why", "rounds_played", "queries", "bytes_sent",
    "bytes_received", "seconds",
)  # fmt: skip


def verify(
    certificate: Annotated[
        Path, typer.Argument(metavar="FILE", help="What folkmoot motions MOTION --certificate FILE wrote.")
    ],
    roster: Annotated[
        Path,
        typer.Option("--roster", metavar="ROSTER.toml", help="The roster whose keys must have signed it."),
    ],
    everything: Everything = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the motion's decisions into this .csv file.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Verify the certificate of a motion, by signatures alone: what was decided, and who signed it."""
    from folkmoot.network.storage.account import account_of, as_dict
    from folkmoot.network.storage.certificate import CAVEAT, read_certificate
    from folkmoot.node.membership.roster import Roster

    moot = Roster.read(roster)
    try:
        stored, held = read_certificate(certificate.read_bytes(), moot)
        found: Account = account_of(stored, held)
    except ValueError as error:
        raise ValueError(f"{certificate} does not hold: {error}") from None
    if out is not None:
        write_decisions(out, found)
    if json:
        told = {key: value for key, value in as_dict(found).items() if key not in _UNKNOWN}
        print_json({"holds": True, "moot": moot.digest, "caveat": CAVEAT} | told)
    else:
        print_decisions(found, [f"the certificate holds: {_parts(found)}", CAVEAT], everything=everything)


def _parts(found: Account) -> str:
    closes, pieces = found.participants - len(found.silent), len(found.evidence)
    proofs = f"{pieces} piece{'' if pieces == 1 else 's'} of evidence"
    return f"the asker's signature, {closes} closes and {proofs}"
