"""A node over JSON-RPC, by the standard library alone."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from folkmoot_chain.rpc import Block, BlockTag, Log, Message, Receipt, RevertedError, RpcError, reason_of
from folkmoot_chain.wallets import checksummed

MOST_BYTES = 64 << 20  # of an answer
BLOCKS_AT_ONCE = 5_000  # of a search for events: public nodes refuse more


class HttpRpc:
    """A node at an address such as http://127.0.0.1:8545.

    Parameters
    ----------
    url : str
        The address at which it listens.
    seconds : float
        How long to wait for an answer.

    Examples
    --------
    >>> from folkmoot_chain import HttpRpc
    >>> HttpRpc("127.0.0.1:8545")
    Traceback (most recent call last):
        ...
    ValueError: --rpc must be an address such as http://127.0.0.1:8545: got '127.0.0.1:8545'
    """

    def __init__(self, url: str, seconds: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"--rpc must be an address such as http://127.0.0.1:8545: got {url!r}")
        self.url, self._seconds, self._asked = url, seconds, 0
        self._name = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")

    def request(self, method: str, *params: object) -> Any:
        """The result of one JSON-RPC call."""
        self._asked += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}).encode()
        request = urllib.request.Request(  # noqa: S310 (the scheme was checked)
            self.url, body, {"Content-Type": "application/json", "User-Agent": "folkmoot-chain"}
        )
        try:
            with urllib.request.urlopen(request, timeout=self._seconds) as answer:  # noqa: S310
                data = answer.read(MOST_BYTES + 1)
        except urllib.error.HTTPError as error:
            data = error.read(MOST_BYTES)  # some nodes say 400 and why
            if not data.lstrip().startswith(b"{"):
                raise RpcError(f"the node at {self._name} answered {error.code} to {method}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise RpcError(f"no answer from the node at {self._name}: {reason}") from None
        if len(data) > MOST_BYTES:
            raise RpcError(f"the node at {self._name} answered {method} with more than {MOST_BYTES} bytes")
        try:
            found = json.loads(data)
            failed = found.get("error")
        except (ValueError, AttributeError):
            raise RpcError(f"the node at {self._name} does not speak JSON-RPC") from None
        if failed:
            raise self._failure(method, failed)
        if "result" not in found:
            raise RpcError(f"the node at {self._name} does not speak JSON-RPC")
        return found["result"]

    def chain_id(self) -> int:
        """The number of the chain."""
        return _int(self.request("eth_chainId"))

    def block(self, tag: BlockTag) -> Block:
        """A block; LookupError where there is none."""
        try:
            found = self.request("eth_getBlockByNumber", _tag(tag), False)
        except ValueError:  # a chain without such a tag
            found = None
        if found is None:
            raise LookupError(f"no block {tag}")
        return Block(
            _int(found["number"]),
            _int(found["timestamp"]),
            _int(found.get("baseFeePerGas") or "0x0"),
            _int(found["gasLimit"]),
        )

    def balance(self, address: str) -> int:
        """Coins of an address, in wei."""
        return _int(self.request("eth_getBalance", checksummed(address), "latest"))

    def code(self, address: str) -> bytes:
        """The code at an address."""
        return _bytes(self.request("eth_getCode", checksummed(address), "latest"))

    def nonce(self, address: str, *, mined: bool = False) -> int:
        """Transactions sent, waiting ones included or not."""
        tag = "latest" if mined else "pending"
        return _int(self.request("eth_getTransactionCount", checksummed(address), tag))

    def call(self, message: Message, tag: BlockTag = "latest") -> bytes:
        """The result of a call."""
        return _bytes(self.request("eth_call", _message(message), _tag(tag)))

    def estimate(self, message: Message) -> int:
        """Gas that a transaction would need now."""
        return _int(self.request("eth_estimateGas", _message(message)))

    def tip(self) -> int:
        """The offer to a block's maker."""
        return _int(self.request("eth_maxPriorityFeePerGas"))

    def send(self, signed: bytes) -> str:
        """Hand a signed transaction in."""
        return str(self.request("eth_sendRawTransaction", "0x" + signed.hex()))

    def receipt(self, transaction: str) -> Receipt | None:
        """The result of a transaction."""
        found = self.request("eth_getTransactionReceipt", transaction)
        if found is None or found.get("blockNumber") is None:
            return None
        made = found.get("contractAddress")
        return Receipt(
            transaction=transaction,
            block=_int(found["blockNumber"]),
            gas_used=_int(found["gasUsed"]),
            gas_price=_int(found.get("effectiveGasPrice") or "0x0"),
            succeeded=_int(found["status"]) == 1,
            contract=checksummed(made) if made else None,
            logs=tuple(_log(each) for each in found["logs"]),
        )

    def logs(self, address: str, topics: Sequence[bytes | None], first: int, last: int) -> list[Log]:
        """Events of a contract, asked for in pieces that public nodes take."""
        found: list[Log] = []
        for start in range(first, last + 1, BLOCKS_AT_ONCE):
            wanted = {
                "address": checksummed(address),
                "topics": [None if each is None else "0x" + each.hex() for each in topics],
                "fromBlock": hex(start),
                "toBlock": hex(min(last, start + BLOCKS_AT_ONCE - 1)),
            }
            found += [_log(each) for each in self.request("eth_getLogs", wanted)]
        return found

    def _failure(self, method: str, error: Any) -> Exception:
        said = str(error.get("message", error) if isinstance(error, dict) else error)
        data = error.get("data") if isinstance(error, dict) else None
        if isinstance(data, dict):  # some nodes wrap it
            data = data.get("data") or data.get("result")
        if isinstance(data, str) and data.startswith("0x") and len(data) > 2:
            return RevertedError(reason_of(_bytes(data)))
        if "revert" in said.lower():
            return RevertedError(
                said.split("reverted:")[-1].removeprefix("execution reverted").strip(" :") or said
            )
        return ValueError(f"the node at {self._name} refused {method}: {said}")


def _int(text: Any) -> int:
    return int(text, 16)


def _bytes(text: Any) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _tag(tag: BlockTag) -> str:
    return hex(tag) if isinstance(tag, int) else tag


def _message(message: Message) -> dict[str, str]:
    shown = {
        "from": checksummed(message.sender),
        "data": "0x" + message.data.hex(),
        "value": hex(message.value),
    }
    if message.to is not None:
        shown["to"] = checksummed(message.to)
    if message.gas is not None:
        shown["gas"] = hex(message.gas)
    return shown


def _log(found: Any) -> Log:
    return Log(
        address=checksummed(found["address"]),
        topics=tuple(_bytes(topic) for topic in found["topics"]),
        data=_bytes(found["data"]),
        block=_int(found["blockNumber"]),
        index=_int(found["logIndex"]),
    )
