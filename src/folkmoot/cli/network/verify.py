"""``folkmoot verify``: check the certificate of a motion, offline, with nothing but the roster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.network.motions import print_decisions, write_decisions
from folkmoot.cli.options import Everything, Json
from folkmoot.cli.output import print_json

if TYPE_CHECKING:
    from folkmoot.federated import QuorumSet
    from folkmoot.network.membership.roster import Roster
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
    quorum_set: Annotated[
        Path | None,
        typer.Option(
            "--quorum-set",
            metavar="MINE",
            help="Of a federated motion, whose agreement you need: a .toml or .json file, or a node folder.",
            show_default=False,
        ),
    ] = None,
    everything: Everything = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the motion's decisions into this .csv file.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Verify the certificate of a motion, by signatures alone: what was decided, and who signed it."""
    from folkmoot.network.membership.roster import Roster
    from folkmoot.network.storage.account import account_of, as_dict
    from folkmoot.network.storage.certificate import CAVEAT, read_certificate
    from folkmoot.network.wire.federated_verdict import check_satisfied

    moot = Roster.read(roster)
    mine = None if quorum_set is None else _own_set(quorum_set, moot)
    try:
        stored, held = read_certificate(certificate.read_bytes(), moot)
        _check_federated(stored.motion.protocol, mine)
        found: Account = account_of(stored, held, mine)
        if mine is not None:
            check_satisfied(
                stored.motion, stored.names, held.choices, held.ballots, dict(held.evidence), mine
            )
    except ValueError as error:
        raise ValueError(f"{certificate} does not hold: {error}") from None
    if out is not None:
        write_decisions(out, found)
    if json:
        told = {key: value for key, value in as_dict(found).items() if key not in _UNKNOWN}
        print_json({"holds": True, "moot": moot.digest, "caveat": CAVEAT} | told)
    else:
        print_decisions(found, [f"the certificate holds: {_parts(found)}", CAVEAT], everything=everything)


def _own_set(path: Path, roster: Roster) -> QuorumSet:
    from folkmoot.network.membership.quorum_choice import check_named, read_quorum_set

    if not path.exists():
        raise ValueError(f"--quorum-set must be a file or a node's folder: there is no {path}")
    return check_named(read_quorum_set(path), roster, f"the quorum set in {path}")


def _check_federated(protocol: str, mine: QuorumSet | None) -> None:
    from folkmoot.network.wire.motion import FEDERATED

    if protocol == FEDERATED and mine is None:
        raise ValueError(
            "its motion is federated, so it holds for whoever needs the agreement of those that signed it: "
            "say with --quorum-set MINE whose you need"
        )
    if protocol != FEDERATED and mine is not None:
        raise ValueError(f"its motion was decided by {protocol}, for all alike: leave --quorum-set out")


def _parts(found: Account) -> str:
    closes, pieces = found.participants - len(found.silent), len(found.evidence)
    sets = f"{len(found.quorum_sets)} quorum sets with their ballots, " if found.quorum_sets else ""
    proofs = f"{pieces} piece{'' if pieces == 1 else 's'} of evidence"
    return f"the asker's signature, {sets}{closes} closes and {proofs}"
