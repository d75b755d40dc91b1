"""One chain a process; each test finds it as it was deployed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.chain import World


@pytest.fixture(scope="session")
def deployed() -> World:
    return World.made(accounts=12)


@pytest.fixture
def world(deployed: World) -> Iterator[World]:
    before = deployed.rpc.tester.take_snapshot()
    yield deployed
    deployed.rpc.tester.revert_to_snapshot(before)
