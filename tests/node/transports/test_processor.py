"""A peer pays for the processor time that its frames take; others neither pay nor wait for it."""

from __future__ import annotations

import asyncio
import random
from fractions import Fraction
from pathlib import Path

import pytest

from folkmoot.node.transports.budget import Budget
from folkmoot.node.transports.tls import TURN, Limits
from support.node.meshes import Meshes, eventually, framed, within

DEAR, CHEAP = b"dear", b"cheap"


def test_the_frames_of_a_peer_above_its_share_wait_and_those_of_others_do_not(tmp_path: Path) -> None:
    """Each frame of the one costs 0.3 s on the clock of the processor, which is not that of the wall."""
    cost, rate, burst = 0.3, 0.5, 2.0

    async def play() -> None:
        limits = Limits(processor=rate, processor_burst=burst)
        price = {DEAR: cost, CHEAP: 0.001}
        async with Meshes(tmp_path, 4, limits=limits, cost=lambda frame: price[frame]) as moot:
            await moot.all_connected()
            began = asyncio.get_running_loop().time()
            ear, victim = moot.ears[0], moot.prints[0]
            for _ in range(300):
                moot.meshes[1].send(victim, DEAR)
            for _ in range(20):
                for honest in (2, 3):
                    moot.meshes[honest].send(victim, CHEAP)
                    count = len([0 for _, frame in ear.frames if frame == CHEAP])
                    await eventually(
                        lambda count=count: len([0 for _, each in ear.frames if each == CHEAP]) > count,  # type: ignore[misc]
                        "an honest frame arrives",
                    )
            passed = asyncio.get_running_loop().time() - began
            dear = [frame for _, frame in ear.frames].count(DEAR)
            assert 1 + burst / cost - 1 <= dear <= 1 + (burst + rate * passed) / cost
            assert dear < 300, "the rest waits"
            assert moot.connected(0, 1), "it is delayed, and not hung up on"

    within(play())


@pytest.mark.parametrize("length", [1, 2000], ids=["small", "large"])
def test_the_loop_turns_between_the_frames_of_one_peer(tmp_path: Path, length: int) -> None:
    """Whatever the rate of frames and bytes lets come at once: nobody waits for more than a turn each."""
    cost, hostile = 0.004, 3

    async def play() -> None:
        limits = Limits(processor=1e9, processor_burst=1e9)
        async with Meshes(tmp_path, 1 + hostile, limits=limits, cost=lambda _: cost) as moot:
            await moot.all_connected()
            ear, waits, last = moot.ears[0], [0.0], 0.0
            loop, over = asyncio.get_running_loop(), False

            def look() -> None:
                nonlocal last
                waits.append(ear.cpu - last)
                last = ear.cpu
                if not over:
                    loop.call_soon(look)

            peers = [await moot.by_hand(number, 0) for number in range(1, 1 + hostile)]
            look()
            for _, writer in peers:
                writer.write(framed(*[bytes(length)] * 400))
            await eventually(lambda: len(ear.frames) >= 400 * hostile, "all are handled")
            over = True
            for _, writer in peers:
                writer.close()
            assert max(waits) <= (hostile + 1) * (TURN + 2 * cost)
            assert sum(waits) <= ear.cpu

    within(play())


@pytest.mark.parametrize("seed", range(10))
def test_a_debt_is_paid_before_anything_else(seed: int) -> None:
    """Against an account in whole fractions."""
    rng = random.Random(seed)
    budget, now, tokens = Budget(2.0, 4.0), Fraction(0), Fraction(4)
    for _ in range(200):
        step, cost = Fraction(rng.choice([0, 1, 5]), 8), Fraction(rng.choice([0, 1, 3, 40]), 16)
        now, tokens = now + step, min(Fraction(4), tokens + 2 * step)
        tokens -= cost
        assert budget.owe(float(now), float(cost)) == max(0.0, float(-tokens / 2))
