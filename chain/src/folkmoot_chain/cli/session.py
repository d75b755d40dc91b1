"""Common parts of the commands of ``folkmoot-chain``: options, node, key, files, and how a call is shown."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from folkmoot_chain.cli.amounts import shown_coins
from folkmoot_chain.cli.output import print_json, say

if TYPE_CHECKING:
    from folkmoot_chain.ballots import Ints
    from folkmoot_chain.contract import Contract
    from folkmoot_chain.rpc import Receipt, Rpc
    from folkmoot_chain.sending import Confirmations, Cost, Sender
    from folkmoot_chain.state import State

LONGEST_WAIT = 3600.0


class Priced(Exception):  # noqa: N818 (no error: --dry-run ends here)
    """The price of a call that was not sent."""

    def __init__(self, cost: Cost) -> None:
        super().__init__()
        self.cost = cost


@dataclass
class Session:
    """A command's node, key, contract and files."""

    rpc: Rpc
    contract: Contract
    sender: Sender
    state: State
    confirmations: Confirmations
    dry_run: bool
    json: bool

    @property
    def address(self) -> str:
        """Of the key."""
        return self.sender.address

    def wait(self, receipts: Sequence[Receipt]) -> None:
        """Until the last of them is as deep as asked for."""
        from folkmoot_chain.sending import confirmed

        end = time.monotonic() + LONGEST_WAIT
        for receipt in receipts[-1:]:
            while not confirmed(self.rpc, receipt, self.confirmations):
                if time.monotonic() > end:
                    raise TimeoutError(
                        f"transaction {receipt.transaction} is in block {receipt.block}, which is not "
                        f"{self.confirmations} after an hour: give another --confirmations"
                    )
                time.sleep(1.0)


def confirmations_of(text: str) -> Confirmations:
    """The value of --confirmations."""
    if text in ("safe", "finalized"):
        return cast(Literal["safe", "finalized"], text)
    if text.isascii() and text.isdigit():
        return int(text)
    raise ValueError(f"--confirmations must be safe, finalized or a number of blocks: got {text!r}")


def read_passphrase(path: Path, file: Path | None, *, twice: bool = False) -> str:
    """From a file, or typed; never from the command line."""
    if file is not None:
        lines = file.read_text().splitlines()
        if not lines or not lines[0]:
            raise ValueError(f"{file} must hold the passphrase in its first line: it is empty")
        return lines[0]
    if not sys.stdin.isatty():
        raise ValueError("a passphrase must be typed at a terminal, or come from --passphrase-file FILE")
    import getpass

    typed = getpass.getpass(f"passphrase of {path}: ")
    if twice and getpass.getpass("again: ") != typed:
        raise ValueError("the two passphrases must be the same")
    return typed


def opened_rpc(url: str, chain_id: int | None) -> Rpc:
    """The node, if it is one of the chain that is meant."""
    from folkmoot_chain.http_rpc import HttpRpc

    rpc = HttpRpc(url)
    found = rpc.chain_id()
    if chain_id is not None and found != chain_id:
        raise ValueError(f"the node must be one of chain {chain_id}: it is one of chain {found}")
    return rpc


def reading(url: str, contract: str, chain_id: int | None = None) -> Contract:
    """The contract, for reading alone; ValueError where there is another one, or none."""
    from folkmoot_chain.contract import Contract

    found = Contract(opened_rpc(url, chain_id), contract)
    found.check()
    return found


def opened(
    url: str,
    contract: str | None,
    keystore: Path,
    passphrase_file: Path | None,
    *,
    confirmations: str,
    chain_id: int | None,
    dry_run: bool,
    json: bool,
) -> Session:
    """Node, key, contract and files; without a contract's address, one that is not made yet."""
    from folkmoot_chain.contract import Contract
    from folkmoot_chain.keys import read_keystore
    from folkmoot_chain.rpc import NOBODY
    from folkmoot_chain.sending import Sender
    from folkmoot_chain.state import State

    depth = confirmations_of(confirmations)
    if not keystore.is_file():
        raise ValueError(f"{keystore} must be a keystore file: there is none; folkmoot-chain key makes one")
    rpc = opened_rpc(url, chain_id)
    here = contract or NOBODY
    key = read_keystore(keystore, read_passphrase(keystore, passphrase_file))
    state = State(keystore.with_name(keystore.name + ".moot"), rpc.chain_id(), here)

    class Dry(Sender):
        def send(self, to: str | None, data: bytes, value: int = 0, gas: int | None = None) -> Receipt:  # noqa: ARG002
            raise Priced(self.cost(to, data, value))

    sender = (Dry if dry_run else Sender)(rpc, key, state.outbox)
    found = Contract(rpc, here, sender)
    if contract is not None:
        found.check()
    return Session(rpc, found, sender, state, depth, dry_run, json)


