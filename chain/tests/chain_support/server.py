"""The chain in this process over JSON-RPC: what speaks HTTP is tested where anvil is not installed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Literal

from folkmoot_chain.in_process import InProcess
from folkmoot_chain.rpc import Log, Message, RevertedError


def answered(rpc: InProcess, method: str, params: list[Any]) -> Any:
    """What a node says."""
    match method:
        case "eth_chainId":
            return hex(rpc.chain_id())
        case "eth_getBlockByNumber":
            tag = params[0]
            try:
                block = rpc.block(int(tag, 16) if tag.startswith("0x") else tag)
            except LookupError:
                return None
            return {
                "number": hex(block.number),
                "timestamp": hex(block.timestamp),
                "baseFeePerGas": hex(block.base_fee),
                "gasLimit": hex(block.gas_limit),
            }
        case "eth_getBalance":
            return hex(rpc.balance(params[0]))
        case "eth_getCode":
            return "0x" + rpc.code(params[0]).hex()
        case "eth_getTransactionCount":
            return hex(rpc.nonce(params[0]))
        case "eth_call":
            return "0x" + rpc.call(_message(params[0])).hex()
        case "eth_estimateGas":
            return hex(rpc.estimate(_message(params[0])))
        case "eth_maxPriorityFeePerGas":
            return hex(rpc.tip())
        case "eth_sendRawTransaction":
            return rpc.send(bytes.fromhex(params[0][2:]))
        case "eth_getTransactionReceipt":
            found = rpc.receipt(params[0])
            return found and {
                "blockNumber": hex(found.block),
                "gasUsed": hex(found.gas_used),
                "effectiveGasPrice": hex(found.gas_price),
                "status": hex(found.succeeded),
                "contractAddress": found.contract,
                "logs": [_log(each) for each in found.logs],
            }
        case "eth_getLogs":
            (wanted,) = params
            topics = [None if each is None else bytes.fromhex(each[2:]) for each in wanted["topics"]]
            first, last = int(wanted["fromBlock"], 16), int(wanted["toBlock"], 16)
            return [_log(each) for each in rpc.logs(wanted["address"], topics, first, last)]
        case "anvil_mine":  # anvil's own commands, so that nobody moves the clock behind a request's back
            return rpc.tester.mine_blocks(int(params[0], 16)) and None
        case "evm_setNextBlockTimestamp":
            return rpc.travel(params[0])
    raise ValueError(f"the method {method} does not exist")


Moment = Literal["before", "after"]


@contextmanager
def serving(rpc: InProcess, meanwhile: Callable[[Moment, str], None] | None = None) -> Iterator[str]:
    """Its address on loopback, while the block lasts; ``meanwhile`` may hold answers up, before and after."""
    lock = Lock()
    hold: Callable[[Moment, str], None] = meanwhile or (lambda *_: None)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"]}
            try:
                hold("before", asked["method"])
                with lock:
                    said["result"] = answered(rpc, asked["method"], asked["params"])
                hold("after", asked["method"])
            except RevertedError as error:
                said["error"] = {"code": 3, "message": f"execution reverted: {error}"}
            except ValueError as error:
                said["error"] = {"code": -32601, "message": str(error)}
            data = json.dumps(said).encode()
            with suppress(ConnectionError):  # whoever asked was killed
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _message(asked: dict[str, str]) -> Message:
    gas = int(asked["gas"], 16) if "gas" in asked else None
    return Message(
        asked["from"], asked.get("to"), bytes.fromhex(asked["data"][2:]), int(asked["value"], 16), gas
    )


def _log(found: Log) -> dict[str, Any]:
    return {
        "address": found.address,
        "topics": ["0x" + each.hex() for each in found.topics],
        "data": "0x" + found.data.hex(),
        "blockNumber": hex(found.block),
        "logIndex": hex(found.index),
    }
