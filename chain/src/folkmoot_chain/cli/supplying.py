"""``folkmoot-chain key | deploy | put | fund | tell``: what a supplier types."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot_chain.cli.amounts import parse_coins, seconds_of
from folkmoot_chain.cli.options import INT, Json
from folkmoot_chain.cli.output import print_json, say
from folkmoot_chain.cli.session import random_salt, read_addresses, read_labels, read_passphrase, told
from folkmoot_chain.cli.signing import Motion, Passphrase, Signing, signing

if TYPE_CHECKING:
    from folkmoot_chain.rpc import Receipt


def key(
    keystore: Annotated[Path, typer.Argument(metavar="FILE", help="File for the key.", show_default=False)],
    passphrase_file: Passphrase = None,
    json: Json = False,
) -> None:
    """Make a new key in a keystore file, and print its address."""
    from folkmoot_chain.keys import new_keystore

    if keystore.exists():
        raise ValueError(f"{keystore} is there already: give another name, or keep that key")
    address = new_keystore(keystore, read_passphrase(keystore, passphrase_file, twice=True))
    if json:
        print_json({"address": address, "keystore": str(keystore)})
    else:
        say(f"{address} in {keystore}: keep the file and its passphrase; nobody can make them again")


@signing(contract=None)
def deploy(
    by: Signing,
    least_window: Annotated[
        str, typer.Option("--least-window", help="The shortest window of its motions.")
    ] = "10m",
) -> None:
    """Put a new contract on the chain. It has no owner: whoever knows its address can use it."""
    from folkmoot_chain.contract import Contract

    least = _whole_seconds(least_window, "--least-window")
    if not 1 <= least < 2**32:
        raise ValueError(f"--least-window must be 1 s to 2^32 - 1 s: got {least_window!r}")
    session = by.open()
    made: dict[str, object] = {}

    def call() -> Receipt:
        contract, receipt = Contract.deploy(session.sender, least)
        made["contract"] = contract.address
        return receipt

    told(session, "deploy", call, made)


@signing()
def put(
    by: Signing,
    truth: Annotated[
        Path,
        typer.Option(
            "--truth", help="Labels, 0 to C - 1, one per line; - where it is not known.", show_default=False
        ),
    ],
    labels: Annotated[
        int, typer.Option("--labels", help="How many labels there are.", show_default=False, **INT)
    ],
    subject: Annotated[
        str, typer.Option("--subject", help="Subject; records are kept by it.", show_default=False)
    ],
    seats: Annotated[
        int, typer.Option("--seats", help="Participants at the most.", show_default=False, **INT)
    ],
    stake: Annotated[
        str, typer.Option("--stake", help="Price of a seat: 0.01, 5gwei, 100wei.", show_default=False)
    ],
    deposit: Annotated[
        str, typer.Option("--deposit", help="Amount that you give to the pool.", show_default=False)
    ],
    windows: Annotated[
        str, typer.Option("--windows", help="How long commit, reveal, tell and score last.")
    ] = "1h,1h,1h,1h",
    roster: Annotated[
        Path | None,
        typer.Option("--roster", help="Addresses that may take part, one a line; else anybody may."),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option("--inputs", help="The inputs, one a line: their Merkle root goes on the chain."),
    ] = None,
    protocol: Annotated[
        str, typer.Option("--protocol", help="How the moot is to talk; its hash goes on the chain.")
    ] = "",
) -> None:
    """Put a motion: inputs whose truth you seal now and tell later."""
    from folkmoot_chain.ballots import check_size, pack, pack_mask
    from folkmoot_chain.seals import ZERO, input_leaf, merkle_root, roster_root, seal_truth
    from folkmoot_chain.sending import finality
    from folkmoot_chain.state import SavedTruth
    from folkmoot_chain.wallets import keccak

    told_truth = read_labels(truth, labels, "a label")
    known = told_truth >= 0
    if not known.any():
        raise ValueError(f"{truth} must know the truth of an input: all lines are empty")
    check_size(len(told_truth), labels, seats)
    lengths = [_whole_seconds(each, "--windows") for each in windows.split(",")]
    if len(lengths) != 4:
        raise ValueError(f"--windows must be four times, such as 1h,1h,1h,1h: got {windows!r}")
    members = None if roster is None else read_addresses(roster)
    rows = None if inputs is None else inputs.read_bytes().splitlines()
    if rows is not None and len(rows) != len(told_truth):
        raise ValueError(
            f"--inputs must have as many lines as --truth: got {len(rows)} and {len(told_truth)}"
        )
    amounts = parse_coins(stake, "--stake"), parse_coins(deposit, "--deposit")
    if not 1 <= amounts[0] < 2**80:
        raise ValueError(f"--stake must be 1 wei to 2^80 - 1 wei: got {stake!r}")
    if amounts[1] >= 2**100:
        raise ValueError(f"--deposit must be below 2^100 wei: got {deposit!r}")
    session = by.open()
    settled = finality(session.rpc, session.confirmations)
    if min(lengths) < 2 * settled:
        raise ValueError(
            f"--windows must be at least twice the {settled} s that a block takes here until it counts as "
            f"{session.confirmations}: got {min(lengths)} s"
        )
    least = int(session.contract.view("LEAST_WINDOW"))
    if min(lengths) < least:
        raise ValueError(f"--windows must be at least {least} s each by this contract: got {min(lengths)} s")
    start, deadlines = session.rpc.block("latest").timestamp + 60, []  # a minute until it is in a block
    for length in lengths:
        start += length
        deadlines.append(start)
    if start >= 2**36:
        raise ValueError(f"--windows must end before 2^36 s, in the year 4147: got {windows!r}")
    salt, values = random_salt(), told_truth.clip(min=0)
    saved = SavedTruth(salt, values, known)
    chain, where = session.rpc.chain_id(), session.contract.address
    seal = seal_truth(chain, where, session.address, salt, pack(values, labels), pack_mask(known))
    made: dict[str, object] = {}
    if not session.dry_run:  # on disk before it is sent: without it nobody is paid by points
        made["truth_file"] = str(session.state.save_truth(seal, saved))

    def call() -> Receipt:
        motion, receipt = session.contract.put(
            values,
            known,
            salt,
            subject=subject,
            labels=labels,
            seats=seats,
            stake=amounts[0],
            deposit=amounts[1],
            deadlines=deadlines,
            inputs_root=ZERO if rows is None else merkle_root([input_leaf(row) for row in rows]),
            protocol=keccak(protocol.encode()) if protocol else ZERO,
            roster=ZERO if members is None else roster_root(members),
        )
        made["motion"] = motion
        made["deadlines"] = deadlines
        return receipt

    told(session, "put", call, made)


@signing()
def fund(
    by: Signing,
    motion: Motion,
    amount: Annotated[str, typer.Argument(metavar="AMOUNT", help="0.01, 5gwei, 100wei.", show_default=False)],
) -> None:
    """Add to the pool of a motion, while commitments are open. It is a gift."""
    wei = parse_coins(amount, "AMOUNT")
    if wei == 0:
        raise ValueError(f"AMOUNT must be at least 1wei: got {amount!r}")
    session = by.open()
    session.contract.motions(motion)  # which says so if there is none
    told(session, "fund", lambda: session.contract.fund(motion, wei), motion=motion)


@signing()
def tell(
    by: Signing,
    motion: Motion,
) -> None:
    """Tell the truth that was sealed when the motion was put; it is in the files beside the keystore."""
    session = by.open()
    terms = session.contract.motions(motion)
    if terms.told:
        raise ValueError(f"the truth of motion {motion} is told already")
    saved = session.state.truth(terms.truth)
    told(
        session,
        "tell",
        lambda: session.contract.tell(motion, saved.truth, saved.known, saved.salt),
        motion=motion,
    )


def _whole_seconds(text: str, option: str) -> int:
    seconds = seconds_of(text, option)
    if seconds != int(seconds):
        raise ValueError(f"{option} must be whole seconds: got {text!r}")
    return int(seconds)
