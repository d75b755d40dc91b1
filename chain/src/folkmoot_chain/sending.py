"""Transactions of one key: signed (EIP-1559), written down, handed in, waited for.

A transaction is on disk before it is handed in. After a crash the same bytes are handed in again (the same
nonce, so it cannot count twice) before anything new is sent. So nothing is paid twice for a receipt not seen.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from folkmoot_chain.durable import remove_file, replace_file
from folkmoot_chain.rpc import Block, Message, Receipt, RevertedError, Rpc
from folkmoot_chain.wallets import accounts, checksummed

Confirmations: TypeAlias = int | Literal["safe", "finalized"]


class NotSureError(TimeoutError):
    """A transaction was handed in and no block had it in time."""


@dataclass(frozen=True)
class Cost:
    """The cost of a call: gas, and coins (wei) at today's price."""

    gas: int
    gas_price: int
    value: int

    @property
    def fee(self) -> int:
        """Gas times its price."""
        return self.gas * self.gas_price


class Sender:
    """A key and the node that its transactions go to.

    Parameters
    ----------
    rpc : Rpc
        The node.
    key : bytes
        The private key, 32 bytes.
    outbox : Path or None
        A file in which a transaction stands from before it is handed in until its receipt is there.
    patience : float
        Seconds to wait for a receipt.

    Examples
    --------
    >>> from folkmoot_chain import InProcess, Sender
    >>> rpc = InProcess(1)
    >>> receipt = Sender(rpc, rpc.rich()[0]).send("0x" + "12" * 20, b"", value=5)
    >>> receipt.gas_used, rpc.balance("0x" + "12" * 20)
    (21000, 5)
    """

    def __init__(self, rpc: Rpc, key: bytes, outbox: Path | None = None, patience: float = 600.0) -> None:
        self.rpc, self.outbox, self.patience = rpc, outbox, patience
        self._account = accounts().from_key(key)
        self.address = str(self._account.address)
        self.key = key
        self._chain: int | None = None

    @property
    def chain_id(self) -> int:
        """The chain's number, asked once."""
        if self._chain is None:
            self._chain = self.rpc.chain_id()
        return self._chain

    def cost(self, to: str | None, data: bytes, value: int = 0) -> Cost:
        """The present cost of sending it; RevertedError if the contract would refuse it."""
        gas = self.rpc.estimate(Message(self.address, to, data, value))
        return Cost(gas, self.rpc.block("latest").base_fee + self.rpc.tip(), value)

    def send(self, to: str | None, data: bytes, value: int = 0, gas: int | None = None) -> Receipt:
        """Send it and wait until a block has it; RevertedError before anything is paid if it is refused."""
        self.finish()
        held = self.rpc.balance(self.address)
        if held < value:  # nodes put this in many ways
            raise ValueError(f"{self.address} must hold {value} wei to send them: it holds {held}")
        if gas is None:
            gas = self.rpc.estimate(Message(self.address, to, data, value)) * 5 // 4
        base, tip = self.rpc.block("latest").base_fee, self.rpc.tip()
        fee = 2 * base + tip
        if held < value + gas * fee:
            raise ValueError(
                f"{self.address} must hold {value + gas * fee} wei for this transaction: it holds {held}"
            )
        nonce = self.rpc.nonce(self.address)
        signed = self._account.sign_transaction(
            {
                "type": 2,
                "chainId": self.chain_id,
                "nonce": nonce,
                "to": checksummed(to) if to is not None else "",
                "data": data,
                "value": value,
                "gas": gas,
                "maxFeePerGas": fee,
                "maxPriorityFeePerGas": tip,
            }
        )
        raw, name = bytes(signed.raw_transaction), "0x" + bytes(signed.hash).hex()
        if self.outbox is not None:
            note = {"chain": self.chain_id, "nonce": nonce, "hash": name, "raw": "0x" + raw.hex()}
            self.outbox.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(self.outbox, json.dumps(note).encode(), new_mode=0o600)
        self.rpc.send(raw)
        return self._received(name, Message(self.address, to, data, value, gas))

    def finish(self) -> Receipt | None:
        """Wait for what a process before this one handed in, or was about to; None if there is nothing."""
        if self.outbox is None or not self.outbox.exists():
            return None
        note = json.loads(self.outbox.read_bytes())
        if note["chain"] != self.chain_id:
            raise ValueError(
                f"{self.outbox} holds a transaction on chain {note['chain']}, and this node is on chain "
                f"{self.chain_id}: give the RPC address that it was for, or remove the file"
            )
        if self.rpc.receipt(note["hash"]) is None:
            try:
                self.rpc.send(bytes.fromhex(note["raw"][2:]))
            except (
                ValueError
            ):  # known already and waiting; or another one has its nonce, and it will never count
                taken = self.rpc.nonce(self.address, mined=True) > note["nonce"]
                if taken and self.rpc.receipt(note["hash"]) is None:
                    remove_file(self.outbox)
                    return None
        return self._received(note["hash"], None)

    def _received(self, name: str, message: Message | None) -> Receipt:
        receipt, waited = self.rpc.receipt(name), 0.05
        end = time.monotonic() + self.patience
        while receipt is None:
            if time.monotonic() > end:
                raise NotSureError(
                    f"transaction {name} is in no block after {self.patience:.0f} s: "
                    "type the command again to wait on"
                )
            time.sleep(waited)
            waited = min(2.0, waited * 1.5)
            receipt = self.rpc.receipt(name)
        if self.outbox is not None:
            remove_file(self.outbox)
        if not receipt.succeeded:
            raise RevertedError(self._reason(message, receipt))
        return receipt

    def _reason(self, message: Message | None, receipt: Receipt) -> str:
        what = f"transaction {receipt.transaction} failed"
        if message is None:
            return what
        if message.gas == receipt.gas_used:
            return f"{what}: it ran out of gas ({message.gas})"
        try:  # played again on the state before it, which is near enough to learn why
            self.rpc.call(message, receipt.block - 1)
        except RevertedError as error:
            return f"{what}: {error}"
        except (OSError, LookupError):
            pass
        return what


def confirmed(rpc: Rpc, receipt: Receipt, confirmations: Confirmations) -> bool:
    """Whether a transaction's block is as deep as asked for."""
    if isinstance(confirmations, int):
        return rpc.block("latest").number - receipt.block >= confirmations
    return tagged(rpc, confirmations).number >= receipt.block


def finality(rpc: Rpc, confirmations: Confirmations) -> int:
    """Seconds from the newest block back to the one that counts as settled now."""
    latest = rpc.block("latest")
    if isinstance(confirmations, int):
        return latest.timestamp - rpc.block(max(0, latest.number - confirmations)).timestamp
    return latest.timestamp - tagged(rpc, confirmations).timestamp


def tagged(rpc: Rpc, tag: Literal["safe", "finalized"]) -> Block:
    """The safe or finalized block; ValueError with what to type on a chain that has none."""
    try:
        return rpc.block(tag)
    except LookupError:
        raise ValueError(
            f"this chain names no {tag} block: give a number of blocks, --confirmations 12"
        ) from None