def told(
    session: Session,
    what: str,
    call: Callable[[], Receipt | Sequence[Receipt]],
    found: dict[str, object] | None = None,
    *,
    motion: int | None = None,
) -> None:
    """Make a call, wait for it, and say what it took; with --dry-run, what it would cost.

    The call may put what it found out into ``found``, which is shown as well. A refusal that has to do with
    the time says when a motion's windows end.
    """
    from folkmoot_chain.rpc import RevertedError

    try:
        made = call()
    except Priced as priced:
        _say_cost(what, priced.cost, session.json)
        return
    except RevertedError as error:
        late = motion is not None and ("window" in str(error) or "over" in str(error))
        when = f"; {_windows(session, motion)}" if late and motion is not None else ""
        raise ValueError(f"the contract refused {what}: {error}{when}") from None
    receipts = list(made) if isinstance(made, Sequence) else [made]
    session.wait(receipts)
    say_receipts(what, receipts, session.json, **(found or {}))


def _windows(session: Session, motion: int) -> str:
    """When the windows of a motion end, and what time it is on the chain."""
    ends = zip(("commit", "reveal", "tell", "score"), session.contract.motions(motion).deadlines, strict=True)
    told = ", ".join(f"{name} until {_clock(end)}" for name, end in ends)
    return f"motion {motion}: {told}; the chain's clock shows {_clock(session.rpc.block('latest').timestamp)}"


def _clock(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def say_receipts(what: str, receipts: Sequence[Receipt], json: bool, **more: Any) -> None:
    """The costs of calls, for people or for programs."""
    gas = sum(each.gas_used for each in receipts)
    fee = sum(each.gas_used * each.gas_price for each in receipts)
    if json:
        print_json(
            {
                "call": what,
                **more,
                "transactions": [each.transaction for each in receipts],
                "blocks": [each.block for each in receipts],
                "gas": gas,
                "fee": str(fee),
            }
        )
        return
    if not receipts:
        say(f"{what}: nothing to do")
        return
    shown = "".join(f"; {name.replace('_', ' ')} {value}" for name, value in more.items())
    say(f"{what}: {gas:,} gas, {shown_coins(fee)} coins{shown}")
    say(*(f"  transaction {each.transaction} in block {each.block}" for each in receipts))


def _say_cost(what: str, cost: Cost, json: bool) -> None:
    if json:
        print_json(
            {
                "call": what,
                "dry_run": True,
                "gas": cost.gas,
                "gas_price": str(cost.gas_price),
                "fee": str(cost.fee),
                "value": str(cost.value),
            }
        )
    else:
        say(
            f"{what} would take {cost.gas:,} gas at {shown_coins(cost.gas_price)} coins: "
            f"{shown_coins(cost.fee)} coins, and send {shown_coins(cost.value)}; nothing was sent"
        )


def read_labels(path: Path, labels: int, what: str) -> Ints:
    """Whole numbers 0 to labels - 1, one per line; an empty line or - is none (-1)."""
    import numpy as np

    found = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        typed = line.strip()
        if typed in ("", "-", "-1"):
            found.append(-1)
        elif typed.isascii() and typed.isdigit() and int(typed) < labels:
            found.append(int(typed))
        else:
            raise ValueError(f"{path}: line {number} must be {what}, 0 to {labels - 1}, or -: got {typed!r}")
    if not found:
        raise ValueError(f"{path} must have {what} in each line: it is empty")
    return np.array(found, dtype=np.int64)


def read_addresses(path: Path) -> list[str]:
    """The addresses in a roster: one a line, alone or in a tie."""
    from folkmoot_chain.ties import address_of, read_participants

    return [address_of(each) for each in read_participants(path)]


def random_salt() -> bytes:
    """32 bytes that nobody can guess."""
    return os.urandom(32)
