"""The contract's ABI and bytecode, as compiled and committed: calls and events to bytes and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from folkmoot_chain.rpc import Log
from folkmoot_chain.wallets import checksummed, keccak


@cache
def artifact() -> dict[str, Any]:
    """The contents of ``moot.json``: compiler, EVM version, hash of the source, ABI and bytecode."""
    return dict(json.loads((files("folkmoot_chain") / "moot.json").read_text()))


def creation(least_window: int) -> bytes:
    """The data of a transaction that makes the contract."""
    return bytes.fromhex(artifact()["bytecode"][2:]) + _encode(["uint256"], [least_window])


def calldata(name: str, arguments: Sequence[object]) -> bytes:
    """A call of a function by name."""
    types = [_type(each) for each in _entry("function", name)["inputs"]]
    return keccak(f"{name}({','.join(types)})".encode())[:4] + _encode(types, arguments)


def returned(name: str, data: bytes) -> Any:
    """The result of a function: a value, or the fields of a struct by name."""
    outputs = _entry("function", name)["outputs"]
    (value,) = _decode([_type(each) for each in outputs], data)
    return _named(outputs[0], value)


def topic(name: str) -> bytes:
    """The first topic of an event."""
    types = [_type(each) for each in _entry("event", name)["inputs"]]
    return keccak(f"{name}({','.join(types)})".encode())


def event(log: Log) -> tuple[str, dict[str, Any]]:
    """The name of an event and its fields."""
    name = _names_by_topic()[log.topics[0]]
    inputs = _entry("event", name)["inputs"]
    plain = [each for each in inputs if not each["indexed"]]
    values = dict(
        zip([each["name"] for each in plain], _decode([_type(each) for each in plain], log.data), strict=True)
    )
    for each, data in zip([each for each in inputs if each["indexed"]], log.topics[1:], strict=True):
        (values[each["name"]],) = _decode([_type(each)], data)
    return name, {each["name"]: _named(each, values[each["name"]]) for each in inputs}


@cache
def _names_by_topic() -> dict[bytes, str]:
    return {topic(each["name"]): each["name"] for each in artifact()["abi"] if each["type"] == "event"}


@cache
def _entry(kind: str, name: str) -> dict[str, Any]:
    for each in artifact()["abi"]:
        if each["type"] == kind and each["name"] == name:
            return dict(each)
    raise KeyError(f"the contract has no {kind} {name}")


def _type(entry: dict[str, Any]) -> str:
    if not entry["type"].startswith("tuple"):
        return str(entry["type"])
    inner = ",".join(_type(each) for each in entry["components"])
    return f"({inner})" + str(entry["type"]).removeprefix("tuple")


def _named(entry: dict[str, Any], value: Any) -> Any:
    if entry["type"] == "tuple":
        return {
            each["name"]: _named(each, part) for each, part in zip(entry["components"], value, strict=True)
        }
    return checksummed(value) if entry["type"] == "address" else value


def _encode(types: Sequence[str], values: Sequence[object]) -> bytes:
    from eth_abi import encode
    from eth_abi.exceptions import EncodingError

    try:
        return bytes(encode(types, values))
    except EncodingError as error:
        raise ValueError(f"the contract cannot be told such a value: {error}") from None


def _decode(types: Sequence[str], data: bytes) -> tuple[Any, ...]:
    from eth_abi import decode

    return tuple(decode(types, data))
