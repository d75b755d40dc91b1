"""``folkmoot chain post | dispute | score | record``: what anybody may type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.chain.session import (
    Address,
    ChainId,
    Confirm,
    DryRun,
    Keystore,
    Motion,
    Passphrase,
    Rpcs,
    opened,
    read_addresses,
    reading,
    told,
)
from folkmoot.cli.options import INT, Json
from folkmoot.cli.output import print_json, print_table

if TYPE_CHECKING:
    from folkmoot.chain.rpc import Receipt


def post(
    motion: Motion,
    rpc: Rpcs,
    contract: Address,
    keystore: Keystore,
    talk: Annotated[
        Path | None,
        typer.Option(
            "--talk", help="What a talk came to: its hash stands beside the answer, and binds nobody."
        ),
    ] = None,
    passphrase_file: Passphrase = None,
    confirmations: Confirm = "safe",
    chain_id: ChainId = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Post the weighted plurality of the revealed ballots, bonded with the stake."""
    from folkmoot.chain.history import History
    from folkmoot.chain.seals import ZERO
    from folkmoot.wallets import keccak

    said = ZERO if talk is None else keccak(talk.read_bytes())
    session = opened(rpc, contract, keystore, passphrase_file, confirmations, dry_run, chain_id)
    answer = History(session.contract, motion).answer()
    told(
        session,
        "post",
        lambda: session.contract.post(motion, answer, said),
        json,
        {"answer": answer.tolist()} if json else {},
    )


def dispute(
    motion: Motion,
    rpc: Rpcs,
    contract: Address,
    keystore: Keystore,
    word: Annotated[
        int | None,
        typer.Option(
            "--word",
            help="Which 256 inputs, from 0; else the first that are wrong.",
            show_default=False,
            **INT,
        ),
    ] = None,
    passphrase_file: Passphrase = None,
    confirmations: Confirm = "safe",
    chain_id: ChainId = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Have 256 inputs of a posted answer recounted; if they are wrong, half of the bond is yours."""
    from folkmoot.chain.history import History

    session = opened(rpc, contract, keystore, passphrase_file, confirmations, dry_run, chain_id)
    history = History(session.contract, motion)
    if history.posted() is None:
        raise ValueError(f"nobody posted an answer to motion {motion}")
    if word is None:
        wrong = history.wrong_words()
        if not wrong:
            raise ValueError(f"the answer to motion {motion} is right: a dispute would only cost gas")
        word = wrong[0]
    chosen = word
    told(session, "dispute", lambda: history.dispute(chosen), json, {"word": chosen})


def score(
    motion: Motion,
    rpc: Rpcs,
    contract: Address,
    keystore: Keystore,
    passphrase_file: Passphrase = None,
    confirmations: Confirm = "safe",
    chain_id: ChainId = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Score all revealed ballots that are not scored yet, once the truth is told."""
    from folkmoot.chain.history import History

    session = opened(rpc, contract, keystore, passphrase_file, confirmations, dry_run, chain_id)

    def call() -> list[Receipt]:
        return History(session.contract, motion).score()

    told(session, "score", call, json)


def record(
    rpc: Rpcs,
    contract: Address,
    supplier: Annotated[
        str, typer.Option("--supplier", help="Whose truth you believe: 0x...", show_default=False)
    ],
    subject: Annotated[
        str, typer.Option("--subject", help="What the motions were about.", show_default=False)
    ],
    roster: Annotated[
        Path, typer.Option("--roster", help="Whose records: an address a line.", show_default=False)
    ],
    labels: Annotated[int, typer.Option("--labels", help="How many labels the votes will have.", **INT)] = 2,
    weights: Annotated[
        Path | None, typer.Option("--weights", help="Write the weights here, for Slush(weights=...).")
    ] = None,
    chain_id: ChainId = None,
    json: Json = False,
) -> None:
    """Show past performance by the truth of one supplier, and what votes weigh by it."""
    from folkmoot.chain.weights import write_weights

    if not 2 <= labels <= 16:
        raise ValueError(f"--labels must satisfy 2 <= labels <= 16: got labels={labels}")
    addresses = read_addresses(roster)
    found = reading(rpc, contract, chain_id)
    rows = [
        (each, found.records(supplier, subject, each), found.weight(supplier, subject, each, labels))
        for each in addresses
    ]
    if weights is not None:
        write_weights(weights, found, supplier, subject, labels, addresses)
    if json:
        print_json(
            {
                "supplier": supplier,
                "subject": subject,
                "records": {
                    who: {
                        "right": of.right,
                        "asked": of.asked,
                        "right_of": list(of.right_of),
                        "asked_of": list(of.asked_of),
                        "weight": weight,
                    }
                    for who, of, weight in rows
                },
            }
        )
        return
    print_table(
        f"{subject}, by the truth of {supplier}",
        ["", "right", "asked", "share", "weight"],
        [
            [who, str(of.right), str(of.asked), f"{of.right / of.asked:.3f}" if of.asked else "", str(weight)]
            for who, of, weight in rows
        ],
        f"weights are in {weights}" if weights is not None else (),
    )
