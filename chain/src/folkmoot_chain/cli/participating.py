"""``folkmoot-chain commit | reveal | claim | withdraw | watch``: what a participant types."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from folkmoot_chain.cli.amounts import seconds_of, shown_coins
from folkmoot_chain.cli.output import print_json, say
from folkmoot_chain.cli.session import read_addresses, read_labels, say_receipts, told
from folkmoot_chain.cli.signing import Motion, Signing, signing

Open = Annotated[
    bool,
    typer.Option(
        "--open", help="Take part although anybody may take a seat, the supplier's puppets included."
    ),
]


@signing()
def commit(
    by: Signing,
    motion: Motion,
    votes: Annotated[
        Path,
        typer.Option(
            "--votes", help="Your labels, 0 to C - 1, one per line; - abstains.", show_default=False
        ),
    ],
    roster: Annotated[
        Path | None, typer.Option("--roster", help="The roster that was put, an address a line.")
    ] = None,
    open_seats: Open = False,
) -> None:
    """Take a seat: send the stake and the seal of your votes. Votes and salt are on disk before."""
    from folkmoot_chain.keys import derived_salt
    from folkmoot_chain.seals import ZERO, roster_proof, roster_root
    from folkmoot_chain.state import SavedBallot
    from folkmoot_chain.watching import check_open

    session = by.open()
    terms = session.contract.motions(motion)
    check_open(terms, open_seats)
    cast = read_labels(votes, terms.labels, "a label")
    if len(cast) != terms.inputs:
        raise ValueError(f"{votes} must have a line for each of {terms.inputs} inputs: it has {len(cast)}")
    proof: list[bytes] = []
    if terms.roster != ZERO:
        if roster is None:
            raise ValueError(f"motion {motion} has a roster: give the file with --roster FILE")
        members = read_addresses(roster)
        if roster_root(members) != terms.roster:
            raise ValueError(
                f"{roster} must be the roster of motion {motion}: its Merkle root is another one"
            )
        proof = roster_proof(members, session.address)
    sender = session.sender
    salt = derived_salt(sender.key, sender.chain_id, session.contract.address, motion)
    found: dict[str, object] = {}
    if not session.dry_run:
        saved = SavedBallot(motion, session.address, salt, cast, open_seats)
        found["ballot_file"] = str(session.state.save_ballot(saved))
    told(session, "commit", lambda: session.contract.commit(motion, cast, salt, proof), found, motion=motion)


@signing()
def reveal(
    by: Signing,
    motion: Motion,
    ballot: Annotated[
        Path | None,
        typer.Option("--ballot", help="Reveal for somebody else: the ballot file that was given to you."),
    ] = None,
) -> None:
    """Open your seal, from the ballot that is on disk; or that of somebody who gave you the file."""
    from folkmoot_chain.state import read_ballot

    session = by.open()
    if ballot is not None:
        saved = read_ballot(ballot)
    else:
        mine = [
            each for each in session.state.ballots() if each.motion == motion and each.who == session.address
        ]
        if not mine:
            raise ValueError(
                f"there is no ballot of {session.address} for motion {motion} in {session.state.folder}"
            )
        (saved,) = mine
    if saved.motion != motion:
        raise ValueError(
            f"{ballot} must be a ballot for motion {motion}: it is one for motion {saved.motion}"
        )
    told(
        session,
        "reveal",
        lambda: session.contract.reveal(motion, saved.votes, saved.salt, saved.who),
        motion=motion,
    )


@signing()
def claim(
    by: Signing,
    motion: Motion,
) -> None:
    """Credit everybody who revealed with stake and share, once the motion is over."""
    from folkmoot_chain.history import History

    session = by.open()
    terms = session.contract.motions(motion)
    if terms.revealed == 0 and not terms.closed:  # nobody to pay: the supplier gets the deposit back
        told(session, "close", lambda: session.contract.close(motion), motion=motion)
        return
    told(session, "claim", lambda: History(session.contract, motion).claim(), motion=motion)


@signing()
def withdraw(
    by: Signing,
    to: Annotated[
        str | None, typer.Option("--to", help="Another address than your own.", show_default=False)
    ] = None,
) -> None:
    """Take all of your credit out of the contract."""
    from folkmoot_chain.wallets import address_bytes

    if to is not None:
        address_bytes(to)
    session = by.open()
    credit = session.contract.credit(session.address)
    if credit == 0:
        raise ValueError(f"{session.address} has no credit to withdraw")
    told(session, "withdraw", lambda: session.contract.withdraw(to), {"amount": shown_coins(credit)})


@signing(confirmations="0", dry_run=False)
def watch(
    by: Signing,
    open_seats: Open = False,
    every: Annotated[str, typer.Option("--every", help="How often to look.")] = "15s",
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, then end.")] = False,
) -> None:
    """Reveal, score and claim your ballots when it is time; start it again after a crash, and it goes on."""
    from folkmoot_chain.watching import round_of

    pause = seconds_of(every, "--every")
    if pause < 0.05:
        raise ValueError(f"--every must be at least 50ms: got {every!r}")
    session = by.open()
    session.sender.finish()
    if not any(True for _ in session.state.ballots()):
        raise ValueError(
            f"there is no ballot to watch in {session.state.folder}: folkmoot-chain commit makes one"
        )
    last: dict[int, str] = {}
    while True:
        done, next_at = round_of(session.contract, session.state, allow_open=open_seats)
        for step, receipts in done:
            if receipts:
                say_receipts(str(step.due), receipts, False, motion=step.ballot.motion)
            elif last.get(step.ballot.motion) != step.why and not by.json:
                say(f"motion {step.ballot.motion}: {step.why}")
            last[step.ballot.motion] = step.why
        busy = any(receipts for _, receipts in done)
        if once or (next_at is None and not busy):
            break
        time.sleep(pause)
    if by.json:
        print_json({"motions": {str(number): why for number, why in last.items()}})
