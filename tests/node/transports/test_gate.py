"""Strangers without a key do not take the room of members, whatever they open: over real sockets."""

from __future__ import annotations

import asyncio
import random
import socket
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from folkmoot.node.transports.gate import Gate, Guest
from folkmoot.node.transports.tls import Limits
from support.node.meshes import SHORT, Meshes, eventually, within


def has_many_loopbacks() -> bool:
    with socket.socket() as tried, suppress(OSError):
        tried.bind(("127.0.0.2", 0))
        return True
    return False


many_loopbacks = pytest.mark.skipif(not has_many_loopbacks(), reason="127.0.0.2 is no address here")


class Strangers:
    """Callers at other addresses of loopback, who open what they can and say junk, or nothing."""

    def __init__(self, port: int, addresses: int, words: bytes) -> None:
        self._port, self._words = port, words
        self._tasks = [
            asyncio.create_task(self._call(f"127.0.0.{2 + number}")) for number in range(addresses)
        ]
        self.open: list[asyncio.StreamWriter] = []

    async def _call(self, host: str) -> None:
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(host, 0))
                self.open.append(writer)
                writer.write(self._words)
                if len(self.open) > 300:
                    self.open.pop(0).close()
            await asyncio.sleep(0)

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self.open:
            writer.close()


@many_loopbacks
@pytest.mark.parametrize("words", [b"", b"\x16\x03\x01\x02\x00" + bytes(300)], ids=["silent", "junk"])
def test_a_member_comes_back_while_strangers_open_what_they_can(tmp_path: Path, words: bytes) -> None:
    """It is behind NAT, so that its only way back is to be let in, again and again."""

    async def play() -> None:
        limits = replace(SHORT, accepts=1.0, accept_burst=30.0, most_pending=8)
        async with Meshes(tmp_path, 2, hidden=[1], limits=limits) as moot:
            await moot.all_connected()
            port = int(moot.meshes[0].address.rpartition(":")[2])
            strangers, counts = Strangers(port, 40, words), moot.meshes[0].counts
            try:
                await eventually(lambda: counts["refused_too_many_connections"] > 300, "all is used up")
                for _ in range(5):
                    before = counts["refused_too_many_connections"]
                    await moot.restart(1)
                    await moot.all_connected()
                    assert not moot.ears[1].unreached, "it is let in the first time that it dials"
                    await moot.tell(0, 1)
                    await eventually(
                        lambda before=before: counts["refused_too_many_connections"] > before,  # type: ignore[misc]
                        "they go on",
                    )
            finally:
                await strangers.leave()

    within(play())


@many_loopbacks
def test_handshakes_of_strangers_that_are_never_done_take_no_place_of_a_member(tmp_path: Path) -> None:
    async def play() -> None:
        limits = replace(SHORT, accepts=1e6, accept_burst=1e6, most_pending=8, handshake_seconds=60.0)
        async with Meshes(tmp_path, 2, hidden=[1], limits=limits) as moot:
            await moot.all_connected()
            port = int(moot.meshes[0].address.rpartition(":")[2])
            strangers, mesh = Strangers(port, 40, b""), moot.meshes[0]
            try:
                await eventually(lambda: mesh.counts["refused_half_open"] > 300, "all places are taken")
                for _ in range(5):
                    await moot.restart(1)
                    await moot.all_connected()
                    assert not moot.ears[1].unreached
                assert len([each for each in mesh._pending.values() if not each.expected]) <= 8 + 2
            finally:
                await strangers.leave()

    within(play())


# The rule by itself


def test_each_address_has_a_budget_and_members_do_not_pay_with_strangers() -> None:
    limits = Limits(accepts=5.0, accept_burst=10.0)
    gate = Gate(limits, members=5)
    own = 10 + 2 * 5
    one = [gate.lets_in("192.0.2.1", 0.0, expected=False) for _ in range(100)]
    assert sum(one) == own
    others = sum(gate.lets_in(f"198.51.100.{each % 250}", 0.0, expected=False) for each in range(1000))
    assert others == 3 * own - own, "strangers together have three times as many"
    assert sum(gate.lets_in("203.0.113.9", 0.0, expected=True) for _ in range(100)) == own
    assert sum(gate.lets_in("203.0.113.9", 1.0, expected=True) for _ in range(100)) == 5
    block = [gate.lets_in(f"2001:db8::{each:x}", 100.0, expected=False) for each in range(1, 100)]
    assert sum(block) == own, "a caller has all addresses of a /64"
    for each in range(3000):  # as many addresses as one likes do not make it forget those of members
        gate.lets_in(f"10.0.{each // 250}.{each % 250}", 1.0, expected=False)
    assert not gate.lets_in("203.0.113.9", 1.0, expected=True)


@pytest.mark.parametrize("seed", range(20))
def test_who_has_most_places_loses_one(seed: int) -> None:
    """Against a table of all who wait: members and strangers apart, and alike among themselves."""
    rng = random.Random(seed)
    most, members = rng.randrange(1, 6), rng.randrange(1, 4)
    gate = Gate(Limits(most_pending=most), members)
    pending: dict[Any, Guest] = {}
    for number in range(200):
        expected = rng.random() < 0.3
        host = f"10.{int(expected)}.0.{min(rng.randrange(1, 8), rng.randrange(1, 8))}"
        pending[number] = newest = Guest(host, expected)
        alike = {each: guest for each, guest in pending.items() if guest.expected == expected}
        out: Any = gate.crowded_out(pending)
        assert (out is not None) == (len(alike) > most + members)
        if out is not None:
            places = Counter(guest.host for guest in alike.values())
            guest = pending.pop(out)
            assert guest.expected == newest.expected
            assert places[guest.host] == max(places.values())
            assert out == min(each for each, other in alike.items() if other.host == guest.host)
        if rng.random() < 0.2:
            pending.pop(rng.choice([*pending]))
