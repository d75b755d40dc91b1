"""One moot for all tests of the page: real processes; the first node has a page, the last one lies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from folkmoot.runs.processes import Nodes
from support.browser import browser
from support.network.paged import Paged
from support.ports import held_port
from support.network.real_moot import real_moot

__all__ = ["browser"]


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    folder: Path = tmp_path_factory.mktemp("paged")
    with (
        pytest.MonkeyPatch.context() as patch,
        held_port() as port,
        real_moot(folder, 6, patch, pages={0: f"127.0.0.1:{port}"}, attacks={5: "equivocating"}) as nodes,
    ):
        yield nodes


@pytest.fixture
def paged(nodes: Nodes) -> Paged:
    return Paged(nodes.settings[0].folder)


@pytest.fixture
def address(paged: Paged) -> str:
    """Where its page is, as it is printed on a terminal."""
    return f"{paged.url}/#token={paged.token}"
