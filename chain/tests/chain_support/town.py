"""A chain over HTTP with the contract on it, keystores of some people, and commands as they type them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chain_support.command import assert_refused, run_json
from chain_support.world import Account
from folkmoot_chain.contract import Contract
from folkmoot_chain.keys import address_of
from folkmoot_chain.rpc import LocalRpc
from folkmoot_chain.sending import Sender
from folkmoot_chain.wallets import keccak


@dataclass
class Town:
    """Sam, Ann and Bob have coins; the contract takes windows of a minute."""

    rpc: Any  # the chain itself, whose clock the test moves
    url: str
    contract: str
    folder: Path
    addresses: dict[str, str]

    @classmethod
    def made(cls, rpc: LocalRpc, url: str, folder: Path) -> Town:
        rich = Sender(rpc, rpc.rich()[0])
        (folder / "passphrase").write_text("correct horse\n")
        addresses = {}
        for name in ("sam", "ann", "bob"):
            key = keccak(name.encode())
            addresses[name] = address_of(key)
            weak = Account.encrypt(key, "correct horse", kdf="pbkdf2", iterations=2)  # tests open it often
            (folder / f"{name}.json").write_text(json.dumps(weak))
            rich.send(addresses[name], b"", 10**19)
        return cls(rpc, url, Contract.deploy(rich, 60)[0].address, folder, addresses)

    def by(self, name: str, command: str, *arguments: object) -> list[object]:
        return [
            *(command, "--rpc", self.url, "--contract", self.contract),
            *("--keystore", self.folder / f"{name}.json", "--passphrase-file", self.folder / "passphrase"),
            *arguments,
        ]

    def did(self, name: str, command: str, *arguments: object) -> Any:
        return run_json(
            *self.by(name, command, *arguments), *(() if command == "watch" else ("--confirmations", 0))
        )

    def refused(self, message: str, name: str, command: str, *arguments: object) -> None:
        assert_refused(message, *self.by(name, command, *arguments))

    def file(self, name: str, lines: Sequence[object]) -> Path:
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def terms(self, truth: Sequence[object], labels: int = 2, **changed: object) -> list[object]:
        """What ``put`` is told, with options changed by name."""
        options: dict[str, object] = {
            "truth": self.file(f"truth-{len(truth)}-{labels}.txt", truth),
            "labels": labels,
            "subject": "x",
            "seats": 2,
            "stake": "1gwei",
            "deposit": "0",
            "windows": "10m,10m,10m,10m",
        } | changed
        return [each for name, value in options.items() for each in (f"--{name}", value)]
