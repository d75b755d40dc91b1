"""``folkmoot-chain tie``: which node of a moot an address on a chain belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from folkmoot_chain.cli.options import Json
from folkmoot_chain.cli.output import print_json, say
from folkmoot_chain.cli.session import read_passphrase
from folkmoot_chain.cli.signing import Passphrase


def tie(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="NODE",
            help="The folder of your node, with its key.pem and certificate.pem.",
            show_default=False,
        ),
    ],
    keystore: Annotated[
        Path | None,
        typer.Option("--keystore", help="The key of your address: a V3 keystore file.", show_default=False),
    ] = None,
    passphrase_file: Passphrase = None,
    address: Annotated[
        str | None,
        typer.Option(
            "--address",
            help="Instead: whose wallet is to sign the text that is shown.",
            show_default=False,
        ),
    ] = None,
    signature: Annotated[
        str | None,
        typer.Option("--signature", help="With --address: what the wallet made of it.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Tie an address on a chain to your node: both keys sign it. It prints a line for --roster of record."""
    from folkmoot_chain.keys import address_of, read_keystore
    from folkmoot_chain.ties import Node, chain_signature, statement
    from folkmoot_chain.wallets import checksummed, sign_text

    if (keystore is None) == (address is None):
        raise ValueError("tie must have either --keystore FILE or --address 0x...")
    if signature is not None and address is None:
        raise ValueError("--signature must be given with --address 0x..., whose wallet made it")
    me = Node.read(folder)
    if keystore is not None:
        key = read_keystore(keystore, read_passphrase(keystore, passphrase_file))
        whose = address_of(key)
        by_chain = sign_text(key, statement(me.name, me.fingerprint, whose))
    else:
        whose = checksummed(str(address))
        text = statement(me.name, me.fingerprint, whose)
        if signature is None:
            if json:
                print_json({"address": whose, "text": text})
            else:
                say(*text.splitlines())
            say(
                f"sign the text above with the wallet of {whose} (personal_sign), "
                "then type the command again with --signature 0x...",
                error=True,
            )
            return
        by_chain = chain_signature(signature)
    line = me.tied(whose, by_chain).line()
    if json:
        print_json({"address": whose, "name": me.name, "fingerprint": me.fingerprint, "line": line})
    else:
        say(line)
    say(
        f"the line above says that {me.name} is {whose}: give it to those who weigh answers by records; "
        "it goes into the file that they give as folkmoot-chain record --roster FILE",
        error=True,
    )
