"""``folkmoot-chain post | dispute | score | record``: what anybody may type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot_chain.cli.options import INT, Json
from folkmoot_chain.cli.output import print_json, print_table
from folkmoot_chain.cli.session import reading, told
from folkmoot_chain.cli.signing import Address, ChainId, Motion, Rpcs, Signing, signing

if TYPE_CHECKING:
    from folkmoot_chain.rpc import Receipt


@signing()
def post(
    by: Signing,
    motion: Motion,
    talk: Annotated[
        Path | None,
        typer.Option("--talk", help="Result of a talk: its hash stands beside the answer, and binds nobody."),
    ] = None,
) -> None:
    """Post the weighted plurality of the revealed ballots, bonded with the stake."""
    from folkmoot_chain.history import History
    from folkmoot_chain.seals import ZERO
    from folkmoot_chain.wallets import keccak

    said = ZERO if talk is None else keccak(talk.read_bytes())
    session = by.open()
    answer = History(session.contract, motion).answer()
    told(
        session,
        "post",
        lambda: session.contract.post(motion, answer, said),
        {"answer": answer.tolist()} if by.json else {},
        motion=motion,
    )


@signing()
def dispute(
    by: Signing,
    motion: Motion,
    word: Annotated[
        int | None,
        typer.Option(
            "--word",
            help="Which 256 inputs, from 0; else the first that are wrong.",
            show_default=False,
            **INT,
        ),
    ] = None,
) -> None:
    """Have 256 inputs of a posted answer recounted; if they are wrong, half of the bond is yours."""
    from folkmoot_chain.ballots import words_of
    from folkmoot_chain.history import History

    session = by.open()
    history = History(session.contract, motion)
    if history.posted() is None:
        raise ValueError(f"nobody posted an answer to motion {motion}")
    if word is None:
        wrong = history.wrong_words()
        if not wrong:
            raise ValueError(f"the answer to motion {motion} is right: a dispute would only cost gas")
        word = wrong[0]
    words = words_of(history.terms.inputs, 2)
    if not 0 <= word < words:
        raise ValueError(
            f"--word must satisfy 0 <= word < {words} for {history.terms.inputs} inputs: got {word}"
        )
    chosen = word
    told(session, "dispute", lambda: history.dispute(chosen), {"word": chosen}, motion=motion)


@signing()
def score(
    by: Signing,
    motion: Motion,
) -> None:
    """Score all revealed ballots that are not scored yet, once the truth is told."""
    from folkmoot_chain.history import History

    session = by.open()

    def call() -> list[Receipt]:
        return History(session.contract, motion).score()

    told(session, "score", call, motion=motion)


def record(
    rpc: Rpcs,
    contract: Address,
    supplier: Annotated[
        str, typer.Option("--supplier", help="Supplier whose truth you believe: 0x...", show_default=False)
    ],
    subject: Annotated[str, typer.Option("--subject", help="Subject of the motions.", show_default=False)],
    roster: Annotated[
        Path,
        typer.Option(
            "--roster", help="Participants: one line each, an address or what tie prints.", show_default=False
        ),
    ],
    labels: Annotated[int, typer.Option("--labels", help="How many labels the votes will have.", **INT)] = 2,
    weights: Annotated[
        Path | None,
        typer.Option("--weights", help="Write the weights here, for a node's node.toml."),
    ] = None,
    chain_id: ChainId = None,
    json: Json = False,
) -> None:
    """Show past performance by the truth of one supplier, and what votes weigh by it."""
    from folkmoot_chain.ties import Tie, address_of, read_participants
    from folkmoot_chain.wallets import checksummed
    from folkmoot_chain.weights import write_weights

    if not 2 <= labels <= 16:
        raise ValueError(f"--labels must satisfy 2 <= labels <= 16: got labels={labels}")
    supplier, participants = checksummed(supplier), read_participants(roster)
    names = {each.address: each.name for each in participants if isinstance(each, Tie)}
    if weights is not None and not weights.parent.is_dir():
        raise ValueError(f"{weights} must be in a folder that exists: there is no {weights.parent}")
    found = reading(rpc, contract, chain_id)
    rows = [
        (each, found.records(supplier, subject, each), found.weight(supplier, subject, each, labels))
        for each in map(address_of, participants)
    ]
    if weights is not None:
        write_weights(weights, found, supplier, subject, labels, participants)
    if json:
        print_json(
            {
                "supplier": supplier,
                "subject": subject,
                "records": {
                    who: {
                        **({"name": names[who]} if who in names else {}),
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
        ["", "name", "right", "asked", "share", "weight"],
        [
            [
                who,
                names.get(who, ""),
                str(of.right),
                str(of.asked),
                f"{of.right / of.asked:.3f}" if of.asked else "",
                str(weight),
            ]
            for who, of, weight in rows
        ],
        [f"weights are in {weights}"] if weights is not None else [],
        left=["name"],
    )
