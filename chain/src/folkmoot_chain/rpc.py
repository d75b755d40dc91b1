"""A node of a chain, as little of it as is needed: one interface, whoever answers.

``in_process.py`` has an EVM in this process; whatever else speaks JSON-RPC fits as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

NOBODY = "0x" + "00" * 20  # who reads without an address of its own
BlockTag: TypeAlias = int | Literal["latest", "safe", "finalized"]


class RevertedError(ValueError):
    """The contract refused a call; the message is its reason.

    Examples
    --------
    >>> from folkmoot_chain import Contract, InProcess, RevertedError, Sender
    >>> rpc = InProcess(1)
    >>> contract, _ = Contract.deploy(Sender(rpc, rpc.rich()[0]))
    >>> try:
    ...     contract.withdraw()
    ... except RevertedError as error:
    ...     print(error)
    no credit
    """


class RpcError(OSError):
    """The node could not be reached, or answered something that makes no sense.

    Examples
    --------
    >>> from folkmoot_chain import HttpRpc, RpcError
    >>> try:
    ...     HttpRpc("http://127.0.0.1:9").chain_id()
    ... except RpcError as error:
    ...     print(str(error).partition(": ")[0])
    no answer from the node at http://127.0.0.1:9
    """


@dataclass(frozen=True)
class Block:
    """The needed part of a block's header."""

    number: int
    timestamp: int
    base_fee: int
    gas_limit: int


@dataclass(frozen=True)
class Log:
    """One event as it stands in a block."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes
    block: int
    index: int


@dataclass(frozen=True)
class Receipt:
    """The result of a transaction."""

    transaction: str
    block: int
    gas_used: int
    gas_price: int
    succeeded: bool
    contract: str | None  # the address of a contract that it made
    logs: tuple[Log, ...]


@dataclass(frozen=True)
class Message:
    """A call, or a transaction before it is signed."""

    sender: str
    to: str | None  # nobody: the data makes a contract
    data: bytes
    value: int = 0
    gas: int | None = None


class Rpc(Protocol):
    """The requests to a node."""

    def chain_id(self) -> int:
        """The number of the chain, which signatures bind."""

    def block(self, tag: BlockTag) -> Block:
        """A block; LookupError where there is none yet (or the chain knows no such tag)."""

    def balance(self, address: str) -> int:
        """Coins of an address, in its smallest unit (wei)."""

    def code(self, address: str) -> bytes:
        """The code at an address, empty where there is none."""

    def nonce(self, address: str, *, mined: bool = False) -> int:
        """Transactions that an address has sent: waiting ones included, or those in blocks alone."""

    def call(self, message: Message, tag: BlockTag = "latest") -> bytes:
        """The result of a call; nothing is changed. RevertedError with the reason if it is refused."""

    def estimate(self, message: Message) -> int:
        """Gas that a transaction would need now. RevertedError as with ``call``."""

    def tip(self) -> int:
        """The offer to a block's maker for a unit of gas."""

    def send(self, signed: bytes) -> str:
        """Hand a signed transaction in; returns its hash."""

    def receipt(self, transaction: str) -> Receipt | None:
        """The result of a transaction, or None while it waits."""

    def logs(self, address: str, topics: Sequence[bytes | None], first: int, last: int) -> list[Log]:
        """Events of a contract in blocks first to last, by topics (None: any)."""


class LocalRpc(Rpc, Protocol):
    """A chain of one's own, whose clock can be moved."""

    def travel(self, timestamp: int) -> None:
        """Make the next block at this time, or later if it has passed."""

    def rich(self) -> Sequence[bytes]:
        """Private keys of accounts that have coins."""


def reason_of(data: bytes) -> str:
    """The reason in what a reverted call returns (Error(string)), or what is known of it."""
    if data[:4] == bytes.fromhex("08c379a0") and len(data) >= 68:
        length = int.from_bytes(data[36:68], "big")
        return data[68 : 68 + length].decode(errors="replace")
    if data[:4] == bytes.fromhex("4e487b71"):
        return "an overflow"
    return "refused without a reason" if not data else f"refused with 0x{data.hex()}"
