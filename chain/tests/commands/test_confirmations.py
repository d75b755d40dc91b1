"""When a block counts: windows too short for that are refused, and a call waits until its block is safe."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chain_support.command import run, run_json
from chain_support.server import serving
from chain_support.town import Town
from folkmoot_chain.anvil import AnvilRpc, find_anvil, running_anvil
from folkmoot_chain.http_rpc import HttpRpc
from folkmoot_chain.in_process import InProcess
from folkmoot_chain.rpc import Block, BlockTag

LAG = 32  # blocks from the newest back to the safe one, as anvil has it


class Lagging(InProcess):
    """A chain whose safe block is some blocks behind; or which knows no such thing."""

    lag: int | None = LAG

    def block(self, tag: BlockTag) -> Block:
        if tag in ("safe", "finalized"):
            if self.lag is None:
                raise LookupError(f"no block {tag}")
            times = 1 if tag == "safe" else 2
            tag = max(0, super().block("latest").number - times * self.lag)
        return super().block(tag)


@pytest.fixture(scope="module", params=["in-process", "anvil"])
def town(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    if request.param == "in-process":
        rpc = Lagging(1)
        with serving(rpc) as url:
            yield Town.made(rpc, url, folder)
        return
    program = find_anvil()
    if program is None:
        pytest.skip("anvil is not installed: npm install @foundry-rs/anvil, or name it by FOLKMOOT_ANVIL")
    with running_anvil(program, 1) as started:
        yield Town.made(started, started.url, folder)


def spread(town: Town, seconds: int) -> int:
    """Make the safe block old: a gap of so many seconds before the newest block; how old it is."""
    clock = AnvilRpc(town.url, 0)
    clock.mine(LAG)
    clock.travel(clock.block("latest").timestamp + seconds)
    clock.mine(1)
    return int(town.rpc.block("latest").timestamp - town.rpc.block("safe").timestamp)


def test_windows_below_twice_the_time_to_be_safe_are_refused(town: Town) -> None:
    age = spread(town, 700)
    assert age >= 700
    for windows in ("10m,10m,10m,10m", f"1h,1h,1h,{2 * age - 1}s"):
        short = 600 if windows.startswith("10m") else 2 * age - 1
        said = (
            f"--windows must be at least twice the {age} s that a block takes here until it counts as safe: "
        )
        town.refused(said + f"got {short} s", "sam", "put", *town.terms([0, 1], windows=windows))
    enough = ",".join([f"{2 * age}s"] * 4)
    dry = run_json(*town.by("sam", "put", *town.terms([0, 1], windows=enough), "--dry-run"))
    assert dry["gas"] > 0
    # The number of blocks decides as well: the newest one alone has no age.
    put = town.did("sam", "put", *town.terms([0, 1]))
    assert put["motion"] == 0


def later(call: Callable[[], Any], when: Callable[[], bool]) -> threading.Thread:
    """Call it in a thread, once something has happened; a test fails by its own assertions."""

    def wait() -> None:
        end = time.monotonic() + 60
        while not when() and time.monotonic() < end:
            time.sleep(0.05)
        call()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.mark.parametrize(("confirmations", "blocks"), [("safe", LAG), ("finalized", 2 * LAG), ("3", 3)])
def test_a_call_waits_until_its_block_counts(town: Town, confirmations: str, blocks: int) -> None:
    town.did("sam", "put", *town.terms([0, 1], windows="10h,10h,10h,10h"))
    chain = AnvilRpc(town.url, 0)
    before = chain.block("latest").number
    seen: list[int] = []

    def mine() -> None:
        time.sleep(0.3)  # the command looks at least once, and its block does not count yet
        seen.append(chain.block("latest").number)
        chain.mine(blocks - 1)
        time.sleep(1.2)  # one block short, it still waits
        seen.append(chain.block("latest").number)
        chain.mine(1)

    thread = later(mine, lambda: chain.block("latest").number > before)
    number = len_motions(town) - 1
    said = run_json(*town.by("sam", "fund", number, "5wei", "--confirmations", confirmations))
    ended = chain.block("latest").number
    thread.join()
    (block,) = said["blocks"]
    assert seen == [block, block + blocks - 1]
    assert ended == block + blocks


def len_motions(town: Town) -> int:
    from folkmoot_chain import Contract

    return int(Contract(HttpRpc(town.url), town.contract).view("motion_count"))


def test_a_chain_without_a_safe_block_asks_for_a_number(tmp_path: Path) -> None:
    rpc = Lagging(1)
    rpc.lag = None
    with serving(rpc) as url:
        town = Town.made(rpc, url, tmp_path)
        for tag in ("safe", "finalized"):
            town.refused(
                f"this chain names no {tag} block: give a number of blocks, --confirmations 12",
                "sam",
                "put",
                *(*town.terms([0, 1]), "--confirmations", tag),
            )
        assert run(*town.by("sam", "put", *town.terms([0, 1]), "--confirmations", 0)).returncode == 0
