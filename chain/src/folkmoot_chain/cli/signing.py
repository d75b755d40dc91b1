"""Options of every command that signs (node, contract, key, and how to go about it), written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from folkmoot_chain.cli.options import INT, Json, whole_number
from folkmoot_chain.cli.session import Session, opened


def motion_number(text: str) -> int:
    """Option parser: the number of a motion."""
    number = whole_number(text)
    if not 0 <= number < 2**64:
        raise typer.BadParameter(f"expected the number of a motion, 0 or more, got {text!r}")
    return number


Rpcs = Annotated[
    str,
    typer.Option(
        "--rpc", help="A node: http://127.0.0.1:8545, or what a provider gives.", show_default=False
    ),
]
Address = Annotated[
    str, typer.Option("--contract", help="Address of the contract: 0x...", show_default=False)
]
Keystore = Annotated[
    Path,
    typer.Option("--keystore", help="The key that signs and pays: a V3 keystore file.", show_default=False),
]
Passphrase = Annotated[
    Path | None,
    typer.Option("--passphrase-file", help="A file whose first line opens it; else it is asked for."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what it would cost, send nothing.")]
Confirm = Annotated[
    str,
    typer.Option("--confirmations", help="Wait until it is so deep: safe, finalized, or a number of blocks."),
]
Motion = Annotated[
    int, typer.Argument(metavar="MOTION", help="Its number.", show_default=False, parser=motion_number)
]
ChainId = Annotated[
    int | None, typer.Option("--chain-id", help="Refuse a node of another chain.", show_default=False, **INT)
]


@dataclass(frozen=True)
class Signing:
    """The options of a command that signs."""

    rpc: Rpcs
    contract: Address
    keystore: Keystore
    passphrase_file: Passphrase = None
    confirmations: Confirm = "safe"
    chain_id: ChainId = None
    dry_run: DryRun = False
    json: Json = False

    def open(self) -> Session:
        """Node, key, contract and files; asks for the passphrase, so it comes after all other checks."""
        return opened(
            self.rpc,
            self.contract,
            self.keystore,
            self.passphrase_file,
            confirmations=self.confirmations,
            chain_id=self.chain_id,
            dry_run=self.dry_run,
            json=self.json,
        )


def signing(**fixed: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, whose first parameter is a ``Signing``, the options of one; some may be fixed."""
    shared = inspect.signature(Signing, eval_str=True).parameters

    def made(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        typed = [each for name, each in shared.items() if name not in fixed]
        needed_first = sorted((*own, *typed), key=lambda each: each.default is not each.empty)

        @wraps(command)
        def run(**values: Any) -> None:
            told = {each.name: values.pop(each.name) for each in fields(Signing) if each.name in values}
            command(Signing(**(fixed | told)), **values)

        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in needed_first]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return made
