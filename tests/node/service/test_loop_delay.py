"""How long a node keeps others waiting, and what it does elsewhere so that it does not."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import pytest

from folkmoot.node.service.loop_delay import KEPT, TICK, LoopDelay
from folkmoot.protocols import machine
from folkmoot.protocols.machine import tabulate
from support.network.one_session import Table, colours


def test_who_comes_at_any_time_waits_as_long_as_the_quantiles_say() -> None:
    """Against visitors that come every tick to a loop that is busy now and then."""
    rng = random.Random(5)
    busy = [(rng.randrange(0, 40) * TICK) for _ in range(30)]
    delay, waits = LoopDelay(), []
    for length in busy:
        delay.late(length)
        visits = max(1, round(length / TICK))
        waits += [length - TICK * number for number in range(visits)]
    assert len(waits) < KEPT
    waits.sort()
    for share in (0.5, 0.9, 0.99, 1.0):
        assert delay.quantile(share) == pytest.approx(
            waits[max(0, -(-int(share * 1e6) * len(waits) // 10**6) - 1)]
        )


def test_one_long_wait_among_many_short_ones_is_seen() -> None:
    delay = LoopDelay()
    assert delay.quantile(0.99) == 0.0
    for _ in range(KEPT):
        delay.late(0.001)
    delay.late(6.0)  # as many as came in six seconds of sixty have waited: a tenth
    assert delay.quantile(0.5) == 0.001
    assert delay.quantile(0.99) == pytest.approx(6.0 - 0.01 * 60.0, abs=2 * TICK)
    for _ in range(KEPT):
        delay.late(0.0)
    assert delay.quantile(1.0) == 0.0  # a minute later it is forgotten


def test_a_loop_that_is_held_up_says_so() -> None:
    async def held_up() -> LoopDelay:
        delay = LoopDelay()
        watching = asyncio.create_task(delay.watch())
        await asyncio.sleep(2 * TICK)
        time.sleep(0.5)
        await asyncio.sleep(2 * TICK)
        watching.cancel()
        return delay

    assert asyncio.run(held_up()).quantile(1.0) > 0.4


def test_what_a_talk_needs_is_tabulated_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's thread prepares the session, and then nothing is left to be tabulated in the loop."""
    made: list[Any] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(arguments)
        return tabulate(*arguments, **options)

    monkeypatch.setattr(machine, "tabulate", counted)
    machine._tabulated.cache_clear()
    table = Table(protocol="snowball", beta=7)
    assert made == []
    table.session.prepare()
    assert len(made) == 1
    table.vote(colours(0, 1, 0, 1))
    assert len(made) == 1
