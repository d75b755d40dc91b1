"""``folkmoot chain tie``: which member of a moot an address on a chain belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from folkmoot.cli.chain.session import read_passphrase
from folkmoot.cli.chain.signing import Passphrase
from folkmoot.cli.network.init_node import Folder
from folkmoot.cli.options import Json
from folkmoot.cli.output import print_json, say


def tie(
    folder: Folder,
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
    """Tie an address on a chain to your node: both keys sign it, and your roster line carries it."""
    from folkmoot.chain.keys import address_of, read_keystore
    from folkmoot.network.membership import identity
    from folkmoot.network.membership.chain_address import (
        ChainAddress,
        parse_chain_signature,
        sign_by_node,
        statement,
    )
    from folkmoot.wallets import checksummed, sign_text

    if (keystore is None) == (address is None):
        raise ValueError("tie must have either --keystore FILE or --address 0x...")
    if signature is not None and address is None:
        raise ValueError("--signature must be given with --address 0x..., whose wallet made it")
    me = identity.load(folder)
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
        by_chain = parse_chain_signature(signature, "--signature")
    by_node = sign_by_node(me.key, me.name, me.fingerprint, whose)
    line = identity.tie(folder, ChainAddress(whose, by_node, by_chain)).member().line()
    if json:
        print_json({"address": whose, "name": me.name, "fingerprint": me.fingerprint, "line": line})
    else:
        say(line)
    say(
        f"{me.name} is {whose} from now on, in {folder / identity.CHAIN}",
        "give the line above to whoever keeps the roster, who types: "
        f"folkmoot roster remove ROSTER.toml {me.name}; folkmoot roster add ROSTER.toml -",
        error=True,
    )
