"""Contracts of attackers, written in opcodes: the tests need no compiler for them."""

from __future__ import annotations

from folkmoot_chain.wallets import keccak

_WITHDRAW = keccak(b"withdraw(address)")[:4].hex()
# Paid without a call, it calls withdraw(itself) on who pays, and does not mind a refusal. Called, it forwards
# the data behind the first 20 bytes, with the value, to the address that these are.
_RECEIVE = f"63{_WITHDRAW}60e01b5f5230600452" + "5f5f60245f5f335af100"
_FORWARD = "5b60143603" + "80" + "60145f37" + "5f5f825f345f3560601c5af1"
_AFTER = "{:02x}575f5ffd5b00"


def _runtime() -> bytes:
    head = "36" + "60{:02x}57"
    forward_at = 4 + len(_RECEIVE) // 2
    body = head.format(forward_at) + _RECEIVE + _FORWARD
    done_at = len(body) // 2 + 2 + 1 + 3
    return bytes.fromhex(body + "60" + _AFTER.format(done_at))


def creation(runtime: bytes) -> bytes:
    """Data of a transaction that makes a contract of this code."""
    return bytes.fromhex(f"60{len(runtime):02x}80600a5f395ff3".ljust(20, "0")) + runtime


REENTRANT = creation(_runtime())


def forwarded(contract: str, data: bytes) -> bytes:
    """What the thief is sent to make a call of its own."""
    return bytes.fromhex(contract[2:]) + data
