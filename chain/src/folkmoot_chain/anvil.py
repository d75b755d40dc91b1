"""A chain on this machine: anvil as a process, whose clock can be moved."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from folkmoot_chain.http_rpc import HttpRpc
from folkmoot_chain.keys import address_of
from folkmoot_chain.rpc import RpcError
from folkmoot_chain.wallets import keccak


def find_anvil() -> Path | None:
    """The path of anvil: $FOLKMOOT_ANVIL, or on the path; None if it is not installed."""
    named = os.environ.get("FOLKMOOT_ANVIL") or shutil.which("anvil")
    return Path(named) if named and Path(named).is_file() else None


class AnvilRpc(HttpRpc):
    """A node over JSON-RPC that takes anvil's own commands as well."""

    def __init__(self, url: str, accounts: int) -> None:
        super().__init__(url)
        self._accounts = accounts

    def travel(self, timestamp: int) -> None:
        """Make the next block at this time, or later if it has passed."""
        if timestamp > self.block("latest").timestamp:
            self.request("evm_setNextBlockTimestamp", timestamp)

    def mine(self, blocks: int = 1) -> None:
        """Make empty blocks."""
        self.request("anvil_mine", hex(blocks))

    def rich(self) -> Sequence[bytes]:
        """Private keys of accounts that have coins here; everybody knows them."""
        keys = [keccak(f"folkmoot anvil {place}".encode()) for place in range(self._accounts)]
        for key in keys:
            self.request("anvil_setBalance", address_of(key), hex(10**24))
        return keys


@contextmanager
def running_anvil(program: Path, accounts: int = 10, seconds: float = 20.0) -> Iterator[AnvilRpc]:
    """An empty chain on loopback, at a port that the system picks, as long as the block lasts."""
    process = subprocess.Popen(  # noqa: S603 (the program that was found)
        [
            program,
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--accounts",
            "0",
            "--hardfork",
            "prague",
            "--no-cors",
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        rpc = AnvilRpc(_address(process), accounts)
        # It writes a line for each request: somebody must read them, or it stops when the pipe is full.
        Thread(target=_drain, args=(process,), daemon=True).start()
        end = time.monotonic() + seconds
        while True:
            try:
                rpc.chain_id()
                break
            except RpcError:
                if time.monotonic() > end or process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield rpc
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[str]) -> str:
    """Where it listens, by its own word."""
    said = []
    for line in process.stdout or ():
        said.append(line.strip())
        if line.startswith("Listening on "):
            return "http://" + line.removeprefix("Listening on ").strip()
    raise RuntimeError(f"anvil did not start: {' '.join(said)[-300:]}")


def _drain(process: subprocess.Popen[str]) -> None:
    with suppress(ValueError, OSError):
        for _ in process.stdout or ():
            pass
    if process.stdout is not None:
        process.stdout.close()
