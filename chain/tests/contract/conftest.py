"""One chain a process; each test finds it as it was deployed. Properties are drawn from fixed seeds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from chain_support.world import World

# No time limits: the machine may be busy.
settings.register_profile(
    "folkmoot", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("folkmoot")


@pytest.fixture(scope="session")
def deployed() -> World:
    return World.made(accounts=12)


@pytest.fixture
def world(deployed: World) -> Iterator[World]:
    before = deployed.rpc.tester.take_snapshot()
    yield deployed
    deployed.rpc.tester.revert_to_snapshot(before)
