"""One moot for all tests of the page: real processes; the first node has a page, the last one lies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from folkmoot.runs.processes import Nodes
from support.network.paged import Paged
from support.network.real_moot import real_moot


@pytest.fixture(scope="session")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    folder: Path = tmp_path_factory.mktemp("paged")
    with (
        pytest.MonkeyPatch.context() as patch,
        real_moot(folder, 6, patch, pages={0: "127.0.0.1:0"}, attacks={5: "equivocating"}) as nodes,
    ):
        yield nodes


@pytest.fixture
def paged(nodes: Nodes) -> Paged:
    return Paged(nodes.settings[0].folder)
